import CShims
import Glibc

/// A pseudo-terminal from the side that provides it: the master, the slave's name, and a watch for programs that
/// open it.
struct OpenTerminal {
    /// The path of the slave, such as `/dev/pts/3`.
    let path: String
    /// -1 once it is closed.
    private(set) var master: CInt
    /// inotify on the slave; readable when a program has opened or closed it.
    private(set) var watch: CInt

    enum Reading {
        case some
        case none
        /// No program has it open, and everything written to it has been read.
        case hungUp
    }

    init(_ place: TerminalPlace) throws(TerminalProblem) {
        var master: CInt = -1
        var name = [CChar](repeating: 0, count: 128)
        let error = relay_pty_open(&master, &name, name.count)
        guard error == 0 else {
            throw .system(place.path, "a pseudo-terminal could not be opened", errno: error)
        }
        path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        self.master = master
        watch = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        do throws(TerminalProblem) {
            try prepare(place)
        } catch {
            close()
            throw error
        }
    }

    private func prepare(_ place: TerminalPlace) throws(TerminalProblem) {
        guard watch >= 0,
            inotify_add_watch(watch, path, UInt32(IN_OPEN | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)) >= 0
        else {
            throw .system(place.path, "the terminal cannot be watched with inotify", errno: errno)
        }
        let slave = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard slave >= 0 else {
            throw .system(place.path, "\(path) could not be opened", errno: errno)
        }
        defer { Glibc.close(slave) }
        let error = relay_tty_set_raw(slave, 0, false)
        guard error == 0 else { throw .system(place.path, "\(path) is no terminal", errno: error) }
        // The terminal is given to the group before the group may open it.
        let group = place.group ?? getegid()
        guard fchown(slave, uid_t.max, group) == 0 else {
            throw TerminalProblem(
                place.path,
                """
                the terminal could not be given to group \(group): \(systemMessage(errno)); \
                add relayd's user to it, or choose another openxc.pty_group
                """)
        }
        guard fchmod(slave, 0o660) == 0 else {
            throw .system(place.path, "the terminal's permissions could not be set", errno: errno)
        }
    }

    var isOpen: Bool { master >= 0 }

    /// Whether a program has it open, or has left bytes to be read.
    var isInUse: Bool {
        guard isOpen else { return false }
        var polled = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, 0) > 0 else { return true }
        return polled.revents & Int16(POLLHUP) == 0 || polled.revents & Int16(POLLIN) != 0
    }

    func forgetEvents() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while Glibc.read(watch, buffer.baseAddress, buffer.count) > 0 {}
        }
    }

    /// - Parameter bytes: must be empty.
    func read(_ bytes: inout PendingBytes, atMost room: Int) -> Reading {
        var buffer = [UInt8](repeating: 0, count: room)
        while true {
            let count = Glibc.read(master, &buffer, room)
            if count > 0 {
                bytes = PendingBytes(buffer.prefix(count))
                return .some
            }
            if count < 0, errno == EINTR { continue }
            return count < 0 && errno == EAGAIN ? .none : .hungUp
        }
    }

    /// Writes as many bytes as the terminal takes now.
    func write(_ bytes: inout PendingBytes) {
        while !bytes.isEmpty {
            let count = bytes.rest { Glibc.write(master, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                // If no program has it open, the bytes are lost, as on a serial line.
                if count < 0, errno != EAGAIN { bytes = PendingBytes() }
                return
            }
            bytes.drop(count)
        }
    }

    /// - Returns: Whether echo was on.
    func stopEcho() -> Bool {
        var settings = termios()
        guard tcgetattr(master, &settings) == 0,
            settings.c_lflag & tcflag_t(ECHO | ECHONL) != 0
        else { return false }
        settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        tcsetattr(master, TCSANOW, &settings)
        return true
    }

    /// Discards what the last client left unread, and resets its settings.
    func clear() {
        tcflush(master, TCOFLUSH)
        let slave = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard slave >= 0 else { return }
        tcflush(slave, TCIFLUSH)
        _ = relay_tty_set_raw(slave, 0, false)
        Glibc.close(slave)
    }

    mutating func close() {
        if master >= 0 { Glibc.close(master) }
        if watch >= 0 { Glibc.close(watch) }
        (master, watch) = (-1, -1)
    }
}
