import NIOCore

/// Closes a connection whose request does not come whole in time: who trickles a body in must not sit
/// there for good. How long relayd takes for its answer is not the client's fault, and not bounded here.
final class BodyDeadline: Sendable {
    private let timer: Scheduled<Void>
    private let channel: any Channel

    init(on channel: any Channel) {
        self.channel = channel
        timer = channel.eventLoop.scheduleTask(in: ControlLimits.idle) {
            channel.close(promise: nil)
        }
    }

    /// The body has come, or nobody waits for it.
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
