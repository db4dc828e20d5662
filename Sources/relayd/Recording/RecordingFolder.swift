import Glibc
import Traces

/// The folder of the recordings, and their names. Existing files are never overwritten.
package struct RecordingFolder: Sendable {
    /// An absolute path.
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// The folder for recordings if the configuration says `auto`: inside the state directory.
    ///
    /// - Parameter state: The state directory; nil if there is none.
    package static func own(in state: String?) -> RecordingFolder? {
        state.map { RecordingFolder($0 + "/traces") }
    }

    /// Creates the folder and its parents, accessible only to relayd's user.
    ///
    /// - Throws: `RecordingFailure`.
    package func make() throws(RecordingFailure) {
        var made = ""
        for name in path.split(separator: "/") {
            made += "/" + name
            guard mkdir(made, 0o700) != 0, errno != EEXIST, errno != EISDIR else { continue }
            // Parent folders may exist without being writable.
            let code = errno
            var status = stat()
            guard stat(made, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw RecordingFailure("\(made) cannot be made", code)
            }
        }
    }

    /// Opens a new file.
    ///
    /// - Parameter name: Name of the file, without folder.
    /// - Throws: `RecordingFailure`, also if the file exists.
    func create(_ name: String) throws(RecordingFailure) -> NewFile {
        let file = path + "/" + name
        let descriptor = Glibc.open(
            file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw RecordingFailure("\(file) cannot be made", errno) }
        return NewFile(path: file, descriptor: descriptor)
    }

    /// An open file. It can be passed to another task, which a `RecordingFile` cannot.
    struct NewFile: Sendable {
        var path: String
        var descriptor: Int32
        /// Bytes of whole blocks in it.
        var bytes = 0

        /// - Throws: `RecordingFailure`; then the file does not exist.
        mutating func begin(with blocks: TraceBlocks) throws(RecordingFailure) {
            do throws(RecordingFailure) {
                // `RecordingFile` closes its descriptor, and this one is still needed.
                let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                guard own >= 0 else {
                    let failure = RecordingFailure("\(path) cannot be written", errno)
                    unlink(path)
                    throw failure
                }
                var file = RecordingFile(path: path, descriptor: own)
                try file.append(blocks)
                bytes = file.bytes
            } catch {
                close(descriptor)
                throw error
            }
        }
    }

    /// The name of a recording that begins now: its time and its label. Sorted by name, recordings are
    /// in the order of their time.
    ///
    /// - Parameters:
    ///   - started: RFC 3339 in UTC.
    ///   - label: Chosen by the user.
    static func name(started: String, label: String?) -> String {
        let digits = started.filter { $0.isASCII && $0.isNumber }
        let time = "\(digits.prefix(8))-\(digits.dropFirst(8).prefix(9))"
        let label = label.map(sanitised) ?? ""
        return "relayd-\(time)" + (label.isEmpty ? "" : "-\(label)")
    }

    /// A name not yet used here: another relayd may write into the same folder, and a clock may step
    /// back.
    func freeName(started: String, label: String?) -> String {
        freeName(Self.name(started: started, label: label))
    }

    /// The name itself, or with a number appended.
    func freeName(_ name: String) -> String {
        var status = stat()
        for number in 1...Self.maximumNumber {
            let numbered = number == 1 ? name : "\(name)-\(number)"
            if lstat("\(path)/\(numbered)\(Self.suffix)", &status) != 0 { return numbered }
        }
        return name
    }

    /// Number of names tried for one millisecond.
    private static let maximumNumber = 100

    /// The letters, digits, "-", "_" and "." of the label; anything between them becomes one "-", and
    /// consecutive dots one dot: a name with two dots in a row is not accepted (`isName`).
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
    /// Whether the recorded data is lost.
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
