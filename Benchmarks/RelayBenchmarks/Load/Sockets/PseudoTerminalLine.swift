// A serial line made of a pty, whose end at the head unit is read and written with blocking calls.

import CShims
import Glibc

/// The device node that programs open is a symbolic link with a stable name, as udev makes them.
final class PseudoTerminalLine {
    let path: String
    /// The head unit's end.
    private(set) var master: Socket?

    /// - Parameter directory: must exist.
    init(directory: String) throws {
        path = directory + "/ttyBench0"
        try plug()
    }

    deinit { unplug() }

    /// Plugs in a new device under the same name.
    ///
    /// - Returns: The head unit's end, and when the node was there.
    @discardableResult
    func plug() throws -> (master: Socket, moment: Int64) {
        var descriptor: Int32 = -1
        let slave = try withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard relay_pty_open(&descriptor, buffer.baseAddress, buffer.count) == 0,
                let name = buffer.baseAddress
            else { throw BenchmarkError.system("a pty could not be opened") }
            return String(cString: name)
        }
        let master = Socket(tty: descriptor)
        self.master = master
        let moment = Clock.nanoseconds()
        guard symlink(slave, path) == 0 else { throw BenchmarkError.system("symlink \(path)") }
        return (master, moment)
    }

    /// Hangs up and removes the node.
    func unplug() {
        unlink(path)
        master = nil
    }
}
