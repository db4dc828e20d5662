import ControlAPI
import Glibc
import NIOCore
import SDLProtocol
import Traces

/// A recording that is open for reading; always a regular file in the folder of recordings.
final class OpenRecording: Sendable {
    let name: String
    /// Its size when it was opened.
    let bytes: Int
    /// Whether relayd is writing it.
    let isGrowing: Bool
    /// 16 hex digits that distinguish it from other recordings; constant as long as it exists.
    let instance: String
    private let descriptor: Int32

    fileprivate init(
        _ name: String, _ status: stat, descriptor: Int32, isGrowing: Bool
    ) {
        self.name = name
        self.descriptor = descriptor
        self.isGrowing = isGrowing
        bytes = Int(clamping: status.st_size)
        var hash = FNV()
        hash.add(UInt64(status.st_dev))
        hash.add(UInt64(status.st_ino))
        for byte in name.utf8 { hash.add(byte) }
        instance = hash.value.hexDigits
    }

    deinit { close(descriptor) }

    /// The recording as a trace, from its beginning; for one reader at a time.
    ///
    /// - Throws: `TraceFileError` if there are no descriptors left.
    func trace() throws(TraceFileError) -> TraceFile {
        lseek(descriptor, 0, SEEK_SET)
        return try TraceFile(copying: descriptor, as: name)
    }

    /// At most `limit` bytes from `offset` on; none at the end.
    ///
    /// - Throws: `RecordingFailure`.
    func read(at offset: Int, atMost limit: Int) throws(RecordingFailure) -> ByteBuffer {
        var buffer = ByteBuffer()
        var count = 0
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: limit) { bytes in
            repeat {
                count = pread(descriptor, bytes.baseAddress, limit, off_t(offset))
            } while count < 0 && errno == EINTR
            return max(0, count)
        }
        guard count >= 0 else { throw RecordingFailure("\(name) cannot be read", errno) }
        return buffer
    }

    /// The end of the last whole block that begins before `limit`, starting at `offset`, where a block
    /// begins. In a file that is being written, an incomplete block may follow.
    func blocks(from offset: Int, before limit: Int) -> Int {
        var end = offset
        while end < limit, end <= bytes - 12,
            let length = try? read(at: end + 4, atMost: 4).getInteger(
                at: 0, endianness: .host, as: UInt32.self),
            length >= 12, Int(length) <= bytes - end
        {
            end += Int(length)
        }
        return end
    }
}

/// FNV-1a, 64 bits: to tell recordings apart, not secure against an attacker.
private struct FNV {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }

    mutating func add(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            add(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

// MARK: - The folder

extension RecordingFolder {
    /// Maximum number of files examined for a list.
    private static let maximumLooks = 100_000

    /// Whether a file of this name may be requested: it must be in the folder itself and not
    /// hidden.
    static func isName(_ name: String) -> Bool {
        name.utf8.count <= 255 && name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count
            && !name.hasPrefix(".") && !name.contains("..") && !name.contains("\u{FFFD}")
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }

    /// Opens a recording to read it.
    ///
    /// - Parameters:
    ///   - name: Name of the file; `latest` for the newest.
    ///   - current: The file that is being written.
    /// - Throws: `APIError` if there is no such recording, or it cannot be read.
    func open(_ name: String, current: String?) throws(APIError) -> OpenRecording {
        var name = name
        if name == Self.latest, let newest = list(current: current).recordings.first {
            name = newest.name
        }
        let shown = PrintableText.string(name, limit: 100)
        guard Self.isName(name) else {
            throw APIError(
                .notFound,
                "there is no recording \"\(shown)\"; expected the name of one that "
                    + "GET \(Routes.recordings) lists, or \"\(Self.latest)\"")
        }
        let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw Self.unreadable(shown, errno) }
        defer { close(folder) }
        // Must not wait for a pipe that somebody has put there.
        let descriptor = openat(
            folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(shown, errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw APIError(.notFound, "\"\(shown)\" is not a regular file, and only those are read")
        }
        return OpenRecording(
            name, status, descriptor: descriptor, isGrowing: current == path + "/" + name)
    }

    /// Stands for the newest recording; no file has this name.
    static let latest = "latest"

    private static func unreadable(_ shown: String, _ code: Int32) -> APIError {
        switch code {
        case ENOENT, ENOTDIR:
            APIError(
                .notFound,
                "there is no recording \"\(shown)\"; GET \(Routes.recordings) lists those there are"
            )
        case ELOOP:
            APIError(.notFound, "\"\(shown)\" is a link; only regular files are read")
        default:
            APIError(
                .internal, "\"\(shown)\" cannot be read: \(String(cString: strerror(code)))")
        }
    }

    /// The existing recordings, the newest first. A folder that does not exist yet has none.
    ///
    /// - Parameter current: The file that is being written.
    func list(current: String?) -> RecordingList {
        var list = RecordingList(directory: path)
        guard let folder = opendir(path) else { return list }
        defer { closedir(folder) }
        var looks = 0
        while looks < Self.maximumLooks, let entry = readdir(folder) {
            looks += 1
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            guard Self.isName(name),
                fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            let modified = Int64(status.st_mtim.tv_sec) &* 1000
            list.recordings.append(
                .init(
                    name: name, bytes: Int(clamping: status.st_size),
                    startedAt: Self.start(of: name),
                    modifiedAt: Timestamp(
                        millisecondsSince1970: modified
                            &+ Int64(status.st_mtim.tv_nsec) / 1_000_000),
                    isRecording: current == path + "/" + name))
        }
        list.recordings.sort { ($1.modifiedAt, $1.name) < ($0.modifiedAt, $0.name) }
        list.more = max(0, list.recordings.count - RecordingList.maximum)
        list.recordings.removeLast(list.more)
        return list
    }

    /// The time in a name created by relayd: see `name(started:label:)`.
    static func start(of name: String) -> Timestamp? {
        guard name.hasPrefix("relayd-") else { return nil }
        let parts = name.dropFirst(7).prefix(18).split(separator: "-")
        guard parts.count == 2, parts[0].utf8.count == 8, parts[1].utf8.count == 9 else {
            return nil
        }
        let (day, time) = (Array(parts[0]), Array(parts[1]))
        return Timestamp(
            "\(String(day[..<4]))-\(String(day[4..<6]))-\(String(day[6...]))T\(String(time[..<2])):"
                + "\(String(time[2..<4])):\(String(time[4..<6])).\(String(time[6...]))Z")
    }
}
