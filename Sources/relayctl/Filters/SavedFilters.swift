import Glibc

/// Filters that somebody keeps under a name: `$XDG_CONFIG_HOME/relayd/filters`, a line `name = filter`
/// for each. Read by `tail` and `log`, changed by `filter`.
struct SavedFilters: Sendable {
    struct Filter: Sendable, Equatable {
        var name: String
        var text: String
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let path: String

    private static let maximumBytes = 1 << 20

    /// - Throws: `Problem` where neither `$XDG_CONFIG_HOME` nor `$HOME` says where.
    init(environment: (String) -> String? = SavedFilters.variable) throws(Problem) {
        // Relative paths are to be ignored (XDG Base Directory Specification).
        if let folder = environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
            path = folder + "/relayd/filters"
        } else if let home = environment("HOME"), home.hasPrefix("/") {
            path = home + "/.config/relayd/filters"
        } else {
            throw Problem(
                description: "neither XDG_CONFIG_HOME nor HOME says where filters are kept")
        }
    }

    init(path: String) {
        self.path = path
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Letters and digits of ASCII, "_" and "-", at most 40.
    static func isName(_ name: String) -> Bool {
        (1...40).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
    }

    // MARK: Reading

    /// In the order of the file; none when there is no file.
    func all() throws(Problem) -> [Filter] {
        try lines().compactMap(Self.filter)
    }

    /// The last one of that name.
    func text(of name: String) throws(Problem) -> String? {
        try all().last { $0.name == name }?.text
    }

    private func lines() throws(Problem) -> [String] {
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
        // Editors of other systems begin with a byte order mark, and end lines with "\r\n", which is
        // one `Character`.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        return bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Does not wait for the other end of a pipe that somebody put there.
    private func open() -> Int32? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        return descriptor < 0 ? nil : descriptor
    }

    /// Nil for a comment, and for what is none.
    private static func filter(_ line: String) -> Filter? {
        guard let sign = line.firstIndex(of: "=") else { return nil }
        let name = line[..<sign].trimmed
        guard isName(name) else { return nil }
        return Filter(name: name, text: line[line.index(after: sign)...].trimmed)
    }

    // MARK: Changing

    /// - Returns: The filter that had the name before.
    @discardableResult
    func save(_ filter: Filter) throws(Problem) -> String? {
        let before = try text(of: filter.name)
        let line = "\(filter.name) = \(filter.text)"
        try change { lines in
            if let place = lines.lastIndex(where: { Self.filter($0)?.name == filter.name }) {
                lines[place] = line
            } else {
                lines.append(line)
            }
        }
        return before
    }

    /// - Returns: The filter that had the name; nil when there was none.
    func remove(_ name: String) throws(Problem) -> String? {
        guard let before = try text(of: name) else { return nil }
        try change { lines in lines.removeAll { Self.filter($0)?.name == name } }
        return before
    }

    /// Comments stay. The new file takes the place of the old one in one step.
    private func change(_ body: (inout [String]) -> Void) throws(Problem) {
        var lines = try lines()
        if lines.last == "" { lines.removeLast() }
        if lines.isEmpty {
            lines = ["# Filters of relayctl: name = filter. 'relayctl tail @name' uses one."]
        }
        body(&lines)
        try makeFolders()
        let target = target
        var name = Array("\(target).XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw problem("cannot be written") }
        defer { close(descriptor) }
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        let isWritten = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard isWritten == bytes.count, fsync(descriptor) == 0, rename(name, target) == 0 else {
            let problem = problem("cannot be written")
            unlink(name)
            throw problem
        }
    }

    /// The file itself where the path is a link to it, as people have it who keep their configuration
    /// elsewhere.
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

extension Substring {
    fileprivate var trimmed: String {
        let start = drop { $0.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...end])
    }
}
