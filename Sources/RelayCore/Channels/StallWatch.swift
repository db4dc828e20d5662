import NIOCore
import SDLProtocol

/// Watches the position of a stream with one timer, which runs only while the stream should advance. Arriving
/// bytes do not move the timer, so they cost nothing; a stall is found after up to twice the timeout.
///
/// Time in which the receiver itself does not read must not count, so the receiver calls `cancel` when it
/// stops reading and `check` when it reads again. Lives on the event loop, as its receiver does.
final class StallWatch<Receiver: AnyObject> {
    private let timeout: TimeAmount
    private let position: (Receiver) -> StreamPosition?
    private let stalled: (Receiver, StreamPosition) -> Void
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - position: Where the stream stands; nil while nothing is expected of it.
    ///   - stalled: Called when nothing has moved for the whole timeout.
    init(
        timeout: TimeAmount, position: @escaping (Receiver) -> StreamPosition?,
        stalled: @escaping (Receiver, StreamPosition) -> Void
    ) {
        self.timeout = timeout
        self.position = position
        self.stalled = stalled
    }

    /// To be called after each read. The timer keeps the receiver alive until `cancel`.
    func check(_ receiver: Receiver, on loop: any EventLoop) {
        guard timer == nil, let seen = position(receiver) else { return }
        timer = loop.assumeIsolated().scheduleTask(in: timeout) {
            self.timer = nil
            guard self.position(receiver) == seen else {
                return self.check(receiver, on: loop)
            }
            self.stalled(receiver, seen)
        }
    }

    /// To be called when the receiver stops reading, for a while or for good.
    func cancel() {
        timer?.cancel()
        timer = nil
    }
}

/// How far a stream has got.
struct StreamPosition: Equatable {
    /// Offset of the first byte that no frame has been made of, counted from 0.
    var offset: UInt64
    /// Bytes that have arrived from there on.
    var bytes: Int
}

extension FrameDecoder {
    /// Where the stream stands inside a frame; nil between frames, and while frames are searched for.
    var unfinished: StreamPosition? {
        isInsideFrame ? StreamPosition(offset: offset, bytes: partialBytes) : nil
    }

    /// Where the stream stands when silence would end the search for frames; nil otherwise.
    var unsettled: StreamPosition? {
        isWorthSettling ? StreamPosition(offset: offset, bytes: undecidedBytes) : nil
    }
}
