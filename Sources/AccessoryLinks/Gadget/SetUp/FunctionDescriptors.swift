/// What FunctionFS must know before the gadget can go on the bus: the descriptors of its interfaces at every speed,
/// and their names (linux/usb/functionfs.h). Written to endpoint 0 once, in this order.
package struct FunctionDescriptors: Hashable, Sendable {
    /// A second interface, as on a phone with debugging switched on. Nothing answers there.
    package var hasADB = false

    package init(hasADB: Bool = false) { self.hasADB = hasADB }

    /// The interface's name on every Android phone.
    static let interfaceName = "Android Accessory Interface"
    static let adbName = "ADB Interface"

    /// Bytes of a bulk packet, by speed (USB 2.0, 5.8.3; USB 3.2, 8.12.1.2).
    private static let packetBytes: (full: UInt16, high: UInt16, superSpeed: UInt16) = (
        64, 512, 1024
    )

    /// - has descriptors for full (1), high (2) and super speed (4);
    /// - requests to the device, which AOA's are, come to this function (64);
    /// - also before the host has chosen a configuration (128).
    private static let flags: UInt32 = 1 | 2 | 4 | 64 | 128

    /// `FUNCTIONFS_DESCRIPTORS_MAGIC_V2`, length, flags; how many descriptors there are for each speed; the
    /// descriptors.
    package var descriptorBytes: [UInt8] {
        let speeds: [[[UInt8]]] = [
            interfaces(packetBytes: Self.packetBytes.full),
            interfaces(packetBytes: Self.packetBytes.high),
            interfaces(packetBytes: Self.packetBytes.superSpeed, hasCompanions: true),
        ]
        var rest: [UInt8] = Self.little(Self.flags)
        for descriptors in speeds { rest += Self.little(UInt32(descriptors.count)) }
        for descriptors in speeds { for descriptor in descriptors { rest += descriptor } }
        return Self.withLength(magic: 3, rest)
    }

    /// `FUNCTIONFS_STRINGS_MAGIC`, length, how many strings, how many languages; for US English each string,
    /// ended by a zero byte.
    package var stringBytes: [UInt8] {
        let names = hasADB ? [Self.interfaceName, Self.adbName] : [Self.interfaceName]
        var rest: [UInt8] = Self.little(UInt32(names.count)) + Self.little(1)
        rest += [0x09, 0x04]
        for name in names { rest += Array(name.utf8) + [0] }
        return Self.withLength(magic: 2, rest)
    }

    /// The length counts itself and what is in front of it.
    private static func withLength(magic: UInt32, _ rest: [UInt8]) -> [UInt8] {
        little(magic) + little(UInt32(rest.count + 8)) + rest
    }

    private func interfaces(packetBytes: UInt16, hasCompanions: Bool = false) -> [[UInt8]] {
        var descriptors = Self.interface(
            number: 0, subclass: 0xFF, protocolCode: 0, in: 0x81, out: 0x02, packetBytes,
            hasCompanions)
        if hasADB {
            descriptors += Self.interface(
                number: 1, subclass: 0x42, protocolCode: 1, in: 0x83, out: 0x04, packetBytes,
                hasCompanions)
        }
        return descriptors
    }

    /// A vendor-specific interface with a pair of bulk endpoints, the one towards the host first: some head units
    /// take the first that they find.
    private static func interface(
        number: UInt8, subclass: UInt8, protocolCode: UInt8, in endpointIn: UInt8,
        out endpointOut: UInt8, _ packetBytes: UInt16, _ hasCompanions: Bool
    ) -> [[UInt8]] {
        var descriptors: [[UInt8]] = [
            [9, 4, number, 0, 2, 0xFF, subclass, protocolCode, number + 1]
        ]
        for endpoint in [endpointIn, endpointOut] {
            descriptors.append(
                [7, 5, endpoint, 2, UInt8(packetBytes & 0xFF), UInt8(packetBytes >> 8), 0])
            // No bursts, no streams.
            if hasCompanions { descriptors.append([6, 0x30, 0, 0, 0, 0]) }
        }
        return descriptors
    }

    private static func little(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
