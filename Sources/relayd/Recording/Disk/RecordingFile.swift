import CShims
import Glibc
import Traces

/// A file that grows by whole blocks. If it cannot grow, it ends after the last block that fitted.
/// While open, it may have space reserved after its end; a relayd that is killed leaves the space
/// reserved.
struct RecordingFile: ~Copyable {
    let path: String
    private let descriptor: Int32
    /// Bytes of whole blocks.
    private(set) var bytes: Int = 0
    private var room: RoomAhead

    /// Bytes given to the kernel at once. More makes no disk faster, and small pieces show that a slow disk
    /// makes progress.
    private static let pieceBytes = 256 << 10

    /// - Parameter limit: About how large the file may become.
    init(path: String, descriptor: Int32, limit: Int = .max) {
        _ = Self.tooLargeIsAnError
        self.path = path
        self.descriptor = descriptor
        room = RoomAhead(limit: limit)
    }

    /// Takes ownership of the file, and closes it at the end.
    init(_ file: RecordingFolder.NewFile, limit: Int = .max) {
        self.init(path: file.path, descriptor: file.descriptor, limit: limit)
        bytes = file.bytes
    }

    deinit {
        if room.end > bytes { ftruncate(descriptor, off_t(bytes)) }
        close(descriptor)
    }

    /// A file that exceeds its size limit (RLIMIT_FSIZE) should only end its recording; the signal would
    /// end relayd.
    private static let tooLargeIsAnError: Void = { _ = signal(SIGXFSZ, SIG_IGN) }()

    /// Whether the file can no longer be found: it, or a folder that contained it, has been
    /// removed.
    var isRemoved: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink == 0
    }

    /// Whether it is a regular file, and its path still leads to it.
    private var isAtItsPath: Bool {
        var (own, found) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &found) == 0
            && own.st_mode & S_IFMT == S_IFREG
            && (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)
    }

    /// Appends whole blocks.
    ///
    /// - Parameter watch: Is told of each write, which may take any time.
    /// - Throws: `RecordingFailure` if they do not fit; then the file ends after the last one that did, and is
    ///   removed if it was empty.
    mutating func append(
        _ blocks: TraceBlocks, watchedBy watch: DiskWatch? = nil
    ) throws(RecordingFailure) {
        var written = 0
        let code = blocks.withUnsafePieces { pieces -> Int32 in
            var rest = GatheredBytes(pieces)
            while written < blocks.count {
                let piece = rest.first(Self.pieceBytes)
                watch?.writeBegins()
                makeRoom(for: bytes + written..<bytes + written + piece.bytes)
                let count = writev(descriptor, piece.vector, Int32(piece.vector.count))
                // No file accepts 0 bytes without an error; if one does, it would do so forever.
                let error = count == 0 ? EIO : errno
                watch?.writeEnds()
                if count > 0 {
                    written += count
                    rest.removeFirst(count)
                } else if error != EINTR {
                    return error
                }
            }
            return 0
        }
        guard code == 0 else {
            // Without its complete beginning it would not be a trace.
            if bytes == 0, isAtItsPath { unlink(path) }
            if bytes > 0 { bytes += blocks.bytesOfWholeBlocks(within: written) }
            ftruncate(descriptor, off_t(bytes))
            lseek(descriptor, off_t(bytes), SEEK_SET)
            throw RecordingFailure("\(path) cannot be written", code)
        }
        bytes += written
    }

    private mutating func makeRoom(for piece: Range<Int>) {
        guard let step = room.step(before: piece) else { return }
        var code: Int32 = 0
        repeat {
            code = relay_file_reserve(descriptor, Int64(step.lowerBound), Int64(step.count))
        } while code == EINTR
        room.asked(for: step, isRefused: code != 0)
    }
}
