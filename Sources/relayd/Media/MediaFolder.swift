import ControlAPI
import Glibc
import Media
import NIOCore

/// The folder for media taken from passing traffic. It never exceeds its limits, and existing files are
/// never overwritten or removed, because somebody may still need them. Its calls block.
struct MediaFolder {
    let path: String
    private let maximumBytes: Int
    private let maximumFiles: Int
    /// Total of all files in the folder, whoever wrote them, as far as known.
    private(set) var bytes = 0
    private(set) var files = 0

    /// Number of names tried for one file. A name begins with its time, so few are taken.
    private static let maximumNumber = 100

    init(_ path: String, bytes: Int, files: Int) {
        self.path = path
        maximumBytes = bytes
        maximumFiles = files
    }

    /// Counts the existing files, so that removing files makes room.
    mutating func survey() {
        (bytes, files) = (0, 0)
        guard let directory = opendir(path) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory), files <= maximumFiles {
            let isHidden = entry.pointee.d_name.0 == CChar(bitPattern: UInt8(ascii: "."))
            var status = stat()
            let found = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 1) {
                    fstatat(dirfd(directory), $0, &status, AT_SYMLINK_NOFOLLOW)
                }
            }
            guard !isHidden, found == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            files += 1
            bytes = bytes.addingReportingOverflow(Int(status.st_size)).partialValue
        }
    }

    /// Opens a new file, accessible only to relayd's user.
    ///
    /// - Parameters:
    ///   - name: A safe file name.
    ///   - time: RFC 3339 in UTC, for the beginning of the name.
    /// - Throws: `MediaFailure`, also if the folder is full.
    mutating func create(_ name: String, at time: String) throws(MediaFailure) -> MediaFile {
        if bytes >= maximumBytes || files >= maximumFiles { survey() }
        try check(bytes < maximumBytes, files < maximumFiles)
        do throws(RecordingFailure) {
            try RecordingFolder(path).make()
        } catch {
            throw MediaFailure("\(error)")
        }
        let digits = time.filter { $0.isASCII && $0.isNumber }
        let stamped = "\(digits.prefix(8))-\(digits.dropFirst(8).prefix(9))-\(name)"
        for number in 1...Self.maximumNumber {
            let name = number == 1 ? stamped : MediaName.numbered(stamped, number)
            let file = "\(path)/\(name)"
            let descriptor = Glibc.open(
                file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                files += 1
                return MediaFile(path: file, descriptor: descriptor)
            }
            guard errno == EEXIST else { throw MediaFailure("\(file) cannot be made", errno) }
        }
        throw MediaFailure("\(path) has no free name like \(stamped)")
    }

    /// Writes to a file of the folder.
    ///
    /// - Throws: `MediaFailure` if nothing more fits, or the file cannot be written.
    mutating func write(
        _ data: ByteBuffer, at place: Int, to file: MediaFile
    ) throws(MediaFailure) {
        let growth = max(0, place + data.readableBytes - file.bytes)
        if bytes + growth > maximumBytes {
            survey()
            try check(bytes + growth <= maximumBytes, true)
        }
        try file.write(data, at: place)
        bytes += growth
    }

    /// Removes a file from the folder.
    mutating func remove(_ file: MediaFile) {
        guard unlink(file.path) == 0 else { return }
        files -= 1
        bytes -= file.bytes
    }

    private func check(_ hasRoom: Bool, _ hasPlaces: Bool) throws(MediaFailure) {
        guard hasRoom else {
            throw MediaFailure(
                "\(path) is full, \(Quantity.text(bytes: maximumBytes)) (media.limit): remove files there, "
                    + "or allow more")
        }
        guard hasPlaces else {
            throw MediaFailure(
                "\(path) is full, \(maximumFiles) files (media.files): remove files there, or allow more"
            )
        }
    }
}

/// A file that is being written. Closed when it is released.
final class MediaFile {
    let path: String
    private let descriptor: Int32
    /// Size of the file.
    private(set) var bytes = 0

    fileprivate init(path: String, descriptor: Int32) {
        (self.path, self.descriptor) = (path, descriptor)
    }

    deinit { close(descriptor) }

    /// Its name without the folder.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    var isRemoved: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink == 0
    }

    fileprivate func write(_ data: ByteBuffer, at place: Int) throws(MediaFailure) {
        var failure: Int32 = 0
        data.withUnsafeReadableBytes { all in
            var written = 0
            while written < all.count {
                let rest = UnsafeRawBufferPointer(rebasing: all[written...])
                let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(place + written))
                if count > 0 {
                    written += count
                } else if count == 0 || errno != EINTR {
                    failure = count == 0 ? ENOSPC : errno
                    return
                }
            }
        }
        guard failure == 0 else { throw MediaFailure("\(path) cannot be written", failure) }
        bytes = max(bytes, place + data.readableBytes)
    }
}

/// Why something is not written, in words, and what to do.
struct MediaFailure: Error, CustomStringConvertible {
    let description: String

    init(_ words: String) { description = words }

    init(_ words: String, _ code: Int32) {
        let remedy: String? =
            switch code {
            case ENOSPC, EDQUOT: "make room there, or name a directory of another disk"
            case EFBIG: "relayd may not write so large a file (ulimit -f, LimitFSIZE= of its unit)"
            case EACCES, EPERM, EROFS:
                "media.directory must name a directory that relayd's user may write to"
            default: nil
            }
        let advice = remedy.map { "; \($0)" } ?? ""
        description = "\(words): \(String(cString: strerror(code)))\(advice)"
    }
}
