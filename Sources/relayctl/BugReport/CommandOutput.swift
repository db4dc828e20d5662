import Glibc

/// What another program prints. Used by `relayctl bugreport`.
enum CommandOutput {
    /// A limit far above the output of any command that is run.
    private static let maximumBytes = 16 << 20

    /// Standard output of a shell command, up to `maximumBytes`; nil when it cannot be run.
    static func of(_ command: String) -> String? {
        guard let pipe = popen(command, "re") else { return nil }
        defer { pclose(pipe) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < maximumBytes {
            let count = fread(&buffer, 1, buffer.count, pipe)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
