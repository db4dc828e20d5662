import AccessoryLinks
import Foundation
import RelayTesting
import Testing

@testable import relayd

// config/relayd.schema.json against the reader of relayd.yaml: the same keys, and the same verdict on many
// values of every option.

@Suite("The JSON Schema of relayd.yaml")
struct ConfigJSONSchemaTests {
    /// A JSON value, which is what an editor makes of the file.
    enum Value: Sendable, Hashable {
        case null
        case flag(Bool)
        case number(Double)
        case text(String)
        case list([Value])
        case object

        var json: Any {
            switch self {
            case .null: NSNull()
            case .flag(let flag): flag
            case .number(let number): number
            case .text(let text): text
            case .list(let values): values.map(\.json)
            case .object: [String: Any]()
            }
        }

        /// The value as relayd's YAML reader sees it.
        var form: ConfigValue.Form {
            switch self {
            case .null: .nothing
            case .flag(let flag): .scalar("\(flag)", quoted: false)
            case .number(let number):
                .scalar(Int(exactly: number).map { "\($0)" } ?? "\(number)", quoted: false)
            case .text(let text): .scalar(text, quoted: true)
            case .list(let values): .list(values.map { ConfigValue($0.form, at: .flag("test")) })
            case .object: .mapping
            }
        }
    }

    private static func committed() throws -> [String: Any] {
        let data = try Data(contentsOf: ConfigJSONSchema.file)
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// relayd's problem with an accessory's address.
    private static func problem(withAccessory text: String) -> String? {
        do throws(AddressError) {
            _ = try TransportCatalog.transport(for: AccessoryAddress(text))
            return nil
        } catch {
            return error.message
        }
    }

    /// The schemas of all options, by path.
    private static func options() throws -> [String: [String: Any]] {
        let properties = try #require(try committed()["properties"] as? [String: [String: Any]])
        var found: [String: [String: Any]] = [:]
        for (name, schema) in properties {
            guard let members = schema["properties"] as? [String: [String: Any]] else {
                found[name] = schema
                continue
            }
            for (key, schema) in members { found["\(name).\(key)"] = schema }
        }
        return found
    }

    @Test("the committed file is what the reader and the shipped file say")
    func isCurrent() throws {
        let text = try ConfigJSONSchema.text()
        if ProcessInfo.processInfo.environment["RELAY_WRITE_CONFIG_SCHEMA"] != nil {
            try text.write(to: ConfigJSONSchema.file, atomically: true, encoding: .utf8)
        }
        let committed = try String(contentsOf: ConfigJSONSchema.file, encoding: .utf8)
        #expect(
            committed == text,
            "to write it: RELAY_WRITE_CONFIG_SCHEMA=1 swift test --filter ConfigJSONSchemaTests/isCurrent"
        )
    }

    @Test("it has every option the reader has, and no other; each is described and has its default")
    func keys() throws {
        let options = try Self.options()
        #expect(Set(options.keys) == Set(ConfigSchema().options.map(\.path)))
        for (path, schema) in options {
            #expect(schema["description"] is String, "\(path)")
            let builtIn = try #require(schema["default"], "\(path)")
            #expect(try JSONSchemaCheck.accepts(builtIn, schema), "\(path): \(builtIn)")
        }
    }

    @Test("unknown keys are refused by both, empty sections and files by none")
    func unknownKeys() throws {
        let schema = try Self.committed()
        func verdict(_ json: String) throws -> (schema: Bool, reader: Bool) {
            let value = try JSONSerialization.jsonObject(
                with: Data(json.utf8), options: .fragmentsAllowed)
            let read = try? Config.decode(json, file: "relayd.yaml")
            return (try JSONSchemaCheck.accepts(value, schema), read != nil)
        }
        for json in ["{}", "null", #"{"apps": null}"#, #"{"apps": {}, "log": {"level": "info"}}"#] {
            #expect(try verdict(json) == (true, true), "\(json)")
        }
        for json in [
            #"{"app": {}}"#, #"{"apps": {"maximun": 5}}"#, #"{"apps": 5}"#, #"{"apps": []}"#,
            #"{"maximum": 5}"#, #"{"accessory": {"address": "sim:"}}"#, "[]", #""sim:""#, "5",
        ] {
            #expect(try verdict(json) == (false, false), "\(json)")
        }
    }

