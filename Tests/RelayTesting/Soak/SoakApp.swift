// One app of a soak: it connects, registers, talks, dies in one of many ways, and comes back.

import Glibc
import NIOCore
import NIOPosix
import SDLProtocol

/// How a life ends.
enum SoakEnding: String, CaseIterable {
    case goodbye = "EndService"
    case fin = "FIN"
    case finInsideFrame = "FIN inside a frame"
    case reset = "RST"
    case resetInsideFrame = "RST inside a frame"

    /// Whether everything that was sent must arrive.
    var isOrderly: Bool { self == .goodbye || self == .fin || self == .finInsideFrame }
}

/// Lives again and again; all its decisions come from its own generator.
final class SoakApp {
    private let number: Int
    private unowned let world: SoakWorld
    private var random: SeededGenerator
    private var lives: UInt32 = 0
    static let livesPerApp: UInt32 = 1_000_000

    init(number: Int, world: SoakWorld) {
        self.number = number
        self.world = world
        random = SeededGenerator(seed: world.options.seed &+ UInt64(number) &* 0x9E37)
    }

    /// One more life, unless the soak is over.
    func live() {
        guard !world.isStopping else { return world.appStopped() }
        lives += 1
        world.tally.lives += 1
        let life = SoakLife(
            UInt32(number) * Self.livesPerApp + lives, world: world, seed: random.next())
        let loop = world.loop.assumeIsolated()
        let bound = NIOLoopBound(life, eventLoop: world.loop)
        ClientBootstrap(group: world.loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(bound.value)
                }
            }
            .connect(host: "127.0.0.1", port: world.appPort)
            .assumeIsolated()
            .whenFailure { error in
                self.world.fault(
                    .couldNotConnect, "life \(life.number) could not connect: \(error)")
                life.finish()
            }
        life.whenOver = {
            loop.scheduleTask(in: .milliseconds(.random(in: 0...50, using: &self.random))) {
                self.live()
            }
        }
    }
}

