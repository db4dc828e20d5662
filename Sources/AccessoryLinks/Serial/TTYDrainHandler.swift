import CShims
import Glibc
import NIOCore
import Synchronization

/// First handler of a tty link: delays a close that relayd asks for until the driver has sent its
/// bytes, so that the farewell to the head unit is not cut off. A hang-up is not delayed.
final class TTYDrainHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// 250 ms carry about 2,800 bytes at 115,200 baud: more than any farewell. Longer would only
    /// help a peer that holds CTS, and shutting down must not wait for that one.
    static let drainLimit: TimeAmount = .milliseconds(250)

    /// How often the driver's queue is looked at meanwhile.
    static let drainInterval: TimeAmount = .milliseconds(10)

    let hold: TTYHold
    private let limit: TimeAmount

    init(hold: TTYHold, limit: TimeAmount = drainLimit) {
        self.hold = hold
        self.limit = limit
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else {
            context.close(mode: mode, promise: promise)
            return
        }
        let deadline = context.eventLoop.now + limit
        closeWhenDrained(context: context, deadline: deadline, promise: promise)
    }

    private func closeWhenDrained(
        context: ChannelHandlerContext, deadline: NIODeadline, promise: EventLoopPromise<Void>?
    ) {
        guard context.channel.isActive, hold.queuedBytes > 0, context.eventLoop.now < deadline
        else {
            // The device is free again when the caller hears of it, not a moment later.
            let closed = context.eventLoop.makePromise(of: Void.self)
            closed.futureResult.whenComplete { [hold] _ in hold.end() }
            closed.futureResult.cascade(to: promise)
            context.close(promise: closed)
            return
        }
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.drainInterval) {
            self.closeWhenDrained(context: context, deadline: deadline, promise: promise)
        }
    }
}

/// A third descriptor of the open tty, which outlives NIO's two. Closing the last one may wait
/// 30 s for bytes that a stopped peer does not take (the kernel's closing_wait), on the event loop:
/// so they are thrown away first. The exclusive flag belongs to the tty and not to our descriptors,
/// and somebody else may have had it open before us: so it is taken back. So is the lock, which
/// belongs to the open file: a program that is just being started has a copy of every descriptor
/// until it executes, and would keep the device locked as long.
final class TTYHold: Sendable {
    private let descriptor: Mutex<OwnedDescriptor?>

    init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = Mutex(descriptor)
    }

    deinit { end() }

    /// Bytes the driver has not sent; 0 when it cannot tell.
    var queuedBytes: Int {
        descriptor.withLock { descriptor in
            var bytes: CInt = 0
            guard let fd = descriptor?.rawValue else { return 0 }
            return relay_tty_output_queue(fd, &bytes) == 0 ? Int(bytes) : 0
        }
    }

    /// Lets the tty go. Further calls do nothing.
    func end() {
        descriptor.withLock { descriptor in
            guard let fd = descriptor?.rawValue else { return }
            _ = relay_tty_flush(fd)
            _ = relay_tty_set_exclusive(fd, false)
            _ = flock(fd, LOCK_UN)
            descriptor = nil
        }
    }
}
