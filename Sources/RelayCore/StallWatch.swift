// Notices a peer that stops in the middle of a frame; used by both ends of the hub.

import NIOCore
import SDLProtocol

/// Who reads frames from a peer.
protocol FrameReceiver: AnyObject {
    /// Where the stream stands inside a frame that should go on; nil between frames.
    var unfinishedFrame: StallWatch.Position? { get }
    /// Nothing has moved for the whole timeout.
    func stalled(_ position: StallWatch.Position)
}

/// Watches a decoder's unfinished frame with one timer, which runs only while there is one.
///
/// Lives on the event loop, as its owner does.
final class StallWatch {
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    init(timeout: TimeAmount) {
        self.timeout = timeout
    }

    /// How far a stream has come.
    struct Position: Equatable {
        /// Stream position of the unfinished frame, counted from 0.
        var offset: UInt64
        /// Bytes of it that have arrived.
        var bytes: Int
    }

    /// To be called after each read. The timer keeps the receiver alive until `cancel`.
    func check(_ receiver: some FrameReceiver, on loop: any EventLoop) {
        guard timer == nil, let seen = receiver.unfinishedFrame else { return }
        timer = loop.assumeIsolated().scheduleTask(in: timeout) {
            self.timer = nil
            guard receiver.unfinishedFrame == seen else {
                return self.check(receiver, on: loop)
            }
            receiver.stalled(seen)
        }
    }

    /// To be called when the receiver's channel is closed.
    func cancel() {
        timer?.cancel()
        timer = nil
    }
}

extension FrameDecoder {
    /// Where the stream stands inside a frame; nil between frames.
    var unfinished: StallWatch.Position? {
        isInsideFrame ? StallWatch.Position(offset: offset, bytes: partialBytes) : nil
    }
}
