import DidYouMean
import OpenXCProtocol
import OpenXCRelay
import RelayCore

// Reads an entry of openxc.endpoints: a place, then what clients receive there, as KEY=VALUE words.

extension ConfigReader where Value == OpenXCEndpoint {
    private static var expected: String {
        "HOST:PORT or the absolute path of a pty, then any of \(keys.joined(separator: ", ")) "
            + "as KEY=VALUE, such as 127.0.0.1:50002 format=lines names=vehicle_speed,engine_speed"
    }

    private static var keys: [String] { ["format", "names", "buses", "ids", "on_change", "rate"] }

    static var endpoint: ConfigReader {
        text(.endpoint, expected) { text throws(Refusal) in
            let words = text.split(separator: " ").map(String.init)
            guard let first = words.first else { throw Refusal() }
            var endpoint = OpenXCEndpoint(try place(first), description: text)
            var seen: Set<String> = []
            for word in words.dropFirst() {
                guard let sign = word.firstIndex(of: "=") else {
                    throw Refusal(hint: "\"\(word)\" is no KEY=VALUE; write lists with commas only")
                }
                let key = String(word[..<sign])
                guard seen.insert(key).inserted else {
                    throw Refusal(hint: "\(key) is there twice")
                }
                try set(key, to: String(word[word.index(after: sign)...]), in: &endpoint)
            }
            return endpoint
        }
    }

    private static func place(_ text: String) throws(Refusal) -> OpenXCEndpoint.Place {
        if text.hasPrefix("/") {
            guard !text.hasSuffix("/") else {
                throw Refusal(expected: "the path of a link that relayd makes, not of a directory")
            }
            return .terminal(text)
        }
        do throws(ListenAddress.Malformed) {
            return .address(try ListenAddress(parsing: text, usualPort: 50002))
        } catch {
            throw Refusal(
                expected: "\(error.expected), or the absolute path of a pty", hint: error.hint)
        }
    }

    private static func set(
        _ key: String, to text: String, in endpoint: inout OpenXCEndpoint
    ) throws(Refusal) {
        let parts =
            text.isEmpty
            ? []
            : text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        switch key {
        case "format":
            let words = MessageFraming.allCases.map(\.rawValue)
            guard let framing = MessageFraming(rawValue: text) else {
                throw refusal(
                    key, words.joined(separator: ", "),
                    Spelling.nearest(text, in: words).map { "did you mean \"\($0)\"?" })
            }
            endpoint.framing = framing
        case "names":
            guard !parts.contains("") else { throw refusal(key, "signals' names") }
            endpoint.names = parts
        case "buses":
            var buses: [Int] = []
            for part in parts {
                guard let bus = number(part, in: 1...255) else {
                    throw refusal(key, "numbers of CAN buses from 1 to 255")
                }
                buses.append(bus)
            }
            endpoint.buses = buses
        case "ids":
            var ids: [IdentifierRange] = []
            for part in parts {
                guard let range = IdentifierRange(part) else {
                    throw refusal(key, "identifiers such as 0x7e8 or 0x700-0x7ff")
                }
                ids.append(range)
            }
            endpoint.ids = ids
        case "on_change":
            guard let flag = ["true": true, "false": false][text] else {
                throw refusal(key, "true or false")
            }
            endpoint.onChange = flag
        case "rate":
            guard let rate = number(text, in: 0...10_000) else {
                throw refusal(key, "a whole number from 0 to 10000")
            }
            endpoint.maximumRate = rate
        default:
            let near = Spelling.nearest(key, in: keys).map { "did you mean \($0)?" }
            throw Refusal(hint: "there is no \"\(key)\"" + (near.map { "; \($0)" } ?? ""))
        }
    }

    private static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else {
            return nil
        }
        return range.contains(number) ? number : nil
    }

    private static func refusal(
        _ key: String, _ expected: String, _ hint: String? = nil
    ) -> Refusal {
        Refusal(expected: "\(key)= \(expected)", hint: hint)
    }
}
