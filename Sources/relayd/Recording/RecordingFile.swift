import Glibc
import NIOCore

/// A file that grows by whole blocks. Where it cannot grow, it ends behind the last block that fitted.
struct RecordingFile: ~Copyable {
    let path: String
    private let descriptor: Int32
    /// Bytes of whole blocks.
    private(set) var bytes: Int = 0

    init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Takes the file over, and closes it in the end.
    init(_ file: RecordingFolder.NewFile) {
        self.init(path: file.path, descriptor: file.descriptor)
    }

    deinit { close(descriptor) }

    /// Appends whole blocks.
    ///
    /// - Throws: `RecordingFailure` when they do not fit; then the file is as before.
    mutating func append(_ blocks: ByteBuffer) throws(RecordingFailure) {
        var code: Int32 = 0
        var written = 0
        blocks.withUnsafeReadableBytes { all in
            while written < all.count, let start = all.baseAddress {
                let count = write(descriptor, start + written, all.count - written)
                if count > 0 {
                    written += count
                } else if count < 0, errno != EINTR {
                    code = errno
                    return
                }
            }
        }
        guard code == 0 else {
            ftruncate(descriptor, off_t(bytes))
            lseek(descriptor, off_t(bytes), SEEK_SET)
            throw RecordingFailure("\(path) cannot be written", code)
        }
        bytes += written
    }
}
