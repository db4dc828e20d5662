// Notices a peer that stops in the middle of a frame; used by both ends of the hub.

import NIOCore
import SDLProtocol

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

    /// To be called after each read.
    ///
    /// - Parameters:
    ///   - position: nil between frames.
    ///   - stalled: called when nothing has moved for the whole timeout.
    func check(
        on loop: any EventLoop, position: @escaping () -> Position?,
        stalled: @escaping (Position) -> Void
    ) {
        guard timer == nil, let seen = position() else { return }
        timer = loop.assumeIsolated().scheduleTask(in: timeout) {
            self.timer = nil
            guard position() == seen else {
                return self.check(on: loop, position: position, stalled: stalled)
            }
            stalled(seen)
        }
    }

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
