// The YAML on the page about scenarios: scenarios are read as such, the rest has to be YAML at least.

import RelayTesting
import Testing
import YAML

@testable import Scenarios

@Suite("The YAML on the page about scenarios") struct ScenarioPageTests {
    private static func blocks() throws -> [MarkdownPage.Block] {
        let page = try #require(
            try MarkdownPage.all().first { $0.path == "Documentation/scenarios.md" })
        return page.blocks.filter { ["yml", "yaml"].contains($0.language) }
    }

    @Test("what begins as a scenario is one, without a problem") func scenarios() throws {
        let scenarios = try Self.blocks().filter { $0.text.hasPrefix("scenario:") }
        #expect(!scenarios.isEmpty)
        for block in scenarios {
            #expect(problems(block.text) == [], "line \(block.line)")
        }
    }

    @Test("every block is YAML, the job for a build server among them") func isYAML() throws {
        let blocks = try Self.blocks()
        #expect(blocks.contains { $0.text.hasPrefix("jobs:") })
        for block in blocks {
            #expect(throws: Never.self, "line \(block.line)") {
                _ = try YAMLComposer.root(of: block.text, as: .scenario)
            }
        }
    }
}
