import Glibc
import OpenXCProtocol
import Synchronization

/// A trace file that is read piece by piece, gzip or not. Its calls block, so they belong on a thread that
/// may.
package final class OpenXCTraceFile: Sendable {
    /// The result of one read.
    package struct Batch: Sendable {
        package var lines: [TraceLineReader.Line] = []
        package var isLast = false
        /// Why the trace ends where it does, unless its file simply ends; for people.
        package var problem: String?
    }

    /// Why a file cannot be opened, as the system's error number.
    package struct OpenError: Error, Hashable, Sendable {
        package var code: Int32
    }

    private struct State: ~Copyable {
        var source: Source
        var lines = TraceLineReader()
        var hasEnded = false
        /// Bytes since the last line that was a message.
        var barrenBytes = 0
    }

    package let path: String
    private let state: Mutex<State>

    /// Limits of one batch: a few milliseconds.
    static let batchLines = 512
    static let batchBytes = 1 << 20
    /// A trace ends after so many bytes, unpacked, without a message: the rest is not a trace.
    package static let maximumBarrenBytes = 64 << 20

    package init(_ path: String) throws(OpenError) {
        self.path = path
        state = Mutex(State(source: try Source(path)))
    }

    package func next() -> Batch {
        state.withLock { state in
            var batch = Batch()
            var bytes = 0
            while !state.hasEnded, batch.lines.count < Self.batchLines, bytes < Self.batchBytes {
                if let line = state.lines.next() {
                    batch.lines.append(line)
                    if case .message = line { state.barrenBytes = 0 }
                    continue
                }
                do throws(Source.Failure) {
                    let piece = try state.source.next()
                    bytes += piece.cost
                    state.barrenBytes += piece.cost
                    state.lines.append(piece.bytes)
                    if piece.isLast {
                        state.hasEnded = true
                        if let line = state.lines.finish() { batch.lines.append(line) }
                    } else if state.barrenBytes > Self.maximumBarrenBytes {
                        state.hasEnded = true
                        batch.problem =
                            "\(Self.maximumBarrenBytes >> 20) MiB without a message: "
                            + "no trace from there on"
                    }
                } catch {
                    state.hasEnded = true
                    batch.problem = error.words
                }
            }
            batch.isLast = state.hasEnded
            return batch
        }
    }

    /// Bytes examined to tell what a file is.
    private static let sampleBytes = 64 << 10

    /// Whether a file is an OpenXC trace: one of its first lines is a message. False for what cannot be
    /// read, and for pcapng.
    package static func isTrace(_ path: String) -> Bool {
        guard var source = try? Source(path) else { return false }
        var reader = TraceLineReader()
        var total = 0
        var hasBegun = false
        while total < sampleBytes {
            // The readable part of a damaged file is replayed, so it counts here, too.
            guard let piece = try? source.next() else { return false }
            if !hasBegun, piece.bytes.starts(with: pcapng) { return false }
            hasBegun = hasBegun || !piece.bytes.isEmpty
            total += piece.cost
            reader.append(piece.bytes)
            while let line = reader.next() { if isSign(line) { return true } }
            if piece.isLast { return reader.finish().map(isSign) ?? false }
        }
        return false
    }

    /// The type of the first block in a pcapng file.
    private static let pcapng: [UInt8] = [0x0A, 0x0D, 0x0D, 0x0A]

    private static func isSign(_ line: TraceLineReader.Line) -> Bool {
        switch line {
        case .header: true
        case .message(let message, _, _):
            if case .unknown = message.content { false } else { true }
        case .bad: false
        }
    }
}

/// The bytes of a file, unpacked if necessary.
private struct Source: ~Copyable {
    struct Failure: Error {
        var words: String
    }

    /// The result of one read.
    struct Piece {
        var bytes: [UInt8] = []
        /// Bytes read or bytes unpacked, whichever are more: a compressed file may have very many bytes that
        /// unpack to nothing.
        var cost = 0
        /// Whether the file has ended.
        var isLast = false

        init(_ bytes: [UInt8] = [], cost: Int = 0) {
            self.bytes = bytes
            self.cost = max(cost, bytes.count)
        }
    }

    private let descriptor: CInt
    private var inflater: Inflater?
    private var isAtStart = true

    static let pieceBytes = 64 << 10
    private static let gzip: [UInt8] = [0x1F, 0x8B]

    init(_ path: String) throws(OpenXCTraceFile.OpenError) {
        // Without blocking on a pipe in place of the file.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw OpenXCTraceFile.OpenError(code: errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw OpenXCTraceFile.OpenError(code: EINVAL)
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads the file at most once; the piece may be empty although more follows.
    mutating func next() throws(Failure) -> Piece {
        if isAtStart {
            isAtStart = false
            let piece = try read()
            guard piece.starts(with: Self.gzip) else { return plain(piece) }
            do throws(Inflater.Problem) {
                inflater = try Inflater()
            } catch {
                throw Failure(error)
            }
            inflater?.append(piece)
            return Piece(cost: piece.count)
        }
        guard inflater != nil else { return plain(try read()) }
        var cost = 0
        if inflater?.wantsInput == true {
            let piece = try read()
            guard !piece.isEmpty else { return try end() }
            inflater?.append(piece)
            cost = piece.count
        }
        do throws(Inflater.Problem) {
            // Skips all empty members that were read at once.
            while inflater?.wantsInput == false {
                let piece = try inflater?.inflate(atMost: Self.pieceBytes) ?? []
                if !piece.isEmpty { return Piece(piece, cost: cost) }
            }
        } catch {
            throw Failure(error)
        }
        return Piece(cost: cost)
    }

    private func plain(_ bytes: [UInt8]) -> Piece {
        var piece = Piece(bytes)
        piece.isLast = bytes.isEmpty
        return piece
    }

    private func end() throws(Failure) -> Piece {
        do throws(Inflater.Problem) {
            try inflater?.finish()
        } catch {
            throw Failure(error)
        }
        return plain([])
    }

    private func read() throws(Failure) -> [UInt8] {
        var code: Int32 = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { room, count in
            while true {
                let got = Glibc.read(descriptor, room.baseAddress, room.count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { code = errno }
                count = max(0, got)
                return
            }
        }
        guard code == 0 else {
            throw Failure(words: "it cannot be read: \(String(cString: strerror(code)))")
        }
        return piece
    }
}

extension Source.Failure {
    fileprivate init(_ problem: Inflater.Problem) {
        words =
            switch problem {
            case .damaged: "the compressed file is damaged"
            case .truncated: "the compressed file is cut short"
            case .noMemory: "there is not enough memory to decompress it"
            }
    }
}
