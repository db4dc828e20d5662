import ArgumentParser
import ControlAPI
import Traces

/// Why a command about traces cannot go on, in words that name the file and the remedy.
struct TraceFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// Runs the body of a command and reports problems with files on standard error.
    ///
    /// - Throws: `ExitCode`.
    static func told<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as TraceFileError {
            throw tell("\(error)")
        } catch let error as TraceFailure {
            throw tell("\(error)")
        }
    }

    private static func tell(_ words: String) -> ExitCode {
        Output.current.write("relayctl: \(SafeText.line(words))\n", to: .error)
        return ExitCode(ExitStatus.refused.rawValue)
    }

    /// Reports a file that its writer has not finished, which is valid up to that point.
    static func tellUnfinished(_ path: String, _ bytes: Int) {
        guard bytes > 0 else { return }
        Output.current.write(
            "relayctl: \(SafeText.line(path)) ends in the middle of a packet "
                + "(\(Units.count(bytes, "byte")) left out): its writer was stopped, or is still writing\n",
            to: .error)
    }
}
