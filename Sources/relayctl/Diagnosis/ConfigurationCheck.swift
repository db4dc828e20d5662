import Glibc
import YAML

/// The result of `relayd --check-config`, for `relayctl doctor`: only relayd knows what is valid.
struct ConfigurationCheck: Sendable, Equatable {
    var isGood: Bool
    /// One line per mistake, with file, line and column; for a valid file, what was checked, and what
    /// will not work on this machine.
    var lines: [String]
    /// The address in the file, if it is valid and names one.
    var accessory: String?

    /// The first mistake, and how many more there are.
    var text: String {
        guard let first = lines.first else { return "relayd did not say what is wrong" }
        return !isGood && lines.count > 1
            ? "\(first) (and \(Units.count(lines.count - 1, "more mistake")))" : first
    }

    /// Settings that are valid but will not work on this machine: what they are, and what to do.
    var warnings: [(text: String, remedy: String)] {
        guard isGood else { return [] }
        return lines.dropFirst().map { line in
            let remedy = line.firstRange(of: "; ")
            return (
                String(line[..<(remedy?.lowerBound ?? line.endIndex)]),
                remedy.map { String(line[$0.upperBound...]) } ?? "see relayd --check-config"
            )
        }
    }

    /// Largest configuration that relayd reads; it has found this one valid.
    private static let maximumFileBytes = 256 << 10
    /// Exit statuses of relayd --check-config.
    private static let good: Int32 = 0
    private static let notGood: Int32 = 78
    /// Environment variables that pass the words to the shell, so that no character in them has a special
    /// meaning.
    private static let programVariable = "RELAYCTL_RELAYD"
    private static let fileVariable = "RELAYCTL_CONFIG"

    /// Asks the relayd beside this relayctl, else the one in PATH.
    ///
    /// - Parameter file: nil for the file that relayd would read by default.
    /// - Returns: Nil when there is no relayd to ask, or this user may not read the file.
    static func run(file: String?) -> ConfigurationCheck? {
        if let file, isForbidden(file) { return nil }
        setenv(programVariable, program, 1)
        setenv(fileVariable, file ?? "", 1)
        let option = file == nil ? "" : " --config \"$\(fileVariable)\""
        let command = "exec \"$\(programVariable)\" --check-config\(option) 2>&1"
        guard let pipe = popen(command, "re") else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 {
            bytes += buffer[..<count]
        }
        let status = pclose(pipe)
        // WIFEXITED and WEXITSTATUS of wait(2), which are macros.
        guard status & 0x7F == 0, [good, notGood].contains(status >> 8 & 0xFF) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        // The file relayd reads by default may be closed to us but open to relayd's user.
        if let path = lines.first?.prefix(while: { $0 != ":" }), isForbidden(String(path)) {
            return nil
        }
        return ConfigurationCheck(
            isGood: status == 0, lines: lines,
            accessory: status == 0 ? lines.first.flatMap(accessory(verdict:)) : nil)
    }

    /// The address of relayd's link in a file that relayd has found valid.
    ///
    /// - Parameter verdict: "/etc/relayd/relayd.yaml: ok".
    private static func accessory(verdict: String) -> String? {
        guard verdict.hasSuffix(": ok"),
            let file = fopen(String(verdict.dropLast(4)), "re")
        else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: maximumFileBytes)
        let count = fread(&bytes, 1, bytes.count, file)
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        let subject = YAMLSubject(
            noun: "configuration", colonExample: "accessory: \"sim:\"", maximumDepth: 16,
            maximumNodes: maximumFileBytes)
        guard case .mapping(let pairs, _)? = try? YAMLComposer.root(of: text, as: subject) else {
            return nil
        }
        for pair in pairs {
            if case (.scalar(let key), .scalar(let value)) = (pair.key, pair.value),
                key.text == "accessory"
            {
                return value.text
            }
        }
        return nil
    }

    /// The version that the relayd beside this relayctl, or in PATH, prints; nil when there is none.
    static var relaydVersion: String? {
        setenv(programVariable, program, 1)
        return CommandOutput.of("exec 2>/dev/null; exec \"$\(programVariable)\" --version")
    }

    private static func isForbidden(_ path: String) -> Bool {
        access(path, R_OK) != 0 && errno == EACCES
    }

    private static var program: String {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &bytes, bytes.count)
        let own = String(decoding: bytes.prefix(max(0, length)), as: UTF8.self)
        let beside = own.lastIndex(of: "/").map { own[...$0] + "relayd" } ?? "relayd"
        return access(String(beside), X_OK) == 0 ? String(beside) : "relayd"
    }
}
