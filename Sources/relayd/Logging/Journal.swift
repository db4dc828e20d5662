import CShims
import CSystemd
internal import Glibc
package import Logging
internal import NIOCore

// journald's side of the log: severities, entries, and whether we write to journald.

/// The severities of syslog(3), which journald uses too.
package enum SyslogPriority: Int, Sendable, Comparable {
    case critical = 2
    case error, warning, notice, info, debug

    package init(_ level: Logger.Level) {
        self =
            switch level {
            case .critical: .critical
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug, .trace: .debug
            }
    }

    /// More severe is smaller, as in the numbers.
    package static func < (a: SyslogPriority, b: SyslogPriority) -> Bool { a.rawValue < b.rawValue }
}

package struct JournalEntry: Sendable, Equatable {
    package var message: String
    package var priority: SyslogPriority
    package var fields: [String: String]

    /// The entry as `NAME=value` texts, the message first, the others sorted by name.
    package var assignments: [String] {
        ["MESSAGE=\(message)", "PRIORITY=\(priority.rawValue)"]
            + fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    /// The journal's name for one of our keys: `hmi-level` → `RELAYD_HMI_LEVEL`.
    ///
    /// journald accepts capitals, digits and underscores, at most 64 of them, and drops fields with
    /// other names; the prefix also avoids the names journald uses itself.
    package static func fieldName(_ key: String) -> String {
        var name = "RELAYD_"
        for byte in key.utf8.prefix(64 - 7) {
            switch byte {
            case 0x61...0x7A: name.unicodeScalars.append(Unicode.Scalar(byte - 0x20))
            case 0x30...0x39, 0x41...0x5A: name.unicodeScalars.append(Unicode.Scalar(byte))
            default: name.unicodeScalars.append("_")
            }
        }
        return name
    }
}

package enum Journal {
    /// Whether this descriptor is the stream systemd connected to journald.
    ///
    /// JOURNAL_STREAM holds the device and inode of that stream; it is also inherited by processes
    /// whose output has been redirected, so the descriptor itself has to be compared
    /// (systemd.exec(5), "$JOURNAL_STREAM").
    package static func isStream(_ descriptor: Int32, environment: [String: String]) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        var (device, inode) = (UInt64(0), UInt64(0))
        guard relay_file_identity(descriptor, &device, &inode) == 0 else { return false }
        return stream == "\(device):\(inode)"
    }

    /// Whether journald is running at all; if not, `sd_journal_sendv` drops entries silently.
    package static var isAvailable: Bool { access(socketPath, W_OK) == 0 }

    /// The socket on which journald accepts entries (sd_journal_sendv(3) uses no other).
    package static let socketPath = "/run/systemd/journal/socket"

    /// Whether the next `send` would not block: journald's queue has room. Never blocks itself.
    ///
    /// libsystemd's own socket is not accessible, so another one is tested: a Unix datagram socket is
    /// writable if the queue of its peer is not full.
    package static func wouldTake(at path: String = socketPath) -> Bool {
        // An unreachable journald does not block either.
        guard let address = try? SocketAddress(unixDomainSocketPath: path) else { return true }
        let kind = SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(AF_UNIX, CInt(kind), 0)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        let isConnected = address.withSockAddr { pointer, length in
            connect(descriptor, pointer, socklen_t(length)) == 0
        }
        guard isConnected else { return true }
        var question = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&question, 1, 0) != 0
    }

    /// Sends one entry; `false` if journald did not accept it. May block while journald is busy.
    package static func send(_ entry: JournalEntry) -> Bool {
        var bytes: [UInt8] = []
        var lengths: [Int] = []
        for assignment in entry.assignments {
            bytes.append(contentsOf: assignment.utf8)
            lengths.append(assignment.utf8.count)
        }
        return bytes.withUnsafeMutableBytes { buffer in
            guard var base = buffer.baseAddress else { return false }
            let vectors = lengths.map { length in
                defer { base += length }
                return iovec(iov_base: base, iov_len: length)
            }
            return sd_journal_sendv(vectors, Int32(vectors.count)) >= 0
        }
    }
}
