import ControlAPI
import Foundation
import FoundationXML
import Testing

@testable import Scenarios

@Suite("Results as JUnit XML") struct JUnitReportTests {
    private static let results: [ScenarioResult] = {
        var result = ScenarioResult(
            file: "a & b.yaml", name: "<Radio>", time: .milliseconds(1250), outcome: .failed,
            steps: [
                .init(
                    number: 1, line: 4, words: "wait rpc:Show", outcome: .passed,
                    time: .milliseconds(250)),
                .init(
                    number: 2, line: 5, words: "expect \"x\"\u{1b}[0m", outcome: .failed,
                    time: .seconds(1),
                    failure: ScenarioFailure(
                        "the message is not as expected", expected: ["a < b"],
                        mismatches: [.init(path: "p", expected: "\"]]>\"", found: "\u{FFFF}é")])),
                .init(number: 3, line: 6, words: "pause 1s", outcome: .skipped, time: .zero),
            ])
        result.started = Timestamp(millisecondsSince1970: 0)
        result.recording = "/tmp/r.pcapng"
        return [result, ScenarioResult(file: "broken.yaml", problem: "broken.yaml:1:1: no\nmore")]
    }()

    @Test("a suite for each file, a case for each step; counts, times, texts as they are")
    func whole() throws {
        let xml = JUnitReport.xml(Self.results)
        let document = try XMLDocument(xmlString: xml)
        let root = try #require(document.rootElement())
        func attribute(_ element: XMLElement, _ name: String) -> String? {
            element.attribute(forName: name)?.stringValue
        }
        #expect(attribute(root, "tests") == "4")
        #expect(attribute(root, "failures") == "1")
        #expect(attribute(root, "errors") == "1")
        #expect(attribute(root, "skipped") == "1")
        let suites = root.elements(forName: "testsuite")
        #expect(suites.map { attribute($0, "name") } == ["<Radio>", "broken.yaml"])
        #expect(attribute(suites[0], "file") == "a & b.yaml")
        #expect(attribute(suites[0], "time") == "1.250")
        #expect(attribute(suites[0], "timestamp") == "1970-01-01T00:00:00.000Z")
        let cases = suites[0].elements(forName: "testcase")
        #expect(cases.map { attribute($0, "name") }.first == "1 wait rpc:Show")
        #expect(attribute(cases[1], "name") == "2 expect \"x\"\\u{1b}[0m")
        let failure = try #require(cases[1].elements(forName: "failure").first)
        #expect(
            failure.stringValue == """
                the message is not as expected
                  expected: a < b
                    - p: "]]>"
                    + p: \\u{ffff}é
                """)
        #expect(cases[2].elements(forName: "skipped").count == 1)
        let errors = suites[1].elements(forName: "testcase")[0].elements(forName: "error")
        #expect(errors.first?.stringValue == "broken.yaml:1:1: no\nmore")
    }

    @Test("the exit code is 2 when one could not be used, else 1 when one has failed")
    func exitCode() {
        #expect(ScenarioResult.Outcome.exitCode([]) == 0)
        #expect(ScenarioResult.Outcome.exitCode([.passed, .passed]) == 0)
        #expect(ScenarioResult.Outcome.exitCode([.passed, .failed]) == 1)
        #expect(ScenarioResult.Outcome.exitCode([.failed, .unusable]) == 2)
    }
}
