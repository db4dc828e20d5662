import Glibc

/// The file of a bug report on disk: made new, for nobody else's eyes, compressed by gzip(1).
///
/// gzip gets the descriptor, not the path: by then the name in a directory of somebody else's may stand
/// for another file.
package struct Archive: ~Copyable {
    private let descriptor: Int32

    /// Nil with `errno` set when the file is there already or cannot be made.
    package init?(_ path: String) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    package func write(_ bytes: [UInt8]) -> Bool {
        // A copy that gzip inherits: dup(2) leaves out FD_CLOEXEC.
        let inherited = dup(descriptor)
        guard inherited >= 0 else { return false }
        defer { close(inherited) }
        guard let gzip = popen("exec gzip -n >&\(inherited)", "we") else { return false }
        let written = fwrite(bytes, 1, bytes.count, gzip)
        return pclose(gzip) == 0 && written == bytes.count
    }
}
