import MessageFilters
import OpenXCRelay
import RelayCore
import SDLTraffic

// Readers of special values: addresses, paths, modes. Used by `ConfigSchema`.

extension ConfigReader where Value == ListenAddress {
    /// - Parameter port: the usual one, for the hint when the text has none.
    static func listenAddress(port: Int) -> ConfigReader {
        text(.listenAddress, "HOST:PORT or [IPv6]:PORT") { text throws(Refusal) in
            do throws(ListenAddress.Malformed) {
                return try ListenAddress(parsing: text, usualPort: port)
            } catch {
                throw Refusal(expected: error.expected, hint: error.hint)
            }
        }
    }
}

extension ConfigReader where Value == Network {
    /// A range of addresses in CIDR notation.
    static var network: ConfigReader {
        text(.network, Network.expected) { text throws(Refusal) in
            do throws(Network.Malformed) {
                return try Network(parsing: text)
            } catch {
                throw Refusal(expected: error.expected, hint: error.hint)
            }
        }
    }
}

extension ConfigReader where Value == SaveTrigger {
    static var saveTrigger: ConfigReader {
        text(.saveTrigger, SaveTrigger.expected) { text throws(Refusal) in
            guard let trigger = SaveTrigger(rawValue: text) else {
                throw Refusal(hint: SaveTrigger.nearest(text).map { "did you mean '\($0)'?" })
            }
            return trigger
        }
    }
}

extension ConfigReader where Value == IdentifierRange {
    /// Identifiers of CAN messages.
    static var identifiers: ConfigReader {
        text(.identifiers, IdentifierRange.expected) { text throws(Refusal) in
            guard let range = IdentifierRange(text) else { throw Refusal() }
            return range
        }
    }
}

extension ConfigReader where Value == ClientWrites {
    /// Which clients may write what to the vehicle.
    static var writes: ConfigReader {
        text(.vehicleWrites, ClientWrites.expected) { text throws(Refusal) in
            guard let writes = ClientWrites(text) else { throw Refusal() }
            return writes
        }
    }
}

extension ConfigReader where Value == String {
    /// The head unit's address; only the transports know which ones are valid.
    package static func accessory(_ complaint: @escaping (String) -> String?) -> ConfigReader {
        text(
            .accessory, "an address such as sim:, tcp:HOST:PORT or serial:/dev/ttyUSB0?baud=115200"
        ) {
            text throws(Refusal) in
            guard !text.isEmpty else { throw Refusal() }
            if let complaint = complaint(text) { throw Refusal(complaint: complaint) }
            return text
        }
    }

    /// An absolute path, or empty; the file's contents are checked at start.
    package static func file(_ expected: String) -> ConfigReader {
        text(.file, expected) { text throws(Refusal) in
            guard text.isEmpty || text.hasPrefix("/") && !text.hasSuffix("/") else {
                throw Refusal()
            }
            return text
        }
    }

    /// The same, or `auto` for relayd's own file.
    package static func fileOrAuto(_ expected: String) -> ConfigReader {
        text(.fileOrAuto, expected) { text throws(Refusal) in
            guard text.isEmpty || text == "auto" || text.hasPrefix("/") && !text.hasSuffix("/")
            else { throw Refusal() }
            return text
        }
    }

    /// Any text but the empty one.
    package static func name(_ expected: String) -> ConfigReader {
        text(.name, expected) { text throws(Refusal) in
            guard !text.isEmpty else { throw Refusal() }
            return text
        }
    }

    /// A filter for messages, or empty.
    package static var filter: ConfigReader {
        text(.filter, "a filter such as 'app:radio !ok', or \"\" for all traffic") {
            text throws(Refusal) in
            do throws(FilterError) {
                _ = try FilterExpression(text, names: TrafficFilter.names)
                return text
            } catch {
                throw Refusal(
                    complaint: "character \(error.range.lowerBound + 1): \(error.message)")
            }
        }
    }

    /// `Show`, or `!Show` to leave it out.
    package static var functionName: ConfigReader {
        text(.functionName, "a function's name such as Show, or !Show to leave it out") {
            text throws(Refusal) in
            do throws(TrafficFilterError) {
                _ = try TrafficFilter(functions: [text])
                return text
            } catch {
                throw Refusal(hint: error.didYouMean.map { "did you mean '\($0)'?" })
            }
        }
    }

    /// A group by name or number; whether it exists is checked when the socket is created.
    package static var group: ConfigReader {
        text(.group, "the name or number of a group, or \"\" for the daemon's own") {
            text throws(Refusal) in
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D, 0x2E: true
                default: false
                }
            }
            // 32 is the longest name Linux tools create (useradd(8)).
            guard isName, text.utf8.count <= 32, !text.hasPrefix("-") else { throw Refusal() }
            return text
        }
    }
}

extension ConfigReader where Value == Config.Control.SocketPath {
    /// `auto` or an absolute path that fits a socket address.
    package static var socketPath: ConfigReader {
        // sockaddr_un has 108 bytes for the path, one of them for the terminating zero.
        let longest = 107
        return text(.socketPath, "auto or an absolute path of at most \(longest) bytes") {
            text throws(Refusal) in
            if text == "auto" { return .auto }
            guard text.hasPrefix("/"), !text.hasSuffix("/"), text.utf8.count <= longest else {
                throw Refusal()
            }
            return .path(text)
        }
    }
}

extension ConfigReader where Value == UInt32 {
    /// Permission bits in octal, as chmod takes them.
    package static var fileMode: ConfigReader {
        text(.fileMode, "permission bits in octal such as \"0660\"") { text throws(Refusal) in
            guard (3...4).contains(text.utf8.count), text.utf8.count == 3 || text.hasPrefix("0"),
                let mode = UInt32(text, radix: 8), !text.hasPrefix("+")
            else { throw Refusal() }
            return mode
        }
    }
}
