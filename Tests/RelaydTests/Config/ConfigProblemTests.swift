import Testing

@testable import relayd

// Messages to the user about a bad configuration, word by word.

@Suite("Bad configurations")
struct ConfigProblemTests {
    /// A bad file and every message expected about it.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let messages: [String]

        init(_ name: String, _ text: String, _ messages: String...) {
            self.name = name
            self.text = text
            self.messages = messages
        }

        var testDescription: String { name }
    }

    private static let duration =
        "a duration with its unit such as 500ms, 20s or 2m, from 1s to 1h"
    private static let size =
        "a size such as 4096, 256 KiB or 16 MiB, from 4 KiB to 64 MiB"

    static let keys = [
        Case(
            "misspelt key", "accesory: \"sim:\"\n",
            "f:1:1: accesory: unknown key; did you mean \"accessory\"?"),
        Case(
            "misspelt key in a section", "apps:\n  hold-timeout: 3s\n",
            "f:2:3: apps.hold-timeout: unknown key; did you mean \"hold_timeout\"?"),
        Case(
            "misspelt section", "session:\n  farewell_timeout: 3s\n",
            "f:1:1: session: unknown key; did you mean \"sessions\"?"),
        Case(
            "key of another section", "log:\n  hold_timeout: 3s\n",
            "f:2:3: log.hold_timeout: unknown key; did you mean apps.hold_timeout?"),
        Case(
            "key that belongs to the top", "apps:\n  accessory: \"sim:\"\n",
            "f:2:3: apps.accessory: unknown key; \"accessory\" belongs at the top of the file, "
                + "without indentation"),
        Case(
            "key like no other", "control:\n  zzzzzz: 1\n",
            "f:2:3: control.zzzzzz: unknown key; known here: socket, mode, group, "
                + "read_only_for_others, connections, connections_per_peer, streams_per_peer"),
        Case(
            "key given twice", "accessory: \"sim:\"\napps:\n  maximum: 3\naccessory: \"sim:\"\n",
            "f:4:1: accessory: given twice, first at f:1:1; remove one"),
        Case(
            "keys given twice do not hide other problems",
            "apps:\n  maximum: 3\n  \"maximum\": x\n  maximum: 5\nlog:\n  level: loud\n",
            "f:3:3: apps.maximum: given twice, first at f:2:3; remove one",
            "f:3:14: apps.maximum: found \"x\"; expected a whole number from 1 to "
                + "10000",
            "f:4:3: apps.maximum: given twice, first at f:2:3; remove one",
            "f:6:10: log.level: found \"loud\"; expected error, warning, notice, info, debug or "
                + "trace"),
        Case(
            "unknown key given twice", "abc: 1\nabc: 2\n",
            "f:1:1: abc: unknown key; known here: accessory, listen, rpc_spec, "
                + "rpc_validation, apps, sessions, limits, log, record, media, control, "
                + "dashboard, drive, openxc",
            "f:2:1: abc: given twice, first at f:1:1; remove one",
            "f:2:1: abc: unknown key; known here: accessory, listen, rpc_spec, "
                + "rpc_validation, apps, sessions, limits, log, record, media, control, "
                + "dashboard, drive, openxc"),
        Case(
            "key that is a list", "[a, b]: 1\n",
            "f:1:1: found a list; expected a key, which is a single word"),
    ]

    static let shapes = [
        Case(
            "root is a list", "- a\n- b\n",
            "f:1:1: found a list; expected \"key: value\" lines, such as accessory: sim:"),
        Case(
            "root is text", "sim:\\n\n",
            "f:1:1: found \"sim:\\n\"; expected \"key: value\" lines, such as accessory: sim:"),
        Case(
            "section is text", "apps: hold\n",
            "f:1:7: apps: found \"hold\"; expected indented \"key: value\" lines below \"apps:\""),
        Case(
            "section is a list", "log:\n  - level\n",
            "f:2:3: log: found a list; expected indented \"key: value\" lines below \"log:\""),
        Case(
            "value is a section", "accessory:\n  sim: 1\n",
            "f:2:3: accessory: found a section (\"key: value\" lines); expected an address such as "
                + "sim:, tcp:HOST:PORT or serial:/dev/ttyUSB0?baud=115200"),
        Case(
            "value is missing", "apps:\n  maximum:\n",
            "f:2:11: apps.maximum: found nothing; expected a whole number from 1 to 10000"),
        Case(
            "value is a list of one", "apps:\n  maximum: [3]\n",
            "f:2:12: apps.maximum: found a list; expected a whole number from 1 to 10000; remove "
                + "the brackets or the dash: this is not a list"),
        Case(
            "list is text", "apps:\n  allow: 10.0.0.0/8\n",
            "f:2:10: apps.allow: found \"10.0.0.0/8\"; expected a list of networks such as "
                + "192.168.0.0/16; write [\"10.0.0.0/8\"]"),
        Case(
            "list is text that cannot be copied as it is shown", "apps:\n  allow: a\tb\n",
            "f:2:10: apps.allow: found \"a\\tb\"; expected a list of networks such as "
                + "192.168.0.0/16"),
        Case(
            "one address that is none", "listen: 2776\n",
            "f:1:9: listen: found \"2776\"; expected HOST:PORT or [IPv6]:PORT; "
                + "write 127.0.0.1:2776"),
        Case(
            "! without quotes is a tag", "log:\n  functions:\n    - !OnVehicleData\n",
            "f:3:7: log.functions[0]: found the YAML tag !OnVehicleData; expected a function's "
                + "name such as Show, or !Show to leave it out; text that begins with ! needs "
                + "quotes: \"!OnVehicleData\""),
        Case(
            "a tag of two lines", "log:\n  functions:\n    - !a%0Ab\n",
            "f:3:7: log.functions[0]: found the YAML tag !a\\nb; expected a function's "
                + "name such as Show, or !Show to leave it out; text that begins with ! needs "
                + "quotes: \"!a\\nb\""),
        Case(
            "! without quotes in brackets", "log:\n  functions: [!OnVehicleData]\n",
            "f:2:29: not YAML: did not find expected whitespace or line break, while scanning a "
                + "tag; text that begins with ! needs quotes"),
    ]

    /// An alias stands for everything under its anchor, which may be full of aliases.
    private static let bomb =
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + zip("bcdefghi", "abcdefgh").map { name, other in
            "\(name): &\(name) [" + Array(repeating: "*\(other)", count: 10).joined(separator: ",")
                + "]\n"
        }.joined() + "? *i\n: log\nlisten: *i\n"

    static let expansion = [
        Case(
            "alias", "limits:\n  tap_queue: &big 16 MiB\n  ring: *big\n",
            "f:3:9: found the alias *big; a configuration has no aliases: write the value itself, in "
                + "quotes if it begins with *"),
        Case(
            "aliases of aliases, also as keys", bomb,
            "f:2:8: found the alias *a; a configuration has no aliases: write the value itself, in "
                + "quotes if it begins with *"),
        Case(
            "nesting in brackets", "listen: " + String(repeating: "[", count: 17),
            "f:1:24: nested more than 16 levels deep"),
        Case(
            "nesting that is closed again", "listen: " + String(repeating: "{a: ", count: 17),
            "f:1:69: nested more than 16 levels deep"),
        Case(
            "very many values",
            "log:\n  apps: [" + String(repeating: "a,", count: 10_000) + "]\n",
            "f:2:20000: more than 10000 keys and values, which no configuration has"),
        Case(
            "nesting in lines", "listen:\n  " + String(repeating: "- ", count: 100_000) + "x\n",
            "f:2:33: nested more than 16 levels deep"),
    ]

    static let values = [
        Case(
            "number in words", "apps:\n  maximum: many\n",
            "f:2:12: apps.maximum: found \"many\"; expected a whole number from 1 to 10000"),
        Case(
            "number in quotes", "apps:\n  maximum: \"3\"\n",
            "f:2:12: apps.maximum: found \"3\"; expected a whole number from 1 to "
                + "10000; remove the quotes"),
        Case(
            "number out of range", "apps:\n  maximum: 0\n",
            "f:2:12: apps.maximum: found \"0\"; expected a whole number from 1 to 10000"),
        Case(
            "number too large for any machine", "apps:\n  maximum: 99999999999999999999\n",
            "f:2:12: apps.maximum: found \"99999999999999999999\"; expected a whole number from 1 "
                + "to 10000"),
        Case(
            "boolean of another language", "log:\n  traffic: no\n",
            "f:2:12: log.traffic: found \"no\"; expected true or false; write false"),
        Case(
            "duration without unit", "apps:\n  hold_timeout: 60\n",
            "f:2:17: apps.hold_timeout: found \"60\"; expected \(duration); write 60s for seconds"),
        Case(
            "duration too long", "apps:\n  hold_timeout: 2h\n",
            "f:2:17: apps.hold_timeout: found \"2h\"; expected \(duration)"),
        Case(
            "duration beyond any clock", "apps:\n  hold_timeout: 9223372036854775807h\n",
            "f:2:17: apps.hold_timeout: found \"9223372036854775807h\"; expected \(duration)"),
        Case(
            "negative duration", "apps:\n  hold_timeout: -5s\n",
            "f:2:17: apps.hold_timeout: found \"-5s\"; expected \(duration)"),
        Case(
            "size with an ambiguous unit", "limits:\n  link_queue: 256kB\n",
            "f:2:15: limits.link_queue: found \"256kB\"; expected \(size); write 256 KiB"),
        Case(
            "size too small", "limits:\n  link_queue: 1\n",
            "f:2:15: limits.link_queue: found \"1\"; expected \(size)"),
        Case(
            "misspelt word", "apps:\n  when_accessory_absent: refse\n",
            "f:2:26: apps.when_accessory_absent: found \"refse\"; expected hold or refuse; "
                + "did you mean \"refuse\"?"),
        Case(
            "unknown service", "log:\n  services: [rpc, vidio]\n",
            "f:2:19: log.services[1]: found \"vidio\"; expected control, rpc, audio, video or bulk; "
                + "did you mean \"video\"?"),
        Case(
            "mistake in a filter", "log:\n  filter: app:radio rcp:On*\n",
            "f:2:11: log.filter: found \"app:radio rcp:On*\"; character 11: there is no key 'rcp'; "
                + "did you mean 'rpc'?"),
        Case(
            "bad function name", "log:\n  functions: [\"On Vehicle\"]\n",
            "f:2:15: log.functions[0]: found \"On Vehicle\"; expected a function's name such as "
                + "Show, or !Show to leave it out"),
        Case(
            "relative socket path", "control:\n  socket: relayd.sock\n",
            "f:2:11: control.socket: found \"relayd.sock\"; expected auto or an absolute path of at "
                + "most 107 bytes"),
        Case(
            "mode that is not octal", "control:\n  mode: 0690\n",
            "f:2:9: control.mode: found \"0690\"; expected permission bits in octal such as "
                + "\"0660\""),
        Case(
            "group with a space", "control:\n  group: a b\n",
            "f:2:10: control.group: found \"a b\"; expected the name or number of a group, or \"\" "
                + "for the daemon's own"),
        Case(
            "queue smaller than one frame", "apps:\n  queue_limit: 100 KiB\n",
            "f:2:16: apps.queue_limit: 100 KiB cannot hold one frame of limits.maximum_payload "
                + "(131100); expected at least 131112"),
        Case(
            "payload larger than the queues", "limits:\n  maximum_payload: 16 MiB\n",
            "f:2:20: apps.queue_limit: 12 MiB cannot hold one frame of limits.maximum_payload "
                + "(16 MiB); expected at least 16777228",
            "f:2:20: limits.tap_queue: 8 MiB cannot hold one frame of limits.maximum_payload "
                + "(16 MiB); expected at least 16777228",
            "f:2:20: limits.maximum_message: 16 MiB cannot hold one frame of "
                + "limits.maximum_payload (16 MiB); expected at least 16777228"),
    ]

    static let addresses = [
        Case(
            "port too large", "listen: [\"127.0.0.1:70000\"]\n",
            "f:1:10: listen[0]: found \"127.0.0.1:70000\"; expected a port from 0 "
                + "to 65535 (0 = any free one)"),
        Case(
            "only a port", "listen: [2776]\n",
            "f:1:10: listen[0]: found \"2776\"; expected HOST:PORT or [IPv6]:PORT; "
                + "write 127.0.0.1:2776"),
        Case(
            "no host", "listen: [\":2776\"]\n",
            "f:1:10: listen[0]: found \":2776\"; expected HOST:PORT or [IPv6]:PORT; "
                + "127.0.0.1:2776 serves this machine only, 0.0.0.0:2776 everyone"),
        Case(
            "control character where a port belongs", "listen: \":27\\t76\"\n",
            "f:1:9: listen: found \":27\\t76\"; expected HOST:PORT or [IPv6]:PORT; "
                + "127.0.0.1:27 76 serves this machine only, 0.0.0.0:27 76 everyone"),
        Case(
            "IPv6 without brackets", "listen: [\"::1:2776\"]\n",
            "f:1:10: listen[0]: found \"::1:2776\"; expected HOST:PORT or "
                + "[IPv6]:PORT; an IPv6 address needs brackets, such as [::1]:2776"),
        Case(
            "a dashboard without a port", "dashboard:\n  address: bench\n",
            "f:2:12: dashboard.address: found \"bench\"; expected HOST:PORT or [IPv6]:PORT; "
                + "write bench:2777"),
        Case(
            "the same address twice", "listen:\n  - a:1\n  - b:1\n  - a:1\n",
            "f:4:5: listen: a:1 is listed twice; remove one"),
        Case(
            "two bad addresses", "listen: [\"a:b\", \"c d:1\"]\n",
            "f:1:10: listen[0]: found \"a:b\"; expected a port from 0 to 65535 "
                + "(0 = any free one)",
            "f:1:17: listen[1]: found \"c d:1\"; expected a host name or an IPv4 "
                + "address before the colon"),
        Case(
            "nowhere to listen", "listen: []\n",
            "f:1:9: listen: found an empty list; expected HOST:PORT or a list of them, at least one"
        ),
        Case(
            "specification without a whole path", "rpc_spec: MOBILE_API.xml\n",
            "f:1:11: rpc_spec: found \"MOBILE_API.xml\"; expected the absolute path of an XML file, "
                + "or \"\" for the built-in specification"),
        Case(
            "accessory the transports refuse", "accessory: usv:1\n",
            "f:1:12: accessory: found \"usv:1\"; unknown transport \"usv\""),
    ]

    static let syntax = [
        Case(
            "tab as indentation", "apps:\n\tmaximum: 3\n",
            "f:2:1: not YAML: found character that cannot start any token, while scanning for the "
                + "next token; indent with spaces, not tabs, and put quotes around special "
                + "characters"),
        Case(
            "bracket not closed", "listen: [\"a:1\"\nlog:\n",
            "f:2:1: not YAML: did not find expected ',' or ']', while parsing a flow sequence "
                + "(line 1)"),
        Case(
            "two documents", "accessory: \"sim:\"\n---\naccessory: \"sim:\"\n",
            "f:2:1: another YAML document begins here; a configuration is one, so remove what belongs "
                + "to the other, and the line with ---"),
        Case(
            "two documents, one of them empty", "accessory: \"sim:\"\n...\n---\n",
            "f:3:1: another YAML document begins here; a configuration is one, so remove what belongs "
                + "to the other, and the line with ---"),
        Case(
            "no value where one has to be", "listen: [,]\n",
            "f:1:10: not YAML: did not find expected node content, while parsing a flow node"),
        Case(
            "quotes that nothing closes", "accessory: \"sim:\n",
            "f:2:1: not YAML: found unexpected end of stream, while scanning a quoted scalar (line 1)"
        ),
        Case(
            "control character behind letters of two bytes", "é: [é, \u{1}]\n",
            "f:1:8: not YAML: control characters are not allowed"),
        Case(
            "control character", "accessory: \"sim:\"\nlog: \u{1}\n",
            "f:2:6: not YAML: control characters are not allowed"),
        Case(
            "alias to nowhere", "accessory: *head\n",
            "f:1:12: found the alias *head; a configuration has no aliases: write the value itself, "
                + "in quotes if it begins with *"),
        Case(
            "an address without quotes", "accessory: sim:\n",
            "f:1:15: not YAML: mapping values are not allowed in this context; "
                + "a value that ends in a colon needs quotes, as in accessory: \"sim:\""),
    ]

    @Test(
        "says where, what was found, what was expected and what to do",
        arguments: keys + shapes + values + addresses + syntax + expansion)
    func explains(bad: Case) {
        #expect(Self.messages(bad.text) == bad.messages)
    }

    @Test("all problems of a file are reported at once, in the order of the file")
    func reportsAllAtOnce() {
        let text = """
            acessory: "sim:"
            listen: ["127.0.0.1:99999", nonsense]
            apps:
              maximum: lots
              hold_timeout: 5
            log: verbose
            control: {mode: rw, sokcet: auto}
            """
        let places = Self.messages(text).map { $0.split(separator: " ").prefix(2) }
        #expect(
            places.map { $0.joined(separator: " ") } == [
                "f:1:1: acessory:", "f:2:10: listen[0]:", "f:2:29: listen[1]:",
                "f:4:12: apps.maximum:", "f:5:17: apps.hold_timeout:", "f:6:6: log:",
                "f:7:17: control.mode:", "f:7:21: control.sokcet:",
            ])
    }

    static let hostile = [
        Case("deep brackets", String(repeating: "[", count: 100_000)),
        Case("deep braces", String(repeating: "{a: ", count: 50_000)),
        Case("deep dashes", String(repeating: "- ", count: 50_000)),
        Case("deep aliases", "a: &x [*x]\n"),
        Case("aliases that double", "a: &a [1]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"),
        Case("empty key", "? \n"),
        Case("anchor for a key", "&a : 1\n"),
        Case("half a surrogate pair", "\"\\uD800\": 1\n"),
        Case("merge key", "<<: {accessory: 1}\n"),
        Case("binary key", "!!binary x: 1\n"),
        Case("key without letters", "'': 1\n'': 2\n"),
        Case("key given twice, once in quotes", "'a': 1\na: 2"),
        Case("key given twice, with an anchor", "&x a: 1\n&y a: 2"),
        Case("key given twice, in one line", "{a: 1, a: 2, a: 3}"),
        Case("key of another alphabet given twice", "é: 1\né: 2\n"),
        Case("version of the future", "%YAML 9.9\n---\na: 1\n"),
        Case("byte order mark", "\u{FEFF}a: 1\n"),
        Case("blocks", "a: |\n  x\na: >\n  y\n"),
        Case(
            "very many keys given twice", (0..<200).map { "k\($0 / 2): 1" }.joined(separator: "\n")),
        Case("very long key", String(repeating: "k", count: 100_000) + ": 1\n"),
    ]

    @Test("hostile files are refused, not crashed on", arguments: hostile)
    func survives(bad: Case) {
        let messages = Self.messages(bad.text)
        #expect(!messages.isEmpty)
        #expect(messages.allSatisfy { $0.count < 500 })
    }

    private static func messages(_ text: String) -> [String] {
        do throws(ConfigErrors) {
            _ = try Config.decode(text, file: "f") { address in
                address.hasPrefix("usv:") ? "unknown transport \"usv\"" : nil
            }
            return []
        } catch {
            return error.description.split(separator: "\n").map(String.init)
        }
    }
}
