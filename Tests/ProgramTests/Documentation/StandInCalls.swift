// How the pages may call programs that do not belong to relayd: what is known of each of them is written down
// here, because a test cannot ask them.

import ControlAPI
import Foundation
import RelayTesting

enum StandInCalls {
    /// What is wrong with a call, the program's name first; nil when nothing is.
    static func problem(_ words: [String], on page: MarkdownPage) -> String? {
        guard let program = words.first else { return "nothing is called" }
        let arguments = Array(words.dropFirst())
        if program.hasPrefix("Scripts/") || isScript(program) { return script(program, arguments) }
        guard let rule = rules[program] else { return "nobody knows how \(program) is called" }
        return rule(arguments, page)
    }

    static func isKnown(_ program: String) -> Bool {
        rules[program] != nil || program.hasPrefix("Scripts/")
    }

    private typealias Rule = @Sendable (_ arguments: [String], _ page: MarkdownPage) -> String?

    private static let rules: [String: Rule] = [
        "sudo": { arguments, page in
            arguments.first == "relayctl" ? setUp(arguments) : problem(arguments, on: page)
        },
        "sudoedit": { arguments, _ in
            arguments == ["/etc/relayd/relayd.yaml"] ? nil : "another file than relayd's"
        },
        "ssh": { arguments, _ in ssh(arguments) },
        "adb": { arguments, _ in
            [
                ["reverse"], ["reverse", "tcp:2776", "tcp:2776"], ["reverse", "--list"],
                ["kill-server"],
            ]
            .contains(arguments) ? nil : "not a call of adb that is known"
        },
        "apt": { arguments, _ in apt(arguments) },
        "systemctl": { arguments, page in systemctl(arguments, page) },
        "journalctl": { arguments, _ in
            arguments.allSatisfy {
                $0.wholeMatch(of: #/[A-Z_]+=.+|--[a-z-]+(=.*)?|-[a-zA-Z]|[\w@.-]+|\+|.* ago/#)
                    != nil
            } ? nil : "not arguments of journalctl"
        },
        "usermod": { arguments, _ in
            let groups = ["relayd", "dialout"]
            return arguments.count == 3 && arguments[0] == "-aG" && groups.contains(arguments[1])
                ? nil : "expected -aG, a group of relayd's and a user"
        },
        "udevadm": { arguments, _ in
            arguments == ["control", "--reload"] ? nil : "not a call of udevadm that is known"
        },
        "rfcomm": { arguments, _ in
            ["bind", "listen", "watch"].contains(arguments.first) ? nil : "not a call of rfcomm"
        },
        "fuser": { arguments, _ in
            arguments.count == 2 && arguments[0] == "-v" ? nil : "expected -v and a path"
        },
        "ufw": { arguments, _ in
            arguments == ["allow", "2776/tcp"] ? nil : "expected allow 2776/tcp"
        },
        "raspi-config": { arguments, _ in arguments.isEmpty ? nil : "it has menus" },
        "bluetoothctl": { arguments, _ in
            let words = arguments.first == "--timeout" ? Array(arguments.dropFirst(2)) : arguments
            // Without arguments it asks for confirmations.
            let known = [
                [], ["power", "on"], ["discoverable", "on"], ["pairable", "on"],
                ["pairable", "off"], ["scan", "on"], ["pair", "ADDRESS"], ["trust", "ADDRESS"],
            ]
            return known.contains(words) ? nil : "not a call of bluetoothctl that is known"
        },
        "sdptool": { arguments, _ in
            arguments == ["browse", "ADDRESS"] ? nil : "expected browse ADDRESS"
        },
        "curl": { arguments, _ in curl(arguments) },
        "tar": { arguments, _ in arguments.count == 2 ? nil : "expected options and a file" },
        "ls": { arguments, _ in
            [["/dev/serial/by-id/"], ["/sys/class/udc"]].contains(arguments)
                ? nil : "another folder than those of ports and controllers"
        },
        "git": { arguments, _ in
            ["clone", "push", "tag"].contains(arguments.first) ? nil : "not a command of git"
        },
        "swift": { arguments, _ in
            ["build", "test", "format", "--version"].contains(arguments.first)
                ? nil : "not a command of swift"
        },
        "swiftly": { arguments, _ in arguments == ["init"] ? nil : "expected init" },
        "modprobe": { arguments, _ in
            arguments == ["libcomposite"] ? nil : "expected the module of gadgets"
        },
        "plink": { arguments, _ in ssh(arguments) },
    ]

    // MARK: One by one

    /// Run by root, as these tests may be, it would set up this machine.
    private static func setUp(_ words: [String]) -> String? {
        let options = [
            "gadget": ["--undo", "--user", "pi"], "bluetooth": ["--undo", "--visible"],
        ]
        return words.starts(with: ["relayctl", "setup"])
            && words.dropFirst(2).first.flatMap { options[$0] }.map { known in
                words.dropFirst(3).allSatisfy(known.contains)
            } == true ? nil : "not a command for root"
    }

    private static func isScript(_ name: String) -> Bool {
        FileManager.default.isExecutableFile(
            atPath: Checkout.root.appending(path: "Scripts/\(name)").path)
    }

    /// Checks that the script exists and mentions each option.
    private static func script(_ program: String, _ arguments: [String]) -> String? {
        let name = program.hasPrefix("Scripts/") ? String(program.dropFirst(8)) : program
        let file = Checkout.root.appending(path: "Scripts/\(name)")
        guard isScript(name), let text = try? String(contentsOf: file, encoding: .utf8) else {
            return "there is no Scripts/\(name)"
        }
        for option in arguments where option.hasPrefix("--") {
            let known = text.contains(option) || name == "test" && option == "--filter"
            // Options that a script hands on to one of our programs.
            let handedOver = ["bench", "model"].contains(name)
            if !known, !handedOver { return "Scripts/\(name) has no \(option)" }
        }
        return nil
    }

    private static func ssh(_ arguments: [String]) -> String? {
        var rest = arguments[...]
        while let option = rest.first, option.hasPrefix("-") {
            rest = rest.dropFirst()
            switch option {
            case "-L":
                guard let tunnel = rest.popFirst(),
                    tunnel.wholeMatch(of: #/([\w.]+:)?\d+:127\.0\.0\.1:\d+/#) != nil
                        || tunnel.wholeMatch(
                            of: #/(([\w.]+:)?\d+|/[\w./-]+):/run/relayd[\w-]*/relayd\.sock/#)
                            != nil
                else { return "what is behind -L is no tunnel" }
            case "-N", "-t": break
            default: return "\(option) is not known"
            }
        }
        guard let host = rest.popFirst(),
            ["bench", "BENCH", "ann@bench.local"].contains(host)
        else { return "the bench is missing" }
        guard let program = rest.popFirst() else { return nil }
        // `QuotedCommandTests` look at the rest of it.
        let commands = ["status", "tail", "top", "api", "dashboard"]
        return program == "relayctl" && commands.contains(rest.first ?? "")
            ? nil : "not a command that a bench has"
    }

    private static func apt(_ arguments: [String]) -> String? {
        let packages = ["systemd-journal-remote", "bluez", "curl", "git", "gnupg"]
        switch arguments.first {
        case "update": return arguments.count == 1 ? nil : "update takes nothing"
        case "install":
            let names = arguments.dropFirst().filter { $0 != "--yes" }
            let unknown = names.first { name in
                !packages.contains(name) && !(name.hasPrefix("./") && name.hasSuffix(".deb"))
            }
            return unknown.map { "\($0) is not known" }
        default: return "not a command of apt"
        }
    }

    private static func systemctl(_ arguments: [String], _ page: MarkdownPage) -> String? {
        let verbs = [
            "start", "stop", "restart", "reload", "enable", "disable", "status", "edit",
            "daemon-reload", "reset-failed",
        ]
        // relayctl asks systemctl itself.
        if ["show", "--version"].contains(arguments.first) { return nil }
        guard let verb = arguments.first, verbs.contains(verb) else { return "not a verb" }
        // BlueZ brings its own.
        for unit in arguments.dropFirst() where !["--now", "bluetooth"].contains(unit) {
            guard
                let parts = unit.wholeMatch(
                    of: #/([a-z-]+?)(@[a-z]+)?(\.service|\.socket)?/#)
            else { return "\(unit) is no unit" }
            let file = "\(parts.1)\(parts.3 ?? ".service")"
            let ours = Checkout.root.appending(path: "systemd/\(file)").path
            let isOfThePage = page.text.contains("/etc/systemd/system/\(file)")
            if !isOfThePage, !FileManager.default.fileExists(atPath: ours) {
                return "there is no unit \(unit)"
            }
        }
        return nil
    }

    private static func curl(_ arguments: [String]) -> String? {
        guard let address = arguments.last else { return "no address" }
        if address.hasPrefix("https://download.swift.org/swiftly/") { return nil }
        guard
            let match = address.wholeMatch(of: #/http://(?:relayd|127\.0\.0\.1:2781)(/.*)/#)
        else { return "not an address of relayd" }
        return Routes.all.contains { $0.path == match.1 } ? nil : "there is no such route"
    }

    // MARK: Words

    /// Splits a text into words as a shell does; only what the pages use.
    static func words(_ text: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isWord = false
        var quote: Character?
        for character in text {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                isWord = true
            } else if character == " " {
                if isWord || !word.isEmpty { words.append(word) }
                word = ""
                isWord = false
            } else if character == "#", word.isEmpty {
                break
            } else {
                word.append(character)
            }
        }
        if isWord || !word.isEmpty { words.append(word) }
        // Of several commands, only the first.
        if let end = words.firstIndex(where: { ["&&", "|", ";"].contains($0) }) {
            return Array(words[..<end])
        }
        return words
    }
}
