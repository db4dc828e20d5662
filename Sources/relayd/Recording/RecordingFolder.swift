import Glibc
import Traces

/// Where recordings are, and what they are called. Nothing that is there is ever written over.
package struct RecordingFolder: Sendable {
    /// An absolute path.
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// The folder for recordings where the configuration says `auto`: beside what else outlives relayd.
    ///
    /// - Parameter state: The directory for that; nil where there is none.
    package static func own(in state: String?) -> RecordingFolder? {
        state.map { RecordingFolder($0 + "/traces") }
    }

    /// Makes the folder, and those above it, for relayd's user alone.
    ///
    /// - Throws: `RecordingFailure`.
    package func make() throws(RecordingFailure) {
        var made = ""
        for name in path.split(separator: "/") {
            made += "/" + name
            guard mkdir(made, 0o700) != 0, errno != EEXIST, errno != EISDIR else { continue }
            // Above it may be folders that nobody may write to, and that are there.
            let code = errno
            var status = stat()
            guard stat(made, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw RecordingFailure("\(made) cannot be made", code)
            }
        }
    }

    /// Opens a new file.
    ///
    /// - Parameter name: Of the file, without folder.
    /// - Throws: `RecordingFailure`, also when the file is there.
    func create(_ name: String) throws(RecordingFailure) -> NewFile {
        let file = path + "/" + name
        let descriptor = Glibc.open(
            file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw RecordingFailure("\(file) cannot be made", errno) }
        return NewFile(path: file, descriptor: descriptor)
    }

    /// A file that is open. It may go to another task, which `RecordingFile` may not.
    struct NewFile: Sendable {
        var path: String
        var descriptor: Int32
        /// Whole blocks that are in it.
        var bytes = 0

        /// - Throws: `RecordingFailure`; then there is no such file.
        mutating func begin(with blocks: TraceBlocks) throws(RecordingFailure) {
            do throws(RecordingFailure) {
                // It closes its descriptor, and this one is still needed.
                let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                guard own >= 0 else { throw RecordingFailure("\(path) cannot be written", errno) }
                var file = RecordingFile(path: path, descriptor: own)
                try file.append(blocks)
                bytes = file.bytes
            } catch {
                close(descriptor)
                throw error
            }
        }
    }

    /// What a recording is called that begins now: by its time and by what somebody called it. Sorted by
    /// name, recordings are in the order of their time.
    ///
    /// - Parameters:
    ///   - started: RFC 3339 in UTC.
    ///   - label: What somebody called it.
    static func name(started: String, label: String?) -> String {
        let digits = started.filter { $0.isASCII && $0.isNumber }
        let time = "\(digits.prefix(8))-\(digits.dropFirst(8).prefix(9))"
        let label = label.map(sanitised) ?? ""
        return "relayd-\(time)" + (label.isEmpty ? "" : "-\(label)")
    }

    /// A name that no file here has: another relayd may write into the same folder, and a clock may step
    /// back.
    func freeName(started: String, label: String?) -> String {
        freeName(Self.name(started: started, label: label))
    }

    /// The name itself, or with a number behind it.
    func freeName(_ name: String) -> String {
        var status = stat()
        for number in 1...Self.maximumNumber {
            let numbered = number == 1 ? name : "\(name)-\(number)"
            if lstat("\(path)/\(numbered)\(Self.suffix)", &status) != 0 { return numbered }
        }
        return name
    }

    /// Names that are tried: of one millisecond.
    private static let maximumNumber = 100

    /// Letters, digits, "-", "_" and "." of what somebody wrote; what is between them becomes one "-", and
    /// dots in a row one dot: a file with two of them is taken for none of ours (`isName`).
    static func sanitised(_ label: String) -> String {
        var name = ""
        for scalar in label.unicodeScalars.prefix(maximumLabelScalars) {
            let isKept =
                scalar.isASCII
                && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "_.".unicodeScalars.contains(scalar))
            if isKept {
                if scalar == ".", name.hasSuffix(".") { continue }
                name.unicodeScalars.append(scalar)
            } else if !name.isEmpty, !name.hasSuffix("-") {
                name += "-"
            }
        }
        while name.hasSuffix("-") || name.hasSuffix(".") { name.removeLast() }
        return String(name.drop { $0 == "." || $0 == "-" })
    }

    package static let maximumLabelScalars = 80
    package static let suffix = ".pcapng"
}

/// Why nothing can be recorded, in words, and what to do.
package struct RecordingFailure: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// What was recorded is no more.
    private(set) var isLoss = false

    init(_ words: String, _ code: Int32) {
        let remedy = Self.remedy(code).map { "; \($0)" } ?? ""
        description = "\(words): \(String(cString: strerror(code)))\(remedy)"
    }

    init(_ words: String) {
        description = words
    }

    /// The file has been removed while it was being written.
    static func removed(_ path: String) -> RecordingFailure {
        var failure = RecordingFailure(
            "\(path) was removed while it was being written, and what it held is lost; "
                + "'relayctl record start' begins another recording")
        failure.isLoss = true
        return failure
    }

    private static func remedy(_ code: Int32) -> String? {
        switch code {
        case ENOSPC, EDQUOT:
            "make room there, or name a directory of another disk under record.directory; "
                + "record.file_size and record.files bound what a recording takes"
        case EFBIG:
            "set record.file_size below the largest file that relayd may write (ulimit -f, "
                + "LimitFSIZE= of its unit)"
        case EACCES, EPERM, EROFS:
            "record.directory must name a directory that relayd's user may write to"
        default: nil
        }
    }
}
