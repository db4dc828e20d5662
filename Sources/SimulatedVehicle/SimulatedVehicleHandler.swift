package import NIOCore

/// Runs a `SimulatedVehicle` on a channel's event loop: bytes in, bytes out, one timer. The link
/// `sim:openxc` and tests use it.
///
/// Like firmware it does not wait for a host that does not read: messages for which there is no room are dropped,
/// one by one.
package final class SimulatedVehicleHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The vehicle; tests examine it, on the channel's event loop.
    package private(set) var vehicle: SimulatedVehicle
    /// Messages for which there was no room.
    package private(set) var dropped: UInt64 = 0

    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?

    package init(_ configuration: SimulatedVehicle.Configuration) {
        vehicle = SimulatedVehicle(configuration)
    }

    package func channelActive(context: ChannelHandlerContext) {
        vehicle.powered(at: context.eventLoop.now)
        scheduleTimer(context: context)
        context.fireChannelActive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        send(vehicle.receive(bytes.readableBytesView, at: context.eventLoop.now), context: context)
        scheduleTimer(context: context)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func stop() {
        timer?.scheduled.cancel()
        timer = nil
    }

    private func send(_ messages: SimulatedVehicle.Output, context: ChannelHandlerContext) {
        guard !messages.isEmpty else { return }
        for message in messages {
            if context.channel.isWritable {
                context.write(wrapOutboundOut(ByteBuffer(bytes: message)), promise: nil)
            } else {
                dropped &+= 1
            }
        }
        context.flush()
    }

    /// Keeps exactly one task for the next deadline.
    private func scheduleTimer(context: ChannelHandlerContext) {
        let deadline = vehicle.nextDeadline
        guard deadline != timer?.deadline else { return }
        stop()
        guard let deadline, context.channel.isActive else { return }
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.send(self.vehicle.advance(to: context.eventLoop.now), context: context)
            self.scheduleTimer(context: context)
        }
        timer = (deadline, scheduled)
    }
}
