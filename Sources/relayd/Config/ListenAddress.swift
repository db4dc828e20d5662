import NIOCore
package import RelayCore

// How users write the addresses of `listen`, in file, environment and flags alike.

extension ListenAddress {
    /// Whether two sockets cannot have these addresses at once, as far as that can be told without
    /// resolving hosts.
    package func overlaps(_ other: ListenAddress) -> Bool {
        guard port == other.port, port != 0 else { return false }
        let (one, two) = (Self.number(of: host), Self.number(of: other.host))
        return one == two || one == "0.0.0.0" && !two.contains(":")
            || two == "0.0.0.0" && !one.contains(":") || one == "::" || two == "::"
    }

    /// Whether only users of this machine can reach the host.
    package static func isLoopback(_ host: String) -> Bool {
        // The name may have another address in /etc/hosts; then somebody wanted that.
        host == "localhost" || host == "::1" || host.hasPrefix("127.") && isAddress(host)
    }

    private static func isAddress(_ host: String) -> Bool {
        (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    private static func number(of host: String) -> String {
        host == "localhost" ? "127.0.0.1" : host
    }

    /// What is wrong with a text that is not an address, and what to write instead.
    package struct Malformed: Error, Equatable {
        package var expected: String
        package var hint: String?
    }

    /// Reads `HOST:PORT` or `[IPv6]:PORT`.
    ///
    /// - Parameter usualPort: the port to suggest when the text has none.
    package init(parsing text: String, usualPort: Int = 2776) throws(Malformed) {
        let (host, portText) = try Self.split(text, usualPort)
        guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(portText),
            (0...65535).contains(port)
        else {
            throw Malformed(expected: "a port from 0 to 65535 (0 = any free one)", hint: nil)
        }
        self.init(host: host, port: port)
    }

    private static func split(
        _ text: String, _ usualPort: Int
    ) throws(Malformed) -> (String, Substring) {
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else {
                throw Malformed(expected: "[IPv6]:PORT", hint: "the closing ] is missing")
            }
            let host = String(text[text.index(after: text.startIndex)..<close])
            let rest = text[text.index(after: close)...]
            guard rest.hasPrefix(":") else {
                throw Malformed(expected: "[IPv6]:PORT", hint: "write [\(host)]:\(usualPort)")
            }
            guard host.contains(":"), host.unicodeScalars.allSatisfy(isIPv6Scalar) else {
                throw Malformed(expected: "an IPv6 address between [ and ]", hint: nil)
            }
            return (host, rest.dropFirst())
        }
        let colons = text.count(where: { $0 == ":" })
        if colons > 1 {
            throw Malformed(
                expected: "HOST:PORT or [IPv6]:PORT",
                hint: "an IPv6 address needs brackets, such as [::1]:\(usualPort)")
        }
        guard let colon = text.firstIndex(of: ":") else {
            let isPort = Int(text) != nil
            let couldBeHost = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            throw Malformed(
                expected: "HOST:PORT or [IPv6]:PORT",
                hint: couldBeHost
                    ? "write \(isPort ? "127.0.0.1:\(text)" : "\(text):\(usualPort)")" : nil)
        }
        let host = String(text[..<colon])
        let port = text[text.index(after: colon)...]
        if host.isEmpty || host == "*" {
            throw Malformed(
                expected: "HOST:PORT or [IPv6]:PORT",
                hint: "127.0.0.1:\(port) serves this machine only, 0.0.0.0:\(port) everyone")
        }
        guard host.unicodeScalars.allSatisfy(isNameScalar) else {
            throw Malformed(expected: "a host name or an IPv4 address before the colon", hint: nil)
        }
        return (host, port)
    }

    private static func isNameScalar(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_": true
        default: false
        }
    }

    /// Hexadecimal digits, separators, and a zone such as `%eth0`.
    private static func isIPv6Scalar(_ scalar: Unicode.Scalar) -> Bool {
        scalar == ":" || scalar == "%" || isNameScalar(scalar)
    }
}
