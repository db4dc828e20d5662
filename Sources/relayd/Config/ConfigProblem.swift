// The problems of a bad configuration. The readers and the walk create them; `Relayd` prints them
// all at once and exits.

import SDLProtocol

/// Where a value of the configuration was written.
package enum ConfigOrigin: Sendable, Equatable, CustomStringConvertible {
    /// A place in a file; line and column start at 1.
    case file(String, line: Int, column: Int)
    /// A file as a whole, for example one that cannot be read.
    case wholeFile(String)
    case environment(String)
    case flag(String)

    package var description: String {
        switch self {
        case .file(let name, let line, let column): "\(name):\(line):\(column)"
        case .wholeFile(let name): name
        case .environment(let name): "environment \(name)"
        case .flag(let name): name
        }
    }
}

/// One problem with the configuration: where, which option, and what to do.
package struct ConfigProblem: Sendable, Equatable, CustomStringConvertible {
    package var origin: ConfigOrigin
    /// The option, such as `apps.hold_timeout`; empty for a file as a whole.
    package var path: String
    /// What was found, what was expected and what to do, in one sentence.
    package var text: String

    package var description: String {
        // A flag and a variable are the option's other names.
        switch origin {
        case .flag, .environment: "\(origin): \(text)"
        case .file, .wholeFile: path.isEmpty ? "\(origin): \(text)" : "\(origin): \(path): \(text)"
        }
    }

    /// A value that the option does not accept.
    package static func mismatch(
        _ value: ConfigValue, _ path: String, expected: String, hint: String? = nil
    ) -> ConfigProblem {
        // Hints repeat what was written, which may contain any characters.
        let hint = hint.map { "; \(PrintableText.string($0))" } ?? ""
        return ConfigProblem(
            origin: value.origin, path: path,
            text: "found \(value.summary); expected \(expected)\(hint)")
    }
}

/// All problems of a configuration, in the order it was written.
package struct ConfigErrors: Error, Sendable, Equatable, CustomStringConvertible {
    package var problems: [ConfigProblem]

    /// EX_CONFIG of sysexits.h. relayd's unit does not restart on it: trying again does not fix the
    /// file.
    package static let exitCode: Int32 = 78

    /// One line per problem.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