    @Test("what the reader accepts the schema accepts, and the other way round")
    func values() throws {
        let schemas = try Self.options()
        var accepted = 0
        for option in ConfigSchema(validateAccessory: Self.problem(withAccessory:)).options {
            let schema = try #require(schemas[option.path])
            for value in Self.values(option.shape) {
                var config = Config()
                var problems: [ConfigProblem] = []
                option.apply(ConfigValue(value.form, at: .flag("test")), &config, &problems)
                let verdict = try JSONSchemaCheck.accepts(value.json, schema)
                #expect(verdict == problems.isEmpty, "\(option.path): \(value)")
                if verdict { accepted += 1 }
            }
        }
        // Each option accepts at least its default and a bound.
        #expect(accepted > 2 * schemas.count)
    }

    @Test("every number of a range matches its pattern, and no other")
    func numberPatterns() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            let bounds = (0..<2).map { _ in
                Int.random(
                    in: 0...(10 << Int.random(in: 0...30, using: &generator)), using: &generator)
            }.sorted()
            let range = bounds[0]...bounds[1]
            let pattern = try NSRegularExpression(pattern: "^\(NumberPattern.text(range))$")
            var numbers = [
                0, 1, 9, 10, 99, 100, bounds[0], bounds[1], bounds[0] + 1, bounds[1] + 1,
            ]
            numbers += [max(0, bounds[0] - 1), max(0, bounds[1] - 1), bounds[1] * 10]
            numbers += (0..<20).map { _ in Int.random(in: 0...bounds[1] * 2 + 1, using: &generator)
            }
            for number in numbers {
                let text = "\(number)"
                let isMatch =
                    pattern.firstMatch(in: text, range: NSRange(text.startIndex..., in: text))
                    != nil
                #expect(isMatch == range.contains(number), "\(number) in \(range)")
            }
        }
    }

    // MARK: Values to try

    /// Values tried with every option, and edge cases of this option.
    private static func values(_ shape: ConfigShape) -> [Value] {
        let edge = edges(shape)
        let asLists = edge.map { Value.list([$0]) }
        return everywhere + edge + asLists
    }

    private static let everywhere: [Value] = [
        .null, .flag(true), .flag(false), .number(0), .number(-1), .number(1.5), .text(""),
        .text("true"), .text("0"), .text("7s"), .text("5 MiB"), .text("!"), .text("-"),
        .text("Ünicode"), .list([]), .list([.null]), .list([.list([])]), .object,
        .list([.object]), .text("127.0.0.1"), .text("auto"), .text("Info"),
    ]

    private static func edges(_ shape: ConfigShape) -> [Value] {
        switch shape {
        case .flag:
            return ["yes", "no", "on", "off", "True"].map(Value.text)
        case .count(let range):
            let (low, high) = (Double(range.lowerBound), Double(range.upperBound))
            let numbers = [low - 1, low, low + 1, high - 1, high, high + 1, 1e18]
            return numbers.map(Value.number) + numbers.map { .text("\(Int($0))") }
        case .bytes(let range):
            let units = [
                ("", 1), (" ", 1), ("B", 1), ("KiB", 1 << 10), (" MiB", 1 << 20),
                ("  GiB", 1 << 30),
            ]
            let (low, high) = (Double(range.lowerBound), Double(range.upperBound))
            return quantities(range, units)
                + ["KB", "5 KB", "5 mib", "5.5 MiB", "MiB 5"].map(Value.text)
                + [low - 1, low, high, high + 1].map(Value.number)
        case .duration(let range):
            let range =
                Quantity.milliseconds(range.lowerBound)...Quantity.milliseconds(range.upperBound)
            let units = [("ms", 1), ("s", 1000), (" m", 60_000), ("  h", 3_600_000)]
            return quantities(range, units)
                + ["5", "5 sec", "5S", "1.5s", "s", "5s "].map(Value.text)
        case .choice(let words):
            return (words + words.map { $0.uppercased() } + words.map { $0 + " " }).map(Value.text)
        case .text(let form):
            return texts(form).map(Value.text)
        case .list(let element, _, _):
            let edge = edges(element)
            return [.list(edge), .list(Array(repeating: edge[0], count: 1) + [.text("")])]
        }
    }

    /// Quantities around both bounds, in every unit.
    private static func quantities(
        _ range: ClosedRange<Int>, _ units: [(String, Int)]
    ) -> [Value] {
        units.flatMap { unit, factor in
            [range.lowerBound, range.upperBound].flatMap { bound in
                (-2...2).map { bound / factor + $0 }.filter { $0 >= 0 }.flatMap {
                    [Value.text("\($0)\(unit)"), .text("00\($0)\(unit)")]
                }
            }
        } + [.text("9223372036854775808"), .text("99999999999999999999s")]
    }

    /// Omits what a regular expression cannot express: whether an accessory's address is valid after its first
    /// word, all forms of IPv6, host bits of a network, RPCs in other cases, the filter language, and the bytes
    /// of a path where they differ from its characters.
    private static func texts(_ form: ConfigShape.TextForm) -> [String] {
        switch form {
        case .accessory:
            [
                "sim:", "sim", "tcp:127.0.0.1:12345", "openxc+tcp:127.0.0.1:50001",
                "openxc+sim:", "sdl+tcp:127.0.0.1:1", "serial:/dev/ttyUSB0?baud=115200",
                "rfcomm:/dev/rfcomm0", "usb:1bc4:0001", "tpc:127.0.0.1:1", ":", "TCP:127.0.0.1:1",
            ]
        case .listenAddress:
            [
                "127.0.0.1:2776", "localhost:0", "[::1]:65535", "[fe80::1%eth0]:2776",
                "a_b-c.d:080",
                "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:", ":2776", "*:2776", "2776",
                "::1:2776",
                "[::1]", "[::1]2776", "[::1:2776", "[127.0.0.1]:2776", "a b:2776", "[]:1", "[:]:1",
            ]
        case .network:
            [
                "192.168.0.0/16", "10.0.0.7", "0.0.0.0/0", "10.0.0.7/32", "fd00::/8", "::1", "::/0",
                "fe80::1/128", "10.0.0.7/33", "256.0.0.0", "10.0.0", "10.0.0.07", "::/129", "/8",
                "10.0.0.0/", "10.0.0.0/8/8", "ten", "10.0.0.0 /8",
            ]
        case .identifiers:
            [
                "0x7e8", "2024", "256-511", "0x700-0x7FF", "0x", "0x-5", "1-2-3", "-5", "ten", "+5",
                "0x1ffffffff", "4294967295", "4294967296", "1.5", " 1",
            ]
        case .endpoint:
            [
                "127.0.0.1:50002", "127.0.0.1:50002 format=lines", "[::1]:50002 on_change=true",
                "/run/relayd/openxc1  format=protobuf names=a,b ids=0x7e8,1-2 buses=1,2 rate=5 ",
                "127.0.0.1:1 names= ids= buses=", "127.0.0.1", "/", "/run/", "127.0.0.1:1 lines",
                "127.0.0.1:1 format=line", "127.0.0.1:1 rate=10001", "127.0.0.1:1 rate=-1",
                "127.0.0.1:1 buses=0", "127.0.0.1:1 buses=1,,2", "127.0.0.1:1 ids=ten",
                "127.0.0.1:1 on_change=yes", "127.0.0.1:1 speed=5", "", " ",
            ]
        case .vehicleWrites:
            [
                "pty can:1", "pty name:horn", "pty", "tty can:1",
                "127.0.0.1 can", "127.0.0.0/8 can:1", "::1 can:1:0x7e0", "10.0.0.7 can:2:1-2",
                "10.0.0.7 name", "10.0.0.7  name:horn ", "10.0.0.7", "can:1", "10.0.0.7 can:",
                "10.0.0.7 can:0", "10.0.0.7 can:+5", "10.0.0.7 can:1:", "10.0.0.7 name:",
                "10.0.0.7 name:a:b", "10.0.0.7 all", "ten can", "10.0.0.7 can:1 can:2",
            ]
        case .file:
            ["/etc/relayd/MOBILE_API.xml", "/", "/etc/", "etc/x.xml", "x", "/x"]
        case .fileOrAuto:
            ["/etc/relayd/dashboard-token", "/", "/etc/", "AUTO", "x", "/x"]
        case .name:
            ["Music", "8675309", "#3", " ", "Radio Südwest"]
        case .filter:
            ["", "app:radio !ok", "rpc:On*", "8675309", String(repeating: "x", count: 2001)]
        case .saveTrigger:
            ["app_crash", "advice:wrong_port", "advice:", "advice:Wrong_port", "wrong_port", ""]
        case .functionName:
            ["Show", "!OnVehicleData", "Shwo", "!!Show", "! Show", " Show"]
        case .group:
            [
                "bench", "1000", "a.b-c_d", "-bench", "be nch", "bänch",
                String(repeating: "g", count: 32), String(repeating: "g", count: 33),
            ]
        case .socketPath:
            [
                "/run/relayd/relayd.sock", "/", "/run/", "relayd.sock", "AUTO",
                "/" + String(repeating: "x", count: 106), "/" + String(repeating: "x", count: 107),
            ]
        case .fileMode:
            ["0660", "660", "0777", "1777", "0888", "66", "00660", "+660", "0o660", "666 "]
        }
    }
}
