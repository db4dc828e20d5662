// Accepting connections when the system has no more descriptors or memory; on the listening
// sockets of apps and of the control API, on their event loops.

import Glibc
package import NIOCore

/// Descriptors reserved for everything but apps: without them nobody could ask relayd what is wrong.
///
/// Given back to the system when accept(2) finds none left; no app is accepted until they have been taken
/// again.
final class SpareDescriptors {
    /// A few connections of relayctl, and the reopening of the link.
    static let count = 8

    private var descriptors: [CInt] = []

    /// - Returns: Whether all are held.
    func take() -> Bool {
        while descriptors.count < Self.count {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                release()
                return false
            }
            descriptors.append(descriptor)
        }
        return true
    }

    func release() {
        for descriptor in descriptors { close(descriptor) }
        descriptors = []
    }

    deinit {
        release()
    }
}

/// Pauses a listening socket when accept(2) fails for want of resources.
///
/// The connection stays in the kernel's queue and epoll reports it again at once, so going on would use up a
/// whole processor. Connected apps notice nothing; those in the queue are accepted when there is room again.
package final class AcceptGuard: ChannelInboundHandler {
    package typealias InboundIn = any Channel

    /// How long until the next try: short for an app that waits, rare enough to cost nothing.
    static let pause: TimeAmount = .milliseconds(100)

    private let spares: SpareDescriptors?
    private let onExhaustion: (IOError) -> Void
    private var retry: Scheduled<Void>?

    /// Makes a guard without reserved descriptors.
    ///
    /// - Parameter onExhaustion: called once per failed try, every `pause` at most.
    package convenience init(onExhaustion: @escaping (IOError) -> Void) {
        self.init(spares: nil, onExhaustion: onExhaustion)
    }

    init(spares: SpareDescriptors?, onExhaustion: @escaping (IOError) -> Void) {
        self.spares = spares
        self.onExhaustion = onExhaustion
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let failure = error as? IOError, Self.isExhaustion(failure) else {
            // An app that was gone before it was accepted, for example: the socket goes on.
            return context.fireErrorCaught(error)
        }
        spares?.release()
        if retry == nil { onExhaustion(failure) }
        stop(context)
    }

    /// Whether accept(2) failed for want of resources, not because of the connection.
    static func isExhaustion(_ error: IOError) -> Bool {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode)
    }

    private func stop(_ context: ChannelHandlerContext) {
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        retry?.cancel()
        retry = context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            self.retry = nil
            guard context.channel.isActive else { return }
            // Nobody is accepted before the reserved descriptors are back.
            guard self.spares?.take() ?? true else { return self.stop(context) }
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        retry?.cancel()
        context.fireChannelInactive()
    }
}
