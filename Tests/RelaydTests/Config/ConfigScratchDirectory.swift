import Foundation

// A directory for one test, used by the tests that need files or sockets.

enum ScratchDirectory {
    /// Runs the body with a fresh directory and removes it afterwards.
    static func use<Result>(_ body: (String) throws -> Result) throws -> Result {
        let directory = try make()
        defer { remove(directory) }
        return try body(directory)
    }

    /// The same for asynchronous bodies.
    static func useAsync<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let directory = try make()
        defer { remove(directory) }
        return try await body(directory)
    }

    private static func make() throws -> String {
        // Short, because the path of a socket inside has to fit in 107 bytes.
        let path = "/tmp/relayd-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        return path
    }

    private static func remove(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
    }
}
