import CShims
import ControlAPI
import Glibc
import Synchronization

/// The control socket as a file: created safely, owned, and removed again.
///
/// Created by `ControlServer` before anything else of relayd starts, so that a second relayd stops
/// before it touches the accessory. The order makes it safe without changing the process-wide
/// umask: bind, set group and mode, and only then listen, because nobody can connect to a bound
/// socket that does not listen.
package final class ControlListener: Sendable {
    package struct Configuration: Sendable, Equatable {
        /// Path of the socket; nil means the usual place (see `ControlSocket`).
        package var socketPath: String?
        /// Permission bits. Connecting needs write permission on the socket file.
        package var mode = defaultMode
        /// Group the socket is given to; nil leaves the process's own.
        package var group: String?
        /// Whether users who are admitted by the mode, but are not the owner, root or in the group,
        /// may only look.
        package var isReadOnlyForOthers = true

        /// 0660: the user relayd runs as and one group. Both may look and make changes.
        package static let defaultMode: UInt16 = 0o660
    }

    package let path: String
    /// Decides who may make changes.
    package let writePolicy: WritePolicy

    private struct State {
        /// Closed by whoever takes it out.
        var descriptor: Int32?
        /// Whether `path` is still the socket we created.
        var isPublished: Bool
    }
    private let state: Mutex<State>
    /// Device and inode of our socket: another process may have taken over the name.
    private let identity: FileIdentity?

    /// Connections the kernel queues while we are busy: as many as Linux allows (`somaxconn`).
    /// Further ones are refused, whoever they are from. The dashboard's port has the same backlog.
    private static let backlog: Int32 = 4096

    /// Makes a bound socket listen. One that listens already gets this backlog.
    ///
    /// - Returns: False with the reason in `errno`.
    static func listen(on descriptor: Int32) -> Bool { Glibc.listen(descriptor, backlog) == 0 }

    /// Moments at which another process may change what the path names.
    package enum Moment: Sendable, CaseIterable {
        /// The socket is bound; its group and mode are not set yet.
        case bound
        /// The same, and its file is held open: from here on the path does not matter.
        case held
    }

    /// - Parameter reached: Called at these moments; tests put something else at the path there.
    package init(_ configuration: Configuration, reached: (Moment) -> Void = { _ in }) throws {
        let socket = try ControlSocket.forDaemon(given: configuration.socketPath)
        let group = try configuration.group.map(Self.group)
        try Self.prepareDirectory(for: socket)
        let lock = DirectoryLock(socket.directory)
        defer { lock.release() }
        try Self.removeStaleSocket(at: socket.path)

        let descriptor = try Self.bound(to: socket.path)
        do {
            reached(.bound)
            let entry = try SocketEntry(socket.path)
            reached(.held)
            if let group, case let code = entry.give(to: group), code != 0 {
                throw ControlListenerError.groupNotPermitted(
                    path: socket.path, group: configuration.group ?? "", errno: code)
            }
            guard entry.change(mode: mode_t(configuration.mode)) else {
                throw ControlListenerError.cannotBind(path: socket.path, errno: errno)
            }
            guard Self.listen(on: descriptor) else {
                throw ControlListenerError.cannotBind(path: socket.path, errno: errno)
            }
            identity = entry.identity
            writePolicy = WritePolicy(
                owner: geteuid(),
                group: configuration.mode & 0o020 == 0
                    ? nil : group ?? entry.group,
                isReadOnlyForOthers: configuration.isReadOnlyForOthers)
        } catch ControlListenerError.notASocket(let path) {
            // The file is not ours, so it stays.
            close(descriptor)
            throw ControlListenerError.notASocket(path)
        } catch {
            close(descriptor)
            unlink(socket.path)
            throw error
        }
        self.path = socket.path
        self.state = Mutex(State(descriptor: descriptor, isPublished: true))
    }

    /// Takes over a socket that already listens, and its descriptor. Its file is not ours.
    ///
    /// - Parameter isReadOnlyForOthers: As in `Configuration`; owner, group and mode are the file's.
    package init(inherited descriptor: Int32, isReadOnlyForOthers: Bool = true) {
        path = Self.path(of: descriptor)
        writePolicy = WritePolicy(
            owner: geteuid(), group: Self.groupThatMayWrite(to: path),
            isReadOnlyForOthers: isReadOnlyForOthers)
        identity = nil
        state = Mutex(State(descriptor: descriptor, isPublished: false))
    }

    deinit {
        remove()
        if let descriptor = takeDescriptor() { close(descriptor) }
    }

    /// The listening socket, once; the caller closes it.
    func takeDescriptor() -> Int32? {
        state.withLock { state in
            defer { state.descriptor = nil }
            return state.descriptor
        }
    }

    /// Removes the socket's name from the file system, unless it is no longer ours.
    package func remove() {
        state.withLock { state in
            guard state.isPublished else { return }
            state.isPublished = false
            if FileIdentity(of: path) == identity { unlink(path) }
        }
    }
}

// MARK: - In the order of init

extension ControlListener {
    private static func group(_ name: String) throws(ControlListenerError) -> gid_t {
        guard let group = SystemGroup.number(of: name) else { throw .unknownGroup(name) }
        return group
    }

