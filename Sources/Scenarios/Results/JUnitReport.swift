import ControlAPI
import SDLProtocol

/// The results of scenarios as JUnit XML, as build servers read it: a test suite for each file, a test case
/// for each step.
package enum JUnitReport {
    /// Maximum characters of one text: a build server shows no more.
    private static let textLimit = 20_000

    package static func xml(_ results: [ScenarioResult]) -> String {
        let counts = results.map(Counts.init)
        let total = counts.reduce(Counts()) { $0.adding($1) }
        let time = results.reduce(Duration.zero) { $0 + $1.time }
        var xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        xml += "<testsuites name=\"relayctl run\"\(total.attributes)\(attribute("time", time))>\n"
        for (result, counts) in zip(results, counts) { xml += suite(result, counts) }
        return xml + "</testsuites>\n"
    }

    private struct Counts {
        var tests = 0
        var failures = 0
        var errors = 0
        var skipped = 0

        init() {}

        init(_ result: ScenarioResult) {
            tests = result.steps.count
            failures = result.steps.count { $0.outcome == .failed }
            errors = result.steps.count { $0.outcome == .unusable }
            skipped = result.steps.count { $0.outcome == .skipped }
            guard result.problem != nil else { return }
            tests += 1
            errors += 1
        }

        func adding(_ other: Counts) -> Counts {
            var sum = self
            sum.tests += other.tests
            sum.failures += other.failures
            sum.errors += other.errors
            sum.skipped += other.skipped
            return sum
        }

        var attributes: String {
            " tests=\"\(tests)\" failures=\"\(failures)\" errors=\"\(errors)\" skipped=\"\(skipped)\""
        }
    }

    private static func suite(_ result: ScenarioResult, _ counts: Counts) -> String {
        var xml = "  <testsuite\(attribute("name", result.name))\(counts.attributes)"
        xml += attribute("time", result.time) + attribute("file", result.file)
        if let started = result.started { xml += attribute("timestamp", started.description) }
        xml += ">\n"
        if let recording = result.recording {
            xml += "    <properties>\n      <property name=\"recording\""
            xml += "\(attribute("value", recording))/>\n    </properties>\n"
        }
        if let problem = result.problem {
            xml +=
                "    <testcase name=\"the scenario\"\(attribute("classname", result.name)) time=\"0\">\n"
            xml += element("error", problem.split(separator: "\n").first.map(String.init), problem)
            xml += "    </testcase>\n"
        }
        for step in result.steps { xml += testCase(step, of: result) }
        return xml + "  </testsuite>\n"
    }

    private static func testCase(_ step: ScenarioResult.Step, of result: ScenarioResult) -> String {
        var xml = "    <testcase\(attribute("name", "\(step.number) \(step.words)"))"
        xml += attribute("classname", result.name) + attribute("time", step.time)
        if step.line > 0 { xml += " line=\"\(step.line)\"" }
        switch step.outcome {
        case .passed: return xml + "/>\n"
        case .skipped: return xml + ">\n      <skipped/>\n    </testcase>\n"
        case .failed, .unusable:
            let name = step.outcome == .failed ? "failure" : "error"
            xml += ">\n" + element(name, step.failure?.summary, step.failure?.text ?? "")
            return xml + "    </testcase>\n"
        }
    }

    private static func element(_ name: String, _ message: String?, _ text: String) -> String {
        "      <\(name)\(attribute("message", message ?? "")) type=\"scenario\">\(escaped(text))</\(name)>\n"
    }

    private static func attribute(_ name: String, _ value: String) -> String {
        // Line ends would become spaces; markup and control characters are escaped.
        " \(name)=\"\(escaped(value.split(whereSeparator: \.isNewline).joined(separator: " ")))\""
    }

    private static func attribute(_ name: String, _ time: Duration) -> String {
        let milliseconds = Int64((time.asSeconds * 1000).rounded())
        let rest = "\(milliseconds % 1000)"
        let zeros = String(repeating: "0", count: max(0, 3 - rest.count))
        return " \(name)=\"\(milliseconds / 1000).\(zeros)\(rest)\""
    }

    /// Text for XML 1.0: markup is escaped, and characters that are invisible or that the standard forbids
    /// ("Char") are shown as `\u{…}`.
    static func escaped(_ text: String) -> String {
        var xml = ""
        var count = 0
        for scalar in text.unicodeScalars {
            count += 1
            guard count <= textLimit else {
                xml += "…"
                break
            }
            switch scalar {
            case "&": xml += "&amp;"
            case "<": xml += "&lt;"
            case ">": xml += "&gt;"
            case "\"": xml += "&quot;"
            case "'": xml += "&apos;"
            case "\n", "\t": xml.unicodeScalars.append(scalar)
            case _
            where scalar.value == 0xFFFE || scalar.value == 0xFFFF
                || !PrintableText.isPrintable(scalar):
                xml += "\\u{\(String(scalar.value, radix: 16))}"
            default: xml.unicodeScalars.append(scalar)
            }
        }
        return xml
    }
}
