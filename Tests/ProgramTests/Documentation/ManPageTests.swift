// The man pages against the programs they describe: Documentation/write-man generates them from what the
// programs tell about themselves, and these tests compare them with --help.

import Foundation
import RelayTesting
import Testing

@Suite("The man pages") struct ManPageTests {
    private static let root = Checkout.root.path

    private static func page(_ program: Program, _ section: Int) async throws -> String {
        let made = try await ChildProcess.run(
            "/bin/sh",
            [
                "-c", "\"$1\" --experimental-dump-help | python3 \"$2\" \"$3\"", "sh",
                try program.path(), "\(root)/Documentation/write-man", "\(section)",
            ], environment: Program.environment())
        #expect(made.ending == .exited(0), "\(made.errors)")
        return made.output
    }

    /// Options as help texts and pages write them; a page escapes its hyphens.
    private static func options(_ text: String) -> Set<String> {
        Set(text.matches(of: #/--[a-z][a-z-]*/#).map { String($0.0) })
    }

    /// The lines of a help text that start an option.
    private static func optionLines(_ help: String) -> String {
        guard let list = help.firstRange(of: "\nOPTIONS:\n") else { return "" }
        return help[list.upperBound...].split(separator: "\n")
            .filter { $0.hasPrefix("  -") }
            .map { String($0.prefix { $0 != "." }.prefix(26)) }.joined(separator: "\n")
    }

    private static func part(_ page: String, _ heading: String) -> Substring {
        guard let start = page.firstRange(of: "\n\(heading)") else { return "" }
        let rest = page[start.upperBound...]
        let end = rest.firstMatch(of: #/\n\.S[HS] /#)?.range.lowerBound ?? rest.endIndex
        return rest[..<end]
    }

    @Test("relayctl's has every command with every option and exit code its help has, and no other")
    func relayctl() async throws {
        let page = try await Self.page(.relayctl, 1).replacing("\\-", with: "-")
        let help = try await Program.relayctl.run(["--help"]).output
        let listed = help.matches(of: #/(?m)^  ([a-z][a-z-]*)   /#).map { String($0.1) }
        let described = page.matches(of: #/(?m)^\.SS relayctl ([a-z-]+)/#).map { String($0.1) }
        #expect(Set(described).isSubset(of: listed) && described.count > 20)
        for name in described {
            let commandHelp = try await Program.relayctl.run([name, "--help"]).output
            let section = Self.part(page, ".SS relayctl \(name) ")
            let labels = section.split(separator: "\n")
                .filter { $0.hasPrefix("\\fB-") }.joined(separator: "\n")
            let options = Self.options(Self.optionLines(commandHelp))
            #expect(Self.options(labels) == options && options.contains("--help"), "\(name)")
            let codes = commandHelp.matches(of: #/(?m)^  (\d+) +[a-z]/#).map { String($0.1) }
            #expect(codes.count >= 2, "\(name)")
            for code in codes { #expect(section.contains("\n  \(code) "), "\(name) \(code)") }
        }
        let places = Self.part(page, ".SH FILES")
        #expect(places.contains("/run/relayd/relayd.sock"))
        #expect(Self.part(page, ".SH ENVIRONMENT").contains("RELAYD_SOCKET"))
        for code in [0, 1, 2, 3, 64] {
            #expect(Self.part(page, ".SH EXIT STATUS").contains("\n  \(code) "))
        }
    }

    @Test("relayd's has every option, variable, file and exit code") func relayd() async throws {
        let page = try await Self.page(.relayd, 8).replacing("\\-", with: "-")
        let help = try await Program.relayd.run(["--help"]).output
        let labels = Self.part(page, ".SH OPTIONS").split(separator: "\n")
            .filter { $0.hasPrefix("\\fB-") }.joined(separator: "\n")
        let options = Self.options(Self.optionLines(help))
        #expect(Self.options(labels) == options && options.contains("--check-config"))
        let variables = Set(help.matches(of: #/RELAYD_[A-Z_]+/#).map { String($0.0) })
        for name in variables {
            #expect(Self.part(page, ".SH ENVIRONMENT").contains(name), "\(name)")
        }
        #expect(variables.contains("RELAYD_CONFIG"))
        #expect(Self.part(page, ".SH FILES").contains("/etc/relayd/relayd.yaml"))
        for code in [0, 1, 64, 78] {
            #expect(Self.part(page, ".SH EXIT STATUS").contains("\n  \(code) "))
        }
    }

    @Test(
        "troff has nothing against them", .enabled(if: access("/usr/bin/groff", X_OK) == 0),
        arguments: [(Program.relayd, 8), (.relayctl, 1)])
    func troff(program: Program, section: Int) async throws {
        try await TemporaryDirectory.run { directory in
            let page = try directory.write(
                try await Self.page(program, section) + "\n", to: "page.\(section)")
            let check = try await ChildProcess.run(
                "/usr/bin/groff", ["-k", "-man", "-Tutf8", "-ww", "-z", page],
                environment: Program.environment())
            #expect(check.ending == .exited(0) && check.errors.isEmpty, "\(check.errors)")
        }
    }
}
