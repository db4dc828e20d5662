import Glibc

/// The value of `JOURNAL_STREAM`, for tests that play systemd.
package enum JournalStream {
    /// Device and inode of the file in decimal, as systemd writes them (systemd.exec(5)); empty when
    /// the descriptor is closed.
    package static func name(of descriptor: CInt) -> String {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return "" }
        return "\(status.st_dev):\(status.st_ino)"
    }
}
