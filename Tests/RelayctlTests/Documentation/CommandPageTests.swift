import ArgumentParser
import Foundation
import Testing

@testable import relayctl

// Documentation/relayctl.md against relayctl's own description of its command line.

@Suite("The page about relayctl")
struct CommandPageTests {
    @Test("the committed page is what relayctl says of itself")
    func isCurrent() throws {
        let text = try CommandPage.text()
        if ProcessInfo.processInfo.environment["RELAY_WRITE_CONFIG_SCHEMA"] != nil {
            try text.write(to: CommandPage.file, atomically: true, encoding: .utf8)
        }
        let committed = try String(contentsOf: CommandPage.file, encoding: .utf8)
        #expect(
            committed == text,
            "to write it: RELAY_WRITE_CONFIG_SCHEMA=1 swift test --filter CommandPageTests/isCurrent"
        )
    }

    /// Checked against the output of `--help`, because that is what people read.
    @Test("no command and no option that the help shows is missing, and none is without a word")
    func isComplete() throws {
        let page = try String(contentsOf: CommandPage.file, encoding: .utf8)
        var count = 0
        for command in RelayCtl.commands where command.configuration.shouldDisplay {
            count += try Self.check(command, command._commandName, in: page)
        }
        #expect(count > 150)
        for row in page.split(separator: "\n") where row.hasPrefix("| `") {
            #expect(row.contains(#/` \| \S.* \|$/#), "\(row)")
        }
    }

    /// - Returns: The number of options checked.
    private static func check(
        _ command: any ParsableCommand.Type, _ name: String, in page: String
    ) throws -> Int {
        let start = try #require(page.firstRange(of: "\n### \(name)\n"), "\(name)").upperBound
        let end = page[start...].firstRange(of: "\n### ")?.lowerBound ?? page.endIndex
        let section = page[start..<end]
        #expect(section.count > 20, "\(name)")
        let help = RelayCtl.helpMessage(for: command, columns: 200)
        let options = Set(
            help.matches(of: #/(?m)^  (?:-[a-z], )?(--[a-z-]+)/#).map { String($0.1) }
        ).subtracting(["--help", "--version"])
        for option in options {
            let isThere = section.contains("\(option) ") || section.contains("\(option)`")
            #expect(isThere, "\(name) \(option)")
        }
        let inner = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
        return try inner.reduce(options.count) {
            try $0 + check($1, "\(name) \($1._commandName)", in: page)
        }
    }
}
