import DecodedTraces
import NIOCore
import SDLTraffic
import Synchronization
import Traces

/// A recording that is being decoded, for readers of its messages: the position reached, and the latest
/// decoded messages. Its memory does not grow with the recording.
final class RecordingReading: Sendable {
    /// The latest decoded messages, numbered from 1.
    let ring = MessageRing(maximumBytes: RecordingReading.ringBytes)
    let file: OpenRecording
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var trace: TraceFile
        var decoding = TraceDecoding()
        var hasFinished = false
        var problem: String?

        init(_ trace: consuming TraceFile) { self.trace = trace }
    }

    /// More than a page of the largest messages.
    private static let ringBytes = 16 << 20
    /// How much is decoded before yielding: messages, bytes of frames, and frames that make no message.
    private static let batch = (messages: 64, bytes: 512 << 10, entries: 2000)

    /// - Throws: `TraceFileError`.
    init(_ file: OpenRecording) throws(TraceFileError) {
        self.file = file
        state = Mutex(State(try file.trace()))
    }

    /// Why it was not read any further.
    var problem: String? { state.withLock { $0.problem } }

    /// Whether a reader can continue from this cursor: everything after it is still here, or yet to
    /// come.
    func holds(after cursor: UInt64) -> Bool {
        guard ring.latest > cursor else { return true }
        return (ring.range?.lowerBound).map { $0 <= cursor &+ 1 } ?? false
    }

    /// Decodes a little more.
    ///
    /// - Parameter isGrowing: Whether more may still be appended.
    /// - Returns: Whether something was decoded; false at the end, and where the recording is
    ///   damaged.
    /// - Throws: `TraceFileError` if it contains nothing that could be shown.
    func advance(isGrowing: Bool) throws(TraceFileError) -> Bool {
        try state.withLock { state throws(TraceFileError) in
            guard !state.hasFinished else { return false }
            var decoded: [TrafficEntry] = []
            var (bytes, entries) = (0, 0)
            do throws(TraceFileError) {
                while decoded.count < Self.batch.messages, bytes < Self.batch.bytes,
                    entries < Self.batch.entries
                {
                    guard let entry = try state.trace.next() else {
                        if isGrowing {
                            state.trace.expectMore()
                        } else {
                            state.decoding.finish(into: &decoded)
                            state.hasFinished = true
                        }
                        ring.consume(decoded)
                        return !decoded.isEmpty
                    }
                    entries += 1
                    bytes += entry.frame?.frame.wire.readableBytes ?? 0
                    state.decoding.receive(entry, into: &decoded)
                }
            } catch {
                guard state.trace.header != nil else { throw error }
                state.decoding.finish(into: &decoded)
                state.hasFinished = true
                state.problem = error.description
            }
            ring.consume(decoded)
            return !state.hasFinished || !decoded.isEmpty
        }
    }
}
