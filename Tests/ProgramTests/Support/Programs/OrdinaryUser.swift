// A user who is not root, even when root runs the tests: then it is the user nobody.

import Glibc
import RelayTesting
import Testing

enum OrdinaryUser {
    /// Whether it is another user than the one who runs the tests.
    static let isAnother = geteuid() == 0

    private static let number: uid_t = 65534

    /// Makes the user the owner of a file, of the device behind it, or of a directory.
    static func give(_ path: String) throws {
        guard !isAnother || chown(path, number, number) == 0 else {
            throw SystemFailure("\(path) could not be given to \(number)")
        }
    }

    /// A copy of the program that the user can run; the build folder may be closed to others.
    static func copy(_ program: Program, in directory: TemporaryDirectory) async throws -> String {
        chmod(directory.path, 0o755)
        let copy = directory.file(program.rawValue)
        try await program.copy(to: copy)
        return copy
    }

    static func start(_ program: String, _ arguments: [String]) async throws -> ChildProcess {
        let command = command(program, arguments)
        return try await ChildProcess.start(
            command[0], Array(command.dropFirst()), environment: Program.environment())
    }

    /// Runs a program to its end.
    static func run(_ program: String, _ arguments: [String]) async throws -> ChildProcess.Finished
    {
        let command = command(program, arguments)
        return try await ChildProcess.run(
            command[0], Array(command.dropFirst()), environment: Program.environment())
    }

    private static func command(_ program: String, _ arguments: [String]) -> [String] {
        let user =
            isAnother
            ? [
                "/usr/bin/setpriv", "--reuid", "\(number)", "--regid", "\(number)",
                "--clear-groups",
            ] : []
        return user + [program] + arguments
    }
}