/// One connection of an app.
final class SoakLife: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the app waits for, or does.
    private enum Phase {
        case starting
        case registering
        case talking(steps: Int)
        /// EndService is sent.
        case ending
        /// It has closed, or is about to see its own close.
        case leaving
    }

    let number: UInt32
    var whenOver: (() -> Void)?
    private let world: SoakWorld
    private let bornOn: Int
    /// No head unit was plugged in when this life began. The relay may not have noticed; when it does, it
    /// closes this app with the others, before a session is granted, because nobody is there to grant one.
    private let wasBornUnplugged: Bool
    private var random: SeededGenerator
    private let isVictim: Bool
    private let ending: SoakEnding
    private var phase = Phase.starting
    private var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
    private var source: SoakSource
    private var sink: SoakSink
    private var hash: UInt32 = 0
    private var context: ChannelHandlerContext?

    init(_ number: UInt32, world: SoakWorld, seed: UInt64) {
        self.number = number
        self.world = world
        wasBornUnplugged = !world.isPlugged
        // Then it lives on the next link.
        bornOn = world.links + (wasBornUnplugged ? 1 : 0)
        random = SeededGenerator(seed: seed)
        isVictim = world.isVictim(number)
        let ending = SoakEnding.allCases.randomElement(using: &random) ?? .goodbye
        self.ending = isVictim ? .goodbye : ending
        phase = .starting
        source = SoakSource(life: number, session: 0, type: .request)
        sink = SoakSink(life: number)
    }

    private var linkWasReplaced: Bool {
        if wasBornUnplugged, case .starting = phase { return true }
        return world.links != bornOn
    }

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        send(.startService())
        context.flush()
        world.after(SoakWorld.patience) { [weak self] in
            guard let self, self.context != nil else { return }
            self.world.fault(.hung, "life \(self.number) hangs: \(self.phase)")
            self.context?.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        let name: String
        if case .leaving = phase {
            name = ending.rawValue
        } else if linkWasReplaced {
            name = wasBornUnplugged ? "no link" : "link lost"
        } else {
            name = SoakFault.closedByRelay.rawValue
            world.fault(
                .closedByRelay, "life \(number) was closed by the relay: \(phase)")
        }
        world.tally.endings[name, default: 0] += 1
        finish()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func finish() {
        whenOver?()
        whenOver = nil
    }

    // MARK: From the head unit

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data))
        do {
            while let frame = try decoder.next() { receive(frame) }
        } catch {
            world.fault(
                .garbage, "life \(number) got garbage at byte \(decoder.offset): \(error)")
            context.close(promise: nil)
        }
        context.flush()
    }

    private func receive(_ frame: Frame) {
        if frame.controlType == nil {
            world.tally.framesToApps += 1
            world.tally.bytesToApps += frame.wire.readableBytes
        }
        switch (phase, frame.controlType) {
        case (.starting, .startServiceACK): register(SessionGrant(frame))
        case (.registering, nil): registered(frame)
        case (.ending, .endServiceACK):
            phase = .leaving
            world.appLeft(number, sent: source.sent)
            context?.close(promise: nil)
        case (.talking, nil), (.ending, nil), (.leaving, nil):
            if isVictim, let header = RPCHeader(frame.payload), header.type == .response {
                world.tally.victims.answered += 1
                return
            }
            if let problem = sink.check(frame) {
                world.fault(.wrongFrame, "life \(number), to the app: \(problem)")
            }
        default: world.fault(.wrongFrame, "life \(number) got \(frame) while \(phase)")
        }
    }

    private func register(_ grant: SessionGrant) {
        hash = grant.hashID
        source = SoakSource(life: number, session: grant.sessionID, type: .request)
        phase = .registering
        send(
            .rpc(
                session: grant.sessionID, .request, .registerAppInterface,
                correlation: Int32(bitPattern: number),
                json: """
                    {"appName":"\(isVictim ? "Victim" : "Soak") \(number)","appID":"soak-\(number)",\
                    "isMediaApplication":false,"languageDesired":"EN-US",\
                    "hmiDisplayLanguageDesired":"EN-US",\
                    "syncMsgVersion":{"majorVersion":7,"minorVersion":1,"patchVersion":0}}
                    """))
    }

    private func registered(_ frame: Frame) {
        guard let header = RPCHeader(frame.payload),
            header.functionID == FunctionID.registerAppInterface.rawValue,
            header.correlationID == Int32(bitPattern: number)
        else {
            return world.fault(
                .wrongFrame, "life \(number) got \(frame) before it had registered")
        }
        phase = .talking(steps: .random(in: 3...60, using: &random))
        planStep()
    }

    // MARK: To the head unit

    private func send(_ frame: Frame) {
        context?.write(wrapOutboundOut(frame.wire), promise: nil)
    }

    private func planStep() {
        let delay = Int64.random(in: 1...40, using: &random)
        world.after(.milliseconds(delay)) { [weak self] in self?.step() }
    }

    private func step() {
        guard let context, case .talking(let steps) = phase else { return }
        // Back pressure has reached the app.
        guard context.channel.isWritable else { return planStep() }
        guard steps > 0 else { return end() }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            for frame in source.next(using: &random) { send(frame) }
        }
        context.flush()
        phase = .talking(steps: world.isStopping ? 0 : steps - 1)
        if Int.random(in: 0..<40, using: &random) == 0 { stopReading() }
        planStep()
    }

    /// Like an app at a breakpoint.
    private func stopReading() {
        guard let context else { return }
        let channel = context.channel
        channel.setOption(.autoRead, value: false).assumeIsolated().whenFailure { _ in }
        world.after(.milliseconds(.random(in: 50...1500, using: &random))) {
            channel.setOption(.autoRead, value: true).assumeIsolated().whenFailure { _ in }
        }
    }

    private func end() {
        guard let context else { return }
        let ending = world.isStopping ? .goodbye : ending
        if ending == .finInsideFrame || ending == .resetInsideFrame { sendPart() }
        switch ending {
        case .goodbye:
            phase = .ending
            send(
                .endService(
                    version: 5, sessionID: source.session, hashID: hash))
            context.flush()
        case .fin, .finInsideFrame:
            phase = .leaving
            world.appLeft(number, sent: source.sent)
            context.close(mode: .output, promise: nil)
        case .reset, .resetInsideFrame:
            phase = .leaving
            let options = context.channel as? any SocketOptionProvider
            options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated()
                .whenComplete { _ in context.close(promise: nil) }
        }
    }

    /// Some bytes of a frame that never ends, not counted as sent.
    private func sendPart() {
        var unfinished = source
        guard let frame = unfinished.next(using: &random).first else { return }
        let wire = frame.wire
        let part = wire.getSlice(
            at: wire.readerIndex, length: .random(in: 1..<wire.readableBytes, using: &random))
        if let part { context?.writeAndFlush(wrapOutboundOut(part), promise: nil) }
    }
}
