// Addresses and networks apps connect from: arithmetic for the allow-list and the connection rate.

import Glibc
package import NIOCore

/// An IP address as a number of 128 bits; IPv4 as it is mapped into IPv6 (RFC 4291, 2.5.5.2), so
/// that an app is the same whether it comes through an IPv4 or an IPv6 socket.
package struct PeerAddress: Hashable, Sendable {
    package var bits: UInt128

    /// - Returns: nil for what is no IP address, such as a Unix socket's.
    package init?(_ address: SocketAddress) {
        guard let text = address.ipAddress, let parsed = PeerAddress(parsing: text) else {
            return nil
        }
        self = parsed
    }

    /// Reads `192.168.1.20` or `fd00::1`, without zone and port.
    package init?(parsing text: String) {
        var bytes: UInt128 = 0
        let (family, width) = text.utf8.contains(0x3A) ? (AF_INET6, 128) : (AF_INET, 32)
        let isRead = text.withCString { inet_pton(family, $0, &bytes) == 1 }
        guard isRead, !text.utf8.contains(0) else { return nil }
        // What was read stands first in memory, in network byte order.
        let number = UInt128(bigEndian: bytes) >> UInt128(128 - width)
        bits = width == 32 ? Self.mapped | number : number
    }

    init(bits: UInt128) {
        self.bits = bits
    }

    /// `::ffff:0:0`, where IPv4 begins.
    private static let mapped: UInt128 = 0xFFFF << 32

    package var isIPv4: Bool { bits >> 32 == Self.mapped >> 32 }

    /// The address without the part that one machine may choose by itself: in IPv6 the lower 64 bits.
    var host: PeerAddress { isIPv4 ? self : PeerAddress(bits: (bits >> 64) << 64) }
}

/// A range of addresses, written as CIDR: `192.168.0.0/16`, `fd00::/8`, `10.1.2.3`.
package struct Network: Hashable, Sendable, CustomStringConvertible {
    private let address: PeerAddress
    /// Leading bits that have to match, of 128.
    private let length: Int
    /// As it was written.
    package let description: String

    /// What is wrong with a text that is no network.
    package struct Malformed: Error, Equatable {
        package var expected: String
        package var hint: String?
    }

    package static let expected = "a network such as 192.168.0.0/16, fd00::/8 or 192.168.1.20"

    package init(parsing text: String) throws(Malformed) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = PeerAddress(parsing: String(parts[0])) else {
            throw Malformed(expected: Self.expected, hint: Self.hint(for: String(parts[0])))
        }
        // An IPv4 address written in IPv6 has IPv6's 128 bits.
        let isWrittenAsIPv4 = address.isIPv4 && !parts[0].contains(":")
        let bits = isWrittenAsIPv4 ? 32 : 128
        var length = bits
        if parts.count == 2 {
            let digits = parts[1].utf8
            guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(parts[1]), number <= bits
            else {
                throw Malformed(
                    expected: "a prefix length from 0 to \(bits) after the /", hint: nil)
            }
            length = number
        }
        self.length = 128 - bits + length
        let mask = Self.mask(self.length)
        guard address.bits & ~mask == 0 else {
            let start = Self.text(address.bits & mask, asIPv4: isWrittenAsIPv4)
            throw Malformed(
                expected: Self.expected,
                hint: "\(parts[0]) is an address inside the network; write \(start)/\(length), "
                    + "or \(parts[0]) for that address alone")
        }
        self.address = address
        description = text
    }

    private static func hint(for text: String) -> String? {
        if text.contains("%") { return "leave out the zone" }
        if text == "localhost" { return "write 127.0.0.0/8" }
        if text.hasPrefix("[") { return "leave out the brackets" }
        if text.contains(":"), text.contains(".") { return "leave out the port" }
        return nil
    }

    package func contains(_ other: PeerAddress) -> Bool {
        (other.bits ^ address.bits) & Self.mask(length) == 0
    }

    private static func mask(_ length: Int) -> UInt128 {
        length == 0 ? 0 : ~UInt128(0) << UInt128(128 - length)
    }

    private static func text(_ bits: UInt128, asIPv4: Bool) -> String {
        if asIPv4 {
            return (0..<4).map { "\(UInt8(truncatingIfNeeded: bits >> (24 - 8 * $0)))" }
                .joined(separator: ".")
        }
        let bytes = (0..<16).map { UInt8(truncatingIfNeeded: bits >> (120 - 8 * $0)) }
        let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0)
        return address?.ipAddress ?? "::"
    }
}
