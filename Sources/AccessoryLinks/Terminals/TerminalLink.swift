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
/// Anything at the path that is not a link of relayd's own is never touched. A lock file beside the link shows that
/// a relayd is running; the kernel releases the lock however that relayd ends. So a link that is found while the
/// lock is free was left by a relayd that was killed.
struct TerminalLink: ~Copyable {
    let path: String
    private let lock: OwnedDescriptor
    /// Where the link points, while there is one.
    private var target: String?

    private var lockPath: String { Self.lockPath(path) }
    private static func lockPath(_ path: String) -> String { path + ".lock" }

    /// Takes the name and removes a leftover link; nothing is at the path afterwards.
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
        // Fails if anything else has appeared at the path meanwhile.
        guard symlink(slave, path) == 0 else {
            throw .system(path, "the link to a terminal could not be made", errno: errno)
        }
        target = slave
    }

    /// Gives the name up.
    mutating func remove() {
        removeLink()
        unlink(lockPath)
    }

    private mutating func removeLink() {
        guard let target else { return }
        if SymbolicLink.target(of: path) == target { unlink(path) }
        self.target = nil
    }

    // MARK: - Leftover links

    /// Removes a link left by a relayd that was killed.
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
        // A relayd that gives the name up removes the file, perhaps between our open and our lock.
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
