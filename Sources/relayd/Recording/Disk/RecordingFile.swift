import CShims
import Glibc
import Traces

/// A file that grows by whole blocks. Where it cannot grow, it ends behind the last piece that fitted.
/// While it is open, it may have reserved room behind its end; a relayd that is killed leaves it there.
struct RecordingFile: ~Copyable {
    let path: String
    private let descriptor: Int32
    /// Bytes of whole blocks.
    private(set) var bytes: Int = 0
    private var room: RoomAhead

    /// What is given to the kernel at once. More makes no disk faster, and with less a slow one shows that it
    /// goes on.
    private static let pieceBytes = 256 << 10

    /// - Parameter limit: About how large it may become.
    init(path: String, descriptor: Int32, limit: Int = .max) {
        _ = Self.tooLargeIsAnError
        self.path = path
        self.descriptor = descriptor
        room = RoomAhead(limit: limit)
    }

    /// Takes the file over, and closes it in the end.
    init(_ file: RecordingFolder.NewFile, limit: Int = .max) {
        self.init(path: file.path, descriptor: file.descriptor, limit: limit)
        bytes = file.bytes
    }

    deinit {
        if room.end > bytes { ftruncate(descriptor, off_t(bytes)) }
        close(descriptor)
    }

    /// A file that may not become so large (RLIMIT_FSIZE) ends its recording; the signal would end relayd.
    private static let tooLargeIsAnError: Void = { _ = signal(SIGXFSZ, SIG_IGN) }()

    /// Whether nobody will find it any more: it, or a folder it was in, has been removed.
    var isRemoved: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink == 0
    }

    /// Whether it is a file, and what its path leads to.
    private var isAtItsPath: Bool {
        var (own, found) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &found) == 0
            && own.st_mode & S_IFMT == S_IFREG
            && (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)
    }

    /// Appends whole blocks.
    ///
    /// - Parameter watch: Is told of each write, which may take as long as it likes.
    /// - Throws: `RecordingFailure` when they do not fit; then the file ends behind the last one that did, and
    ///   is gone if nothing was in it.
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
                // No file takes nothing without an error; if one does, it would for ever.
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
            // Without its whole beginning it would be no trace.
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
