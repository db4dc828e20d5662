import NIOCore

/// Closes a connection whose request is not complete in time: a client that trickles its body must not
/// stay for good. The time relayd takes to answer is not the client's fault, and not bounded here.
final class BodyDeadline: Sendable {
    private let timer: Scheduled<Void>
    private let channel: any Channel

    init(on channel: any Channel) {
        self.channel = channel
        timer = channel.eventLoop.scheduleTask(in: ControlLimits.idle) {
            channel.close(promise: nil)
        }
    }

    /// The body has arrived, or nobody waits for it.
    func cancel() { timer.cancel() }

    /// The body may take any time.
    func lift() {
        timer.cancel()
        channel.pipeline.fireUserInboundEventTriggered(BodyEvent.takesItsTime)
    }

    /// Nobody reads the rest of the body.
    func cutOff() {
        channel.pipeline.fireUserInboundEventTriggered(BodyEvent.isCutOff)
    }
}
