import Glibc

/// The file of a bug report on disk: made new, for nobody else's eyes, compressed by gzip(1).
struct Archive {
    /// How the path gets into the shell's line: as a variable, so that no character in it means
    /// anything.
    private static let variable = "RELAYCTL_BUGREPORT"

    /// Nil with `errno` set when the file is there already or cannot be made.
    init?(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        setenv(Self.variable, path, 1)
    }

    func write(_ bytes: [UInt8]) -> Bool {
        guard let gzip = popen("exec gzip -n >\"$\(Self.variable)\"", "w") else { return false }
        let written = fwrite(bytes, 1, bytes.count, gzip)
        return pclose(gzip) == 0 && written == bytes.count
    }
}
