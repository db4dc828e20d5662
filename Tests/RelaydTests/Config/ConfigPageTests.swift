import Foundation
import Testing

@testable import relayd

// Documentation/configuration.md against the reader of relayd.yaml and the shipped file.

@Suite("The page about the configuration")
struct ConfigPageTests {
    @Test("the committed page is what the reader and the shipped file say")
    func isCurrent() throws {
        let text = try ConfigPage.text()
        if ProcessInfo.processInfo.environment["RELAY_WRITE_CONFIG_SCHEMA"] != nil {
            try text.write(to: ConfigPage.file, atomically: true, encoding: .utf8)
        }
        let committed = try String(contentsOf: ConfigPage.file, encoding: .utf8)
        #expect(
            committed == text,
            "to write it: RELAY_WRITE_CONFIG_SCHEMA=1 swift test --filter ConfigPageTests/isCurrent"
        )
    }

    @Test("no option, flag or variable is missing, and each option has its reason")
    func isComplete() throws {
        let page = try String(contentsOf: ConfigPage.file, encoding: .utf8)
        for option in ConfigSchema().options {
            let heading = "\n### \(option.path)\n\nDefault: "
            let start = try #require(page.firstRange(of: heading), "\(option.path)").upperBound
            let end = page[start...].firstRange(of: "\n#")?.lowerBound ?? page.endIndex
            let section = page[start..<end]
            #expect(section.split(separator: "\n").count >= 2, "\(option.path) has no reason")
            #expect(!ConfigPage.accepted(option).isEmpty, "\(option.path) accepts nothing")
        }
        for flag in ConfigPage.flags { #expect(page.contains(flag), "\(flag)") }
        for variable in EnvironmentVariable.allCases {
            #expect(page.contains("`\(variable.rawValue)`"), "\(variable.rawValue)")
        }
    }

    @Test("what sets an option is found by trying it")
    func setters() throws {
        let found = try ConfigPage.setters()
        #expect(found["accessory"] == ["RELAYD_ACCESSORY", "--accessory"])
        #expect(
            found["control.socket"] == [
                "RELAYD_CONTROL_SOCKET", "RELAYD_SOCKET", "--control-socket",
            ])
        #expect(found["log.services"] == ["--log-service"])
        #expect(found["apps.maximum"] == nil)
    }
}
