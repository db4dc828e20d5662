import ArgumentParser
import Glibc
import NIOCore

/// The data to stream: a file or standard input, read piece by piece.
struct StreamSource: Sendable {
    private let descriptor: Int32
    private let path: String
    private let loops: Bool
    /// Header of the sound in the file.
    private(set) var wave: WaveHeader?
    /// Bytes that have been read, but not handed over.
    private var begun: [UInt8]
    /// Bytes that remain to be handed over.
    private var left: Int

    static let pieceBytes = 32 << 10
    /// How often to check whether data is still wanted while none arrives, in milliseconds.
    private static let look: Int32 = 100

    /// - Parameters:
    ///   - path: "-" is standard input.
    ///   - readsWave: Whether the format of a WAV file is read, and only its sound is handed over.
    ///   - loops: Whether to begin again at the end.
    init(_ path: String, readsWave: Bool, loops: Bool) throws {
        self.path = path
        self.loops = loops
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        if loops, lseek(descriptor, 0, SEEK_CUR) < 0 {
            throw ValidationError("--loop needs a file that can be read again, not a pipe")
        }
        begun = []
        left = .max
        guard readsWave else { return }
        while begun.count < WaveHeader.maximumBytes, let piece = try more() {
            begun += piece
            guard WaveHeader.isWave(begun) || begun.count < 12 else { return }
        }
        guard WaveHeader.isWave(begun) else { return }
        do throws(WaveHeader.Problem) {
            let header = try WaveHeader(begun)
            begun.removeFirst(min(header.offset, begun.count))
            left = header.bytes ?? .max
            wave = header
        } catch {
            throw ValidationError("\(SafeText.clean(path)) cannot be streamed: \(error.message)")
        }
    }

    /// The next piece; nil at the end, and when the task is cancelled or `isOver` returns true.
    mutating func next(isOver: () -> Bool) throws -> ByteBuffer? {
        while true {
            var piece = begun
            begun = []
            if piece.isEmpty, left > 0, let more = try more(isOver) { piece = more }
            if !piece.isEmpty {
                piece = Array(piece.prefix(left))
                if left != .max { left -= piece.count }
                if !piece.isEmpty { return ByteBuffer(bytes: piece) }
            }
            guard loops, !Task.isCancelled, !isOver() else { return nil }
            guard lseek(descriptor, off_t(wave?.offset ?? 0), SEEK_SET) >= 0 else {
                throw Self.failure(path, errno)
            }
            left = wave?.bytes ?? .max
        }
    }

    private func more(_ isOver: () -> Bool = { false }) throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: Self.pieceBytes)
        while true {
            var reader = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&reader, 1, Self.look)
            if Task.isCancelled || isOver() { return nil }
            guard ready != 0 else { continue }
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { throw Self.failure(path, errno) }
            return count == 0 ? nil : Array(buffer[..<count])
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> ValidationError {
        ValidationError(
            "\(SafeText.clean(path)) cannot be read: \(String(cString: strerror(code)))")
    }
}
