// The head unit of a soak: grants sessions, checks every byte, sends to all apps.

import NIOCore
import SDLProtocol

/// One link of the head unit; after a replug there is another.
final class SoakHeadUnit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct Session {
        var hash: UInt32
        var app: (sink: SoakSink, source: SoakSource)?
    }

    private let world: SoakWorld
    private var random: SeededGenerator
    private var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
    private var sessions: [UInt8: Session] = [:]
    /// The lives of sessions that have ended.
    private var ended: [UInt8: UInt32] = [:]
    private var grants: UInt32 = 0
    private var context: ChannelHandlerContext?

    var openSessions: Int { sessions.count }

    /// How often it sends something, and to how many apps.
    private static let beat: TimeAmount = .milliseconds(5)
    private static let appsPerBeat = 4

    init(world: SoakWorld) {
        self.world = world
        world.links += 1
        world.isPlugged = true
        random = SeededGenerator(seed: world.options.seed &+ UInt64(world.links) &* 0x1_0000)
    }

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        world.headUnit = self
        sendToSome()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        sessions = [:]
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Hangs up, in the middle of a frame.
    func unplug() {
        guard let context else { return }
        if let session = sessions.keys.min(), var app = sessions[session]?.app,
            let frame = app.source.next(using: &random).first
        {
            let half = frame.wire.getSlice(
                at: frame.wire.readerIndex, length: frame.wire.readableBytes / 2)
            if let half { context.write(wrapOutboundOut(half), promise: nil) }
            context.flush()
        }
        sessions = [:]
        world.links += 1
        world.isPlugged = false
        context.close(promise: nil)
    }

    // MARK: From the apps

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.context != nil else { return }
        decoder.append(unwrapInboundIn(data))
        do {
            while let frame = try decoder.next() { receive(frame) }
        } catch {
            world.fault(.garbage, "the head unit got garbage at byte \(decoder.offset): \(error)")
            context.close(promise: nil)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    private func send(_ frame: Frame) {
        context?.write(wrapOutboundOut(frame.wire), promise: nil)
    }

    private func receive(_ frame: Frame) {
        switch frame.controlType {
        case .startService: return grant()
        case .endService: return end(frame)
        case nil: break
        default: return world.fault(.wrongFrame, "the head unit got \(frame)")
        }
        let id = frame.sessionID
        guard let session = sessions[id] else {
            let life = SoakRecord(in: frame)?.life
            let was = ended[id].map { "which life \($0) ended" } ?? "never granted on this link"
            return world.fault(
                .wrongSession,
                "the head unit got \(frame) of life \(life ?? 0) for a session \(was)")
        }
        if frame.type == .consecutive, frame.info == 0, let header = RPCHeader(frame.payload),
            header.functionID == Self.unknownFunction
        {
            // relayd ends the message that an app left unfinished when it died.
            return answer(id, FunctionID(rawValue: header.functionID), header)
        }
        world.tally.framesFromApps += 1
        world.tally.bytesFromApps += frame.wire.readableBytes
        if let header = RPCHeader(frame.payload), frame.type == .single, frame.service == .rpc {
            switch header.functionID {
            case FunctionID.registerAppInterface.rawValue: return register(id, header)
            case FunctionID.unregisterAppInterface.rawValue:
                return answer(id, .unregisterAppInterface, header)
            default: break
            }
        }
        guard var app = session.app else {
            return world.fault(
                .wrongSession, "the head unit got \(frame) of an app that has not registered")
        }
        if let problem = app.sink.check(frame) {
            world.fault(.wrongFrame, "life \(app.sink.life), to the head unit: \(problem)")
        }
        sessions[id]?.app = app
    }

    /// The ID of no function in the specification, so a head unit does nothing but answer.
    private static let unknownFunction: UInt32 = 0xFFFF

    private func grant() {
        guard let free = (1...255 as ClosedRange<UInt8>).first(where: { sessions[$0] == nil })
        else { return world.fault(.wrongSession, "the head unit was asked for a 256th session") }
        grants += 1
        let hash = grants << 8 | UInt32(free)
        sessions[free] = Session(hash: hash)
        send(.startServiceACK(session: free, hashID: hash))
    }

    private func end(_ frame: Frame) {
        guard let session = sessions.removeValue(forKey: frame.sessionID) else {
            return world.fault(
                .wrongSession, "the head unit was to end session \(frame.sessionID), which is none")
        }
        if ControlPayload(frame).hashID != session.hash {
            world.fault(
                .wrongSession,
                "the head unit was to end session \(frame.sessionID) with a wrong hash")
        }
        ended[frame.sessionID] = session.app?.sink.life ?? 0
        if let app = session.app { world.sessionEnded(app.sink.life, received: app.sink.received) }
        send(.control(.endServiceACK, session: frame.sessionID))
    }

    /// The correlation ID is the number of the life.
    private func register(_ id: UInt8, _ header: RPCHeader) {
        let life = UInt32(bitPattern: header.correlationID)
        sessions[id]?.app = (
            SoakSink(life: life, isVictim: world.isVictim(life)),
            SoakSource(life: life, session: id, type: .notification)
        )
        answer(id, .registerAppInterface, header)
    }

    private func answer(_ id: UInt8, _ function: FunctionID, _ header: RPCHeader) {
        send(
            .rpc(
                session: id, .response, function, correlation: header.correlationID,
                json: #"{"success":true,"resultCode":"SUCCESS"}"#))
    }

    // MARK: To the apps

    private func sendToSome() {
        guard let context else { return }
        let registered = sessions.filter { $0.value.app != nil }.keys.sorted()
        if context.channel.isWritable, !registered.isEmpty {
            for _ in 0..<Self.appsPerBeat {
                let id = registered[Int.random(in: 0..<registered.count, using: &random)]
                for frame in sessions[id]?.app?.source.next(using: &random) ?? [] { send(frame) }
            }
            context.flush()
        }
        world.after(Self.beat) { self.sendToSome() }
    }
}
