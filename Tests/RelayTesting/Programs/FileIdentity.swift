// Which file a descriptor is, for tests that play systemd.

import Glibc

package enum FileIdentity {
    /// Device and inode in decimal, as systemd writes them into `JOURNAL_STREAM`; empty when
    /// the descriptor is closed.
    package static func name(of descriptor: CInt) -> String {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return "" }
        return "\(status.st_dev):\(status.st_ino)"
    }
}
