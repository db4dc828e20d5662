import Glibc

/// The bug report's file on disk: newly created, readable only by its owner, compressed by gzip(1).
///
/// gzip gets the descriptor, not the path: in a directory owned by somebody else, the name may stand for
/// another file by then. No shell is involved, because it would know only descriptors of one digit.
struct Archive: ~Copyable {
    private let descriptor: Int32

    /// Returns nil with `errno` set when the file already exists or cannot be created.
    init?(_ path: String) {
        let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // Checked before there is anything to destroy: close(2) would overwrite `errno`.
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Returns whether everything has been written.
    func write(_ bytes: [UInt8]) -> Bool {
        // A socket, not a pipe: writing to a gzip that has ended fails with an error instead of a signal.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return false }
        let gzip = Self.startGzip(from: ends[1], to: descriptor)
        close(ends[1])
        var rest = bytes[...]
        while gzip != nil, !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(ends[0], $0.baseAddress, $0.count, Self.quietly)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        close(ends[0])
        return gzip.map(Self.endsWell) == true && rest.isEmpty
    }

    private static let quietly = Int32(MSG_NOSIGNAL)

    private static func startGzip(from input: Int32, to output: Int32) -> pid_t? {
        // Above the standard three, so that neither overwrites the other where those are closed.
        let (from, to) = (
            fcntl(input, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
            fcntl(output, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        )
        defer { for copy in [from, to] where copy >= 0 { close(copy) } }
        guard from >= 0, to >= 0 else { return nil }
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        defer { posix_spawn_file_actions_destroy(&actions) }
        guard posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO) == 0,
            posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO) == 0
        else { return nil }
        let words = ["gzip", "-n"]
        var arguments = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var process: pid_t = 0
        let error = posix_spawnp(&process, "gzip", &actions, nil, arguments, environ)
        return error == 0 ? process : nil
    }

    private static func endsWell(_ process: pid_t) -> Bool {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return false }
        }
        return status == 0
    }
}
