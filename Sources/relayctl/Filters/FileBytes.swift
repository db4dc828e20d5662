import Glibc

/// Reads a small file that a person names.
enum FileBytes {
    /// Why the file cannot be read, as a clause.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter limit: Largest size in bytes.
    static func read(_ path: String, limit: Int) throws(Problem) -> [UInt8] {
        // A pipe that nobody writes to must not block the command.
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Problem(description: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = piece.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            guard count >= 0 else { throw Problem(description: String(cString: strerror(errno))) }
            guard count > 0 else { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= limit else {
                throw Problem(description: "it has more than \(limit) bytes")
            }
        }
    }
}
