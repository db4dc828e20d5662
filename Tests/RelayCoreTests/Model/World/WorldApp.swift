// An app of the model's world: sends frames, cut anywhere, and hears what the hub gives it.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

final class WorldApp {
    let number: HubModel.AppNumber
    private unowned let world: HubWorld
    private let outlet = Outlet()
    private var channel: EmbeddedChannel?
    private var framing = SDLCoreFraming(acceptsMessageIDZero: true)
    private var outbound = ByteBuffer()
    private var outboundFrames = CircularBuffer<(frame: Frame, left: Int)>()
    /// Sessions it was granted and has not ended, with the grant.
    private(set) var sessions: [SessionGrant] = []
    /// Frames of unfinished messages, by session.
    var unfinished: [UInt8: [Frame]] = [:]
    private(set) var hasLeft = false
    private var requests: Int32 = 0
    private var messageIDs: [UInt8: UInt32] = [:]
    private var saidGarbage = false
    /// Whether the app does not read.
    private var isSlow = false
    private var waiting = 0
    /// Whether the next write fails.
    var isBroken = false

    init(number: Int, world: HubWorld) {
        self.number = number
        self.world = world
    }

    func open(_ switchboard: Switchboard) throws {
        outlet.onWrite = { [unowned self] in hear($0) }
        outlet.onFlush = { [unowned self] in if isBroken { breakDown() } }
        outlet.onEnd = { [unowned self] in
            world.model.now = world.loop.now
            world.model.disconnected(number)
        }
        let channel = EmbeddedChannel(loop: world.loop)
        self.channel = channel
        try channel.pipeline.syncOperations.addHandler(outlet)
        try switchboard.gate.accept(channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2776)).wait()
        channel.closeFuture.assumeIsolated().whenComplete { [weak self] _ in
            guard let self else { return }
            world.gone(self)
        }
    }

    /// Ends the connection; bytes that were said may be lost on the way.
    func leave() {
        guard let channel else { return }
        hasLeft = true
        self.channel = nil
        channel.close(promise: nil)
        world.loop.run()
    }

    /// Does as NIO does where a write fails: reads what has come, then closes the channel.
    private func breakDown() {
        isBroken = false
        if world.chance(2) { push(.max) }
        guard let channel else { return }
        world.tell("a write finds that app \(number) is gone")
        hasLeft = true
        self.channel = nil
        channel.close(promise: nil)
    }

    /// The number of the next request, which tells the head unit and the model whose it is.
    func nextRequest() -> Int32 {
        requests += 1
        return Int32(number) << 12 | requests
    }

    /// Counts from 1 in each session, as app libraries do.
    func nextMessage(_ session: UInt8) -> UInt32 {
        messageIDs[session, default: 0] += 1
        return messageIDs[session, default: 1]
    }

    func session(_ which: Int) -> SessionGrant? {
        sessions.isEmpty ? nil : sessions[which % sessions.count]
    }

    func forget(_ session: UInt8) {
        sessions.removeAll { $0.sessionID == session }
        unfinished[session] = nil
        messageIDs[session] = nil
    }

    // MARK: - App → hub

    func say(_ frame: Frame) {
        guard !saidGarbage else { return }
        world.tell("app \(number) says \(frame)")
        outbound.writeImmutableBuffer(frame.wire)
        outboundFrames.append((frame, frame.wire.readableBytes))
    }

    /// Says bytes that are no frame; nothing that the app says after them is one.
    func say(bytes: ByteBuffer) {
        saidGarbage = true
        outbound.writeImmutableBuffer(bytes)
    }

    /// Whether the app has said more than the hub has read.
    var hasMore: Bool { outbound.readableBytes > 0 }

    /// Sends off at most `limit` bytes, if the hub reads.
    func push(_ limit: Int) {
        var left = min(limit, outbound.readableBytes)
        while left > 0, let channel, channel.isActive {
            if !outlet.isOpen { channel.read() }
            guard outlet.isOpen else { return }
            let most = min(left, world.setting.pieceBytes, 4096)
            guard let piece = outbound.readSlice(length: most) else { return }
            left -= piece.readableBytes
            var bytes = piece.readableBytes
            while bytes > 0, let first = outboundFrames.first {
                if first.left <= bytes {
                    bytes -= first.left
                    world.model.appSays(first.frame, number)
                    outboundFrames.removeFirst()
                } else {
                    outboundFrames[outboundFrames.startIndex].left -= bytes
                    bytes = 0
                    judgeBegun()
                }
            }
            outlet.isOpen = false
            world.frames += 1
            do {
                _ = try channel.writeInbound(ByteBuffer(bytes: piece.readableBytesView))
            } catch {
                world.model.fail(.left, "app \(number)'s channel: \(error)")
            }
            if outbound.readableBytes == 0 { outbound.clear() }
        }
    }

    /// A field of the header that hurts the head unit is reason enough to close the app; the session is
    /// the fourth byte.
    private func judgeBegun() {
        guard let (frame, left) = outboundFrames.first, frame.hurtsHeadUnit else { return }
        let headerBytes = frame.wire.readableBytes - frame.payloadBytes
        let needed = frame.sessionID == 0 ? 4 : headerBytes
        guard frame.wire.readableBytes - left >= needed else { return }
        world.model.apps[number]?.mayBeClosed = true
    }

    // MARK: - Hub → app

    private func hear(_ bytes: ByteBuffer) {
        framing.append(bytes)
        while let piece = framing.next() {
            guard case .frame(let frame) = piece else {
                world.model.fail(.malformed, "app \(number) got what is no frame")
                continue
            }
            world.frames += 1
            world.tell("app \(number) hears \(frame)")
            world.model.writtenToApp(frame, number)
            world.recording?.hear(frame)
            react(to: frame)
        }
        if !framing.isEmpty { world.model.fail(.malformed, "app \(number) got a part of a frame") }
        guard isSlow else { return }
        waiting += bytes.readableBytes
        if waiting > 1000 { channel?.isWritable = false }
    }

    private func react(to frame: Frame) {
        switch (frame.controlType, frame.service) {
        case (.startServiceACK, .rpc):
            let grant = SessionGrant(frame)
            guard grant.hashID != 0 || frame.version < 2 else { return }
            sessions.append(grant)
            if number % 2 == 0 { world.register(self, grant) }
        case (.endService, .rpc):
            if number % 3 == 0 { acknowledge(frame.sessionID) }
            forget(frame.sessionID)
        case (.endServiceACK, .rpc): forget(frame.sessionID)
        default: break
        }
    }

    /// With the hash, as EndService has it.
    private func acknowledge(_ session: UInt8) {
        guard let grant = sessions.last(where: { $0.sessionID == session }) else { return }
        let end = Frame.endService(
            version: grant.version, sessionID: session, hashID: grant.hashID)
        say(
            Frame(
                version: grant.version, type: .control, service: .rpc,
                info: ControlFrameType.endServiceACK.rawValue, sessionID: session,
                messageID: nextMessage(session), payload: end.payload))
    }

    func setSlow(_ slow: Bool) {
        isSlow = slow
        guard !slow, let channel, !channel.isWritable else { return }
        waiting = 0
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
    }
}
