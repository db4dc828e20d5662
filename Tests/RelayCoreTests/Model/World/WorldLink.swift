// The link of the model's world: a kernel with limited room, and bytes that arrive in pieces.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

final class WorldLink {
    let id: SDLCoreModel.ConnectionID
    private unowned let world: HubWorld
    private let outlet = Outlet()
    private var channel: EmbeddedChannel?
    /// Bytes that the hub has written and the kernel has not taken.
    private var pending = ByteBuffer()
    /// Bytes that the kernel has taken and the head unit has not.
    private var kernel = ByteBuffer()
    private var framing = SDLCoreFraming()
    /// Bytes that the head unit has sent and that have not arrived.
    private var inbound = ByteBuffer()
    private var inboundFrames = CircularBuffer<(sent: SDLCoreModel.Sent, left: Int)>()
    /// Whether the next write fails.
    var isBroken = false

    init(world: HubWorld, id: SDLCoreModel.ConnectionID) {
        self.world = world
        self.id = id
    }

    func open(_ switchboard: Switchboard) throws {
        outlet.onWrite = { [unowned self] in write($0) }
        outlet.onFlush = { [unowned self] in if isBroken { breakDown() } else { flush() } }
        let handler = LinkConnection(
            hub: switchboard,
            kernelBytes: { [unowned self] in self.kernel.readableBytes })
        let channel = EmbeddedChannel(handlers: [outlet, handler], loop: world.loop)
        self.channel = channel
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func close() {
        let channel = channel
        self.channel = nil
        channel?.close(promise: nil)
        world.loop.run()
    }

    /// Does as NIO does where a write fails: reads what has come, then closes the channel.
    private func breakDown() {
        isBroken = false
        if world.chance(2) { arrive(upTo: .max) }
        guard let channel else { return }
        world.linkBroke()
        self.channel = nil
        channel.close(promise: nil)
    }

    var isIdle: Bool {
        pending.readableBytes + kernel.readableBytes + inbound.readableBytes == 0
    }

    // MARK: - Hub → head unit

    private func write(_ bytes: ByteBuffer) {
        guard channel != nil else { return }
        framing.append(bytes)
        while let piece = framing.next() {
            switch piece {
            case .frame(let frame):
                world.frames += 1
                world.tell("relay to head unit: \(frame)")
                world.model.now = world.loop.now
                world.model.writtenToLink(frame)
                world.recording?.hear(frame)
            case .malformed:
                world.model.fail(.malformed, "the hub wrote to the link what is no frame")
            }
        }
        if !framing.isEmpty { world.model.fail(.malformed, "the hub wrote a part of a frame") }
        pending.writeImmutableBuffer(bytes)
    }

    private func flush() {
        let room = world.setting.kernelBytes - kernel.readableBytes
        if room > 0, var taken = pending.readSlice(length: min(room, pending.readableBytes)) {
            kernel.writeBuffer(&taken)
        }
        if pending.readableBytes == 0 { pending.clear() }
        world.attend()
        // Between the marks nothing changes.
        if pending.readableBytes > LinkConnection.waterMark.high { channel?.isWritable = false }
    }

    /// Whether the kernel has bytes that the head unit has not taken.
    var isBusy: Bool { kernel.readableBytes > 0 }

    /// Whether the head unit has sent more than has arrived.
    var hasMore: Bool { inbound.readableBytes > 0 }

    /// Whether the head unit would take bytes now.
    var canDrain: Bool { isBusy && world.stalledUntil <= world.loop.now }

    /// Lets the head unit take at most `bytes` bytes.
    func drain(_ bytes: Int) {
        guard channel != nil, world.stalledUntil <= world.loop.now else { return }
        var left = bytes
        while left > 0, kernel.readableBytes > 0,
            let taken = kernel.readSlice(length: min(left, kernel.readableBytes))
        {
            left -= taken.readableBytes
            if kernel.readableBytes == 0 { kernel.clear() }
            world.core.receive(
                ByteBuffer(bytes: taken.readableBytesView), on: id, at: world.loop.now)
            if world.core.hasStoppedReading(id) {
                world.model.fail(.stoppedReading, "the head unit stopped reading")
            }
            // Nobody can promise when bytes arrive that the kernel took before a standstill.
            if world.core.counters.floods > 0, world.stalledUntil + .seconds(2) < world.loop.now {
                world.model.fail(.flood, "the head unit ended a session as a flood")
            }
            flush()
            guard pending.readableBytes == 0, let channel, !channel.isWritable else { continue }
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
        }
    }

    // MARK: - Head unit → hub

    func incoming(_ sent: SDLCoreModel.Sent) {
        inbound.writeImmutableBuffer(sent.frame.wire)
        inboundFrames.append((sent, sent.frame.wire.readableBytes))
    }

    /// Brings the hub bytes that the head unit never sent.
    func noise(_ bytes: ByteBuffer) {
        arrive(upTo: .max)
        feed(bytes)
    }

    /// Lets bytes arrive, in pieces, unless the hub does not read.
    func arrive(upTo limit: Int) {
        var left = min(limit, inbound.readableBytes)
        while left > 0, channel != nil, isRead {
            let most = min(left, world.setting.pieceBytes)
            guard let piece = inbound.readSlice(length: most) else { return }
            left -= piece.readableBytes
            var bytes = piece.readableBytes
            while bytes > 0, let first = inboundFrames.first {
                if first.left <= bytes {
                    bytes -= first.left
                    world.model.headUnitSays(first.sent)
                    inboundFrames.removeFirst()
                } else {
                    inboundFrames[inboundFrames.startIndex].left -= bytes
                    bytes = 0
                }
            }
            world.frames += 1
            feed(ByteBuffer(bytes: piece.readableBytesView))
            world.settle()
        }
        if inbound.readableBytes == 0 { inbound.clear() }
    }

    private var isRead: Bool {
        if !outlet.isOpen { channel?.read() }
        return outlet.isOpen
    }

    private func feed(_ bytes: ByteBuffer) {
        outlet.isOpen = false
        do {
            _ = try channel?.writeInbound(bytes)
        } catch {
            world.model.fail(.left, "the link's channel: \(error)")
        }
    }
}