    /// Creates the last directory of the path if it is missing. A directory for one user is closed
    /// to others; any other is open to pass through, since the socket itself has mode and group.
    private static func prepareDirectory(for socket: ControlSocket) throws {
        let isPrivate = socket.place == .temporary || socket.place == .user
        if mkdir(socket.directory, isPrivate ? 0o700 : 0o755) != 0, errno != EEXIST {
            throw ControlListenerError.cannotCreateDirectory(socket.directory, errno: errno)
        }
        try socket.checkDirectoryIsOurs()
    }

    /// Makes `path` free, or throws. A socket that nobody answers on was left behind by a relayd
    /// that was killed; anything else is not ours to delete.
    private static func removeStaleSocket(at path: String) throws(ControlListenerError) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return }
        guard info.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path) }
        switch SocketProbe(path) {
        case .nobody: if unlink(path) != 0 { throw .cannotBind(path: path, errno: errno) }
        case .answered(let pid): throw .alreadyServed(path: path, pid: pid)
        case .failed(let code): throw .cannotBind(path: path, errno: code)
        }
    }

    private static func groupThatMayWrite(to path: String) -> gid_t? {
        var file = stat()
        guard stat(path, &file) == 0, file.st_mode & 0o020 != 0 else { return nil }
        return file.st_gid
    }

    private static func path(of descriptor: Int32) -> String {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isKnown else { return "inherited socket" }
        return withUnsafeBytes(of: &address.sun_path) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    private static func bound(to path: String) throws(ControlListenerError) -> Int32 {
        let descriptor = unixStreamSocket()
        guard descriptor >= 0 else { throw .cannotBind(path: path, errno: errno) }
        guard withUnixAddress(path, { bind(descriptor, $0, $1) }) == 0 else {
            let code = errno
            close(descriptor)
            throw .cannotBind(path: path, errno: code)
        }
        return descriptor
    }
}

/// The file that was just bound, held open: if somebody puts a link to another file in its place
/// before group and mode are set, the other file does not get them. The socket's own descriptor
/// cannot be used for that: it is not the file, and a mode set with fchmod(2) before bind(2) is
/// masked by the umask.
private final class SocketEntry {
    private let descriptor: Int32
    let identity: FileIdentity
    let group: gid_t

    init(_ path: String) throws(ControlListenerError) {
        var entry: Int32 = -1
        let code = relay_entry_open(path, &entry)
        guard code == 0 else { throw .cannotBind(path: path, errno: code) }
        descriptor = entry
        var info = stat()
        let status = fstat(descriptor, &info)
        identity = FileIdentity(info)
        group = info.st_gid
        guard status == 0 else { throw .cannotBind(path: path, errno: errno) }
        guard info.st_mode & S_IFMT == S_IFSOCK, info.st_uid == geteuid() else {
            throw .notASocket(path)
        }
    }

    deinit { close(descriptor) }

    /// 0 or an errno.
    func give(to group: gid_t) -> Int32 { relay_entry_set_group(descriptor, group) }

    /// Through /proc, because fchmod(2) does not accept such a descriptor (open(2), "O_PATH").
    func change(mode: mode_t) -> Bool {
        chmod("/proc/self/fd/\(descriptor)", mode) == 0
    }
}

/// The identity of a file, independent of its name.
private struct FileIdentity: Equatable, Sendable {
    let device: dev_t
    let inode: ino_t

    /// The file a path names right now.
    init?(of path: String) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    init(_ info: stat) {
        device = info.st_dev
        inode = info.st_ino
    }
}

/// Keeps two relayds that start at the same instant from mistaking each other's new socket for a
/// stale one. Advisory and short-lived: held only while binding.
private struct DirectoryLock {
    private let descriptor: Int32

    /// 50 tries, 20 ms apart: a start takes far less than this second, and a process that never
    /// releases the lock must not keep relayd from starting.
    init(_ directory: String) {
        descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        for _ in 0..<50 where flock(descriptor, LOCK_EX | LOCK_NB) != 0 { usleep(20_000) }
    }

    func release() {
        if descriptor >= 0 { close(descriptor) }
    }
}

/// Whether somebody answers on a Unix socket.
private enum SocketProbe {
    case nobody
    /// With the process id, if the kernel knows it.
    case answered(pid: Int?)
    case failed(errno: Int32)

    init(_ path: String) {
        let descriptor = unixStreamSocket()
        guard descriptor >= 0 else {
            self = .failed(errno: errno)
            return
        }
        defer { close(descriptor) }
        let status = withUnixAddress(path) { connect(descriptor, $0, $1) }
        switch status == 0 ? 0 : errno {
        case 0:
            var (pid, uid, gid) = (pid_t(), uid_t(), gid_t())
            let known = relay_peer_credentials(descriptor, &pid, &uid, &gid) == 0 && pid > 0
            self = .answered(pid: known ? Int(pid) : nil)
        // Not blocking: a listener whose queue is full.
        case EAGAIN: self = .answered(pid: nil)
        case ECONNREFUSED, ENOENT: self = .nobody
        case let code: self = .failed(errno: code)
        }
    }
}

private func unixStreamSocket() -> Int32 {
    socket(
        AF_UNIX,
        Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
}

/// Calls `body` with `path` as a socket address; `ControlSocket` has checked that it fits.
private func withUnixAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { bytes in
        bytes.copyBytes(from: path.utf8.prefix(ControlSocket.maximumPathBytes))
    }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
