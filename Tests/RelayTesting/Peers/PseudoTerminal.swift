import CShims
import Glibc
import NIOCore
import Synchronization

/// A serial device made of a pty: this object is the far end of the cable (the master), and a
/// symbolic link with a stable name is the device node that programs open.
///
/// Tests and benchmarks hold one. Unplugging closes the master and removes the link, as the kernel
/// and udev do; plugging in again makes a new pty under the same name.
package final class PseudoTerminal: Sendable {
    package enum Failure: Error, CustomStringConvertible {
        case system(String, errno: CInt)
        case unplugged
        case deadlinePassed(String)

        package var description: String {
            switch self {
            case .system(let what, let error): "\(what): \(String(cString: strerror(error)))"
            case .unplugged: "the pseudo-terminal is unplugged"
            case .deadlinePassed(let what): "deadline passed while \(what)"
            }
        }
    }

    /// The same as that of a peer over TCP.
    package static let patience: Duration = .nanoseconds(FramePeer.patience.nanoseconds)

    /// The device node's name: give this to the program under test.
    package let path: String

    /// The directory made for this object, and removed with it; nil when there is none.
    private let ownDirectory: String?

    private let master: Mutex<CInt?>

    /// A node of this name; its directory must exist.
    package init(path: String) throws {
        self.path = path
        ownDirectory = nil
        master = Mutex(try Self.plug(path))
    }

    /// A node in a new temporary directory.
    package init() throws {
        let directory = try Self.makeTemporaryDirectory()
        path = directory + "/ttyTest0"
        ownDirectory = directory
        master = Mutex(try Self.plug(path))
    }

    deinit {
        unplug()
        if let ownDirectory { rmdir(ownDirectory) }
    }

    /// Hangs up and removes the node. Unread bytes are lost, as with a real cable.
    package func unplug() {
        master.withLock { master in
            guard let descriptor = master else { return }
            close(descriptor)
            unlink(path)
            master = nil
        }
    }

    /// A new device under the same name; does nothing while one is plugged in.
    package func replug() throws {
        try master.withLock { master in
            if master == nil { master = try Self.plug(path) }
        }
    }

    /// Sends bytes to the program; waits while the pty is full (about 20 KB).
    package func write(
        _ bytes: [UInt8], within limit: Duration = patience
    ) async throws {
        var sent = 0
        try await poll(within: limit, "writing \(bytes.count) bytes") {
            descriptor -> Void? in
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress, $0.count)
                }
                if count < 0 {
                    if errno == EAGAIN { return nil }
                    throw Failure.system("write to the pty", errno: errno)
                }
                sent += count
            }
            return ()
        }
    }

    /// Receives exactly this many bytes from the program.
    package func read(
        _ count: Int, within limit: Duration = patience
    ) async throws -> [UInt8] {
        var received: [UInt8] = []
        return try await poll(within: limit, "reading \(count) bytes") { descriptor in
            while received.count < count {
                let wanted = count - received.count
                var failure: CInt = 0
                let part = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, size in
                    let got = Glibc.read(descriptor, buffer.baseAddress, wanted)
                    failure = got < 0 ? errno : 0
                    size = max(got, 0)
                }
                // EIO: no program has the node open (any more); one may still open it.
                if failure == EAGAIN || failure == EIO || (failure == 0 && part.isEmpty) {
                    return nil
                }
                if failure != 0 { throw Failure.system("read from the pty", errno: failure) }
                received += part
            }
            return received
        }
    }

    /// The settings the program has made: bits per second, RTS/CTS, raw mode.
    package func settings() throws -> (baud: UInt32, rtsCts: Bool, isRaw: Bool) {
        try master.withLock { master in
            guard let descriptor = master else { throw Failure.unplugged }
            var baud: UInt32 = 0
            var rtsCts = false
            var raw = false
            let error = relay_tty_get_settings(descriptor, &baud, &rtsCts, &raw)
            guard error == 0 else { throw Failure.system("the pty's settings", errno: error) }
            return (baud, rtsCts, raw)
        }
    }

    /// Tries until the operation has a result. A descriptor that another thread may close is never
    /// waited on: it is used under the lock, for an instant.
    private func poll<Result>(
        within limit: Duration, _ what: String, _ operation: (CInt) throws -> Result?
    ) async throws -> Result {
        let deadline = ContinuousClock.now + limit
        while true {
            let result = try master.withLock { master in
                guard let descriptor = master else { throw Failure.unplugged }
                return try operation(descriptor)
            }
            if let result { return result }
            guard ContinuousClock.now < deadline else { throw Failure.deadlinePassed(what) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private static func plug(_ path: String) throws -> CInt {
        var descriptor: CInt = -1
        let slave = try withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            let error = relay_pty_open(&descriptor, buffer.baseAddress, buffer.count)
            guard error == 0, let name = buffer.baseAddress else {
                throw Failure.system("a pty could not be opened", errno: error)
            }
            return String(cString: name)
        }
        guard symlink(slave, path) == 0 else {
            let error = errno
            close(descriptor)
            throw Failure.system("\(path) could not be made", errno: error)
        }
        return descriptor
    }

    private static func makeTemporaryDirectory() throws -> String {
        var template = Array("/tmp/relayd-pty-XXXXXX".utf8CString)
        return try template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else {
                throw Failure.system("a temporary directory could not be made", errno: errno)
            }
            return String(cString: base)
        }
    }
}
