import Glibc

/// A directory of a test's own.
package struct TemporaryDirectory: Sendable {
    package let path: String

    /// Runs `body` with a new directory, which is removed afterwards with everything in it.
    package static func run(_ body: (TemporaryDirectory) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        do {
            try await body(directory)
        } catch {
            directory.remove()
            throw error
        }
        directory.remove()
    }

    private init() throws {
        // Short: the path of a Unix socket in it may have 107 bytes.
        var template = Array("/tmp/relayd-test-XXXXXX".utf8CString)
        path = try template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else {
                throw SystemFailure("a temporary directory could not be made")
            }
            return String(cString: base)
        }
    }

    private func remove() { Self.remove(path) }

    /// Removes a directory and everything in it. Links are removed, not their targets.
    private static func remove(_ path: String) {
        if let stream = opendir(path) {
            while let entry = readdir(stream) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                guard name != ".", name != ".." else { continue }
                let entry = "\(path)/\(name)"
                if unlink(entry) != 0, errno == EISDIR { remove(entry) }
            }
            closedir(stream)
        }
        rmdir(path)
    }

    /// The path of a file with this name.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        let path = file(name)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SystemFailure("\(path) could not be made") }
        defer { close(descriptor) }
        var text = text
        let written = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard written == text.utf8.count else {
            throw SystemFailure("\(path) could not be written")
        }
        return path
    }
}

/// A system call of the test's own that failed.
package struct SystemFailure: Error, CustomStringConvertible {
    package let description: String

    /// Call it right after the failed call, before anything else changes `errno`.
    package init(_ what: String, errno code: CInt = errno) {
        description = "\(what): \(String(cString: strerror(code)))"
    }
}
