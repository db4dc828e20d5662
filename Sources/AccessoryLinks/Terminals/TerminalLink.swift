import Glibc

/// Why a terminal for clients cannot be provided, written for people.
package struct TerminalProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ path: String, _ text: String) { description = "\(path): \(text)" }

    static func system(_ path: String, _ what: String, errno error: CInt) -> TerminalProblem {
        TerminalProblem(path, "\(what): \(systemMessage(error))")
    }
}

/// The name under which clients find a pseudo-terminal: a symbolic link to its slave. `TerminalPump` has one.
///
/// What stands there and is not a link of relayd's own is never touched. A lock file beside it says that a
/// relayd is at work; the kernel gives the lock back however that relayd ends. So a link that is found while
/// the lock is free is left over from one that was killed.
struct TerminalLink: ~Copyable {
    let path: String
    private let lock: OwnedDescriptor
    /// Where the link points, while there is one.
    private var target: String?

    private var lockPath: String { Self.lockPath(path) }
    private static func lockPath(_ path: String) -> String { path + ".lock" }

    /// Takes the name; nothing stands there afterwards.
    init(path: String) throws(TerminalProblem) {
        let lock = try Self.acquire(path)
        do throws(TerminalProblem) {
            try Self.clear(path)
        } catch {
            unlink(Self.lockPath(path))
            throw error
        }
        self.path = path
        self.lock = lock
    }

    /// Makes the link, or moves it.
    mutating func point(at slave: String) throws(TerminalProblem) {
        removeLink()
        // Fails if anything has come to stand there meanwhile.
        guard symlink(slave, path) == 0 else {
            throw .system(path, "the link to a terminal could not be made", errno: errno)
        }
        target = slave
    }

    /// Gives the name back.
    mutating func remove() {
        removeLink()
        unlink(lockPath)
    }

    private mutating func removeLink() {
        guard let target else { return }
        if SymbolicLink.target(of: path) == target { unlink(path) }
        self.target = nil
    }

    // MARK: - What stands there

    /// Removes a link that a killed relayd has left.
    private static func clear(_ path: String) throws(TerminalProblem) {
        var facts = stat()
        guard lstat(path, &facts) == 0 else {
            guard errno == ENOENT else { throw .system(path, "cannot be looked at", errno: errno) }
            return
        }
        guard facts.st_mode & S_IFMT == S_IFLNK, facts.st_uid == geteuid(),
            let target = SymbolicLink.target(of: path), target.hasPrefix("/dev/pts/"),
            target.utf8.dropFirst(9).allSatisfy({ (0x30...0x39).contains($0) })
        else {
            throw TerminalProblem(
                path,
                "something that is not relayd's stands there; remove it or choose another name")
        }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw .system(path, "an old link could not be removed", errno: errno)
        }
    }

    // MARK: - The lock

    private static func acquire(_ path: String) throws(TerminalProblem) -> OwnedDescriptor {
        let lockPath = lockPath(path)
        // Whoever gives the name back removes the file, perhaps between our open and our lock.
        for _ in 0..<100 {
            let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw errno == ENOENT
                    ? TerminalProblem(path, "there is no such directory; make it first")
                    : .system(path, "\(lockPath) could not be opened", errno: errno)
            }
            let lock = OwnedDescriptor(descriptor)
            var (mine, there) = (stat(), stat())
            guard fstat(descriptor, &mine) == 0, mine.st_mode & S_IFMT == S_IFREG,
                mine.st_size == 0, mine.st_uid == geteuid()
            else {
                throw TerminalProblem(
                    path, "\(lockPath) is not relayd's; remove it or choose another name")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw errno == EWOULDBLOCK
                    ? TerminalProblem(path, "another relayd provides a terminal of this name")
                    : .system(path, "\(lockPath) could not be locked", errno: errno)
            }
            if lstat(lockPath, &there) == 0, there.st_ino == mine.st_ino,
                there.st_dev == mine.st_dev
            {
                return lock
            }
        }
        throw TerminalProblem(path, "another relayd provides a terminal of this name")
    }
}
