import Glibc

/// A small file in which relayctl keeps something for its user: read as a whole, and replaced atomically
/// by one writer at a time.
struct KeptFile: Sendable, Equatable {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// The place according to the XDG Base Directory Specification.
    enum Place: Sendable {
        /// Files that people write and may edit.
        case configuration
        /// Files that relayctl produces by itself.
        case state

        fileprivate var variable: String {
            self == .configuration ? "XDG_CONFIG_HOME" : "XDG_STATE_HOME"
        }
        fileprivate var folder: String { self == .configuration ? "/.config" : "/.local/state" }
    }

    let path: String

    static let maximumBytes = 1 << 20

    /// - Parameter kind: The kind of content, for people: "filters".
    /// - Throws: `Problem` where the environment does not give a place.
    init(
        _ name: String, of kind: String, in place: Place,
        environment: (String) -> String? = KeptFile.variable
    ) throws(Problem) {
        // Relative paths are to be ignored (XDG Base Directory Specification).
        if let folder = environment(place.variable), folder.hasPrefix("/") {
            path = folder + "/relayd/" + name
        } else if let home = environment("HOME"), home.hasPrefix("/") {
            path = home + place.folder + "/relayd/" + name
        } else {
            throw Problem(
                description: "neither \(place.variable) nor HOME says where \(kind) are kept")
        }
    }

    init(path: String) {
        self.path = path
    }

    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    // MARK: Reading

    /// The content; empty when there is no file.
    func bytes() throws(Problem) -> [UInt8] {
        guard let descriptor = open() else {
            if errno == ENOENT { return [] }
            throw problem("cannot be read")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Problem(description: "\(path) is not a file")
        }
        var bytes: [UInt8] = []
        while true {
            let room = Self.maximumBytes + 1 - bytes.count
            let piece = [UInt8](unsafeUninitializedCapacity: min(room, 1 << 16)) { buffer, count in
                count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
            }
            if piece.isEmpty { break }
            bytes += piece
            guard bytes.count <= Self.maximumBytes else {
                throw Problem(description: "\(path) is larger than \(Self.maximumBytes >> 20) MiB")
            }
        }
        return bytes
    }

    /// Does not block on a pipe that somebody put there.
    private func open() -> Int32? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        return descriptor < 0 ? nil : descriptor
    }

    // MARK: Changing

    /// Replaces the file atomically; until then nobody else changes it.
    ///
    /// - Parameter body: Makes the new bytes from the old ones; when it throws, the file stays as it is.
    func change(_ body: ([UInt8]) throws(Problem) -> [UInt8]) throws(Problem) {
        try makeFolders()
        let target = target
        let lock = try lock(target)
        defer { close(lock) }
        let bytes = try body(try bytes())
        guard bytes.count <= Self.maximumBytes else {
            throw Problem(
                description: "\(path) would be larger than \(Self.maximumBytes >> 20) MiB")
        }
        var name = Array("\(target).XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw problem("cannot be written") }
        defer { close(descriptor) }
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == bytes.count, fsync(descriptor) == 0, rename(name, target) == 0 else {
            let problem = problem("cannot be written")
            unlink(name)
            throw problem
        }
    }

    /// Locks the folder, since the file itself is replaced. No trace is left, however the process ends.
    private func lock(_ target: String) throws(Problem) -> Int32 {
        let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw problem("cannot be written") }
        for _ in 0..<Self.attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            usleep(Self.pause)
        }
        // Some file systems have no locks; concurrent writers are rare enough there.
        if errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL { return descriptor }
        close(descriptor)
        throw Problem(
            description: "\(path) cannot be written: another relayctl has been writing for "
                + "\(Int(Self.pause) * Self.attempts / 1_000_000) s")
    }

    /// Others hold the lock for a small write; a process that is stopped holds it for ever.
    private static let attempts = 250
    /// Microseconds.
    private static let pause: UInt32 = 20_000

    /// The file itself where the path is a link to it, as for people who keep their configuration elsewhere.
    private var target: String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    private func makeFolders() throws(Problem) {
        let parts = path.split(separator: "/").dropLast()
        for count in 1...max(1, parts.count) {
            let folder = "/" + parts.prefix(count).joined(separator: "/")
            if mkdir(folder, 0o700) != 0, errno != EEXIST {
                throw Problem(
                    description: "\(folder) cannot be made: \(String(cString: strerror(errno)))")
            }
        }
    }

    private func problem(_ what: String) -> Problem {
        Problem(description: "\(path) \(what): \(String(cString: strerror(errno)))")
    }
}
