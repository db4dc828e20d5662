import DidYouMean
import Scenarios

/// Loads scenarios: files, and the ready ones.
enum ScenarioLibrary {
    /// Why a scenario cannot be read, in words.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// The text of a file, or of the ready scenario of that name.
    static func text(of file: String) throws(Problem) -> String {
        if let entry = ReadyScenario.named(file) { return entry.text }
        let bytes: [UInt8]
        do {
            bytes = try FileBytes.read(file, limit: ScenarioLimits.fileBytes)
        } catch {
            let near = Spelling.nearest(file, in: ReadyScenario.all.map(\.name))
            throw Problem(
                description:
                    "cannot be read: \(error)"
                    + (near.map { "; did you mean the ready scenario \($0)?" } ?? ""))
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(description: "not UTF-8 text; save the file as UTF-8")
        }
        return text
    }

    /// The scenario; throws its problems, one per line.
    static func scenario(_ file: String) throws(Problem) -> Scenario {
        let name = SafeText.clean(file)
        let text: String
        do throws(Problem) { text = try self.text(of: file) } catch {
            throw Problem(description: "\(name): \(SafeText.clean(error.description))")
        }
        do throws(ScenarioErrors) {
            return try ScenarioReader.read(text)
        } catch {
            throw Problem(
                description: error.problems.map { SafeText.clean($0.line(file: name)) }
                    .joined(separator: "\n"))
        }
    }
}
