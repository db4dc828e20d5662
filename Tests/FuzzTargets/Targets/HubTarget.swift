// Fuzz target: the hub between several apps and a head unit, without sockets, on manual time.

import Logging
import NIOCore
import NIOEmbedded
import SDLProtocol

@testable import RelayCore

extension FuzzTarget {
    static let hub = FuzzTarget(
        name: "hub",
        about: "four apps and a head unit that comes and goes, through the hub's handlers",
        promise:
            "whatever comes out on the link or at an app is whole frames; who has relayd say something "
            + "hears once what became of it",
        isScript: true, seeds: { FuzzSeeds.dialogues(headUnit: 0, app: 1) },
        run: { bytes in
            let world = try HubWorld()
            do {
                for step in FuzzScript(bytes) { try world.take(step) }
            } catch {
                world.end()
                throw error
            }
            world.end()
            try world.checkTold(atEnd: true)
        })
}

/// A switchboard whose channels and clock the script controls.
private final class HubWorld {
    private static let apps = 4
    /// More than any app or head unit would leave unread.
    private static let tapBytes = 256 << 10

    private let loop = EmbeddedEventLoop()
    private let switchboard: Switchboard
    private var link: Peer?
    private var peers: [Peer?] = Array(repeating: nil, count: apps)
    private var configuration = RelayConfiguration()
    /// For each driven RPC, how often its sender has been told the outcome.
    private var told: [Int] = []

    /// One end of a connection, with a check of the bytes it receives.
    private final class Peer {
        let channel: EmbeddedChannel
        private var decoder = FrameDecoder(
            rules: .fromAccessory(maximumPayloadBytes: 1 << 24), recovery: .fail)
        private var hasHeard = false

        init(_ channel: EmbeddedChannel) throws {
            self.channel = channel
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2776)).wait()
        }

        func hear(_ name: String) throws {
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
                // A peer that speaks HTTP receives this error and nothing else.
                if !hasHeard, bytes.readableBytesView.starts(with: "HTTP/1.1 400 ".utf8) {
                    continue
                }
                hasHeard = true
                decoder.append(bytes)
                do {
                    while try decoder.next() != nil {}
                } catch {
                    throw BrokenPromise("\(name) hears what is no frame: \(error)")
                }
                try ensure(!decoder.isInsideFrame, "\(name) hears half a frame")
            }
        }

        func say(_ bytes: ByteBuffer) {
            guard channel.isActive else { return }
            // An error thrown by a handler closes the connection, as it would close a real one.
            do { try channel.writeInbound(bytes) } catch { channel.close(promise: nil) }
        }
    }

    init() throws {
        configuration.linkQueueBytes = 4096
        configuration.appQueueBytes = 16384
        configuration.tapQueueBytes = Self.tapBytes
        switchboard = Switchboard(
            loop: loop, configuration: configuration, accessoryAddress: "test:",
            tapQueue: TapQueue(maximumBytes: Self.tapBytes), logger: Self.quiet)
        try openLink()
        for app in 0..<2 { try connect(app) }
    }

    private static let quiet = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }

    private func openLink() throws {
        guard link?.channel.isActive != true else { return }
        link = try Peer(
            EmbeddedChannel(handler: LinkConnection(hub: switchboard), loop: loop))
    }

    private func connect(_ app: Int) throws {
        guard peers[app]?.channel.isActive != true else { return }
        let channel = EmbeddedChannel(loop: loop)
        try switchboard.gate.accept(channel)
        peers[app] = try Peer(channel)
    }

    // MARK: Steps

    func take(_ step: FuzzScript.Step) throws {
        var bytes = FuzzBytes(step.bytes)
        let app = peers[step.whom % Self.apps]
        switch step.kind {
        case 0: link?.say(ByteBuffer(bytes: step.bytes))
        case 1: app?.say(ByteBuffer(bytes: step.bytes))
        case 2, 3: for frame in Frame.made(of: &bytes) { link?.say(frame.wire) }
        case 4, 5: for frame in Frame.made(of: &bytes) { app?.say(frame.wire) }
        case 6: link?.say(grant(&bytes).wire)
        case 7: app?.say(start(&bytes).wire)
        case 8: pass(&bytes)
        case 9: try connect(step.whom % Self.apps)
        case 10: app?.channel.close(promise: nil)
        case 11:
            if step.whom & 1 == 0 { link?.channel.close(promise: nil) } else { try openLink() }
        case 12: stall(app, step.whom)
        case 13: stall(link, step.whom)
        case 14: command(step.whom, &bytes)
        default:
            // A burst of data frames in a session that may belong to the app.
            let size = Int(bytes.byte()) * 16 + 1
            let frame = Frame(
                version: 5, type: .single, service: bytes.one(of: [.rpc, .bulk, .audio, .video]),
                sessionID: bytes.byte() % 5, messageID: 1,
                payload: ByteBuffer(repeating: 0x5A, count: size))
            for _ in 0..<bytes.byte() % 32 { app?.say(frame.wire) }
        }
        loop.run()
        try hear()
    }

    private func grant(_ bytes: inout FuzzBytes) -> Frame {
        let session = bytes.byte() % 6
        var document = BSONDocument()
        document[ControlKey.hashID] = .int32(Int32(session))
        document[ControlKey.mtu] = .int64(Int64(bytes.number()))
        document[ControlKey.protocolVersion] = .string("5.4.0")
        let type = bytes.one(of: [
            ControlFrameType.startServiceACK, .startServiceNAK, .endServiceACK, .endService,
        ])
        return Frame(
            version: 5, type: .control, service: bytes.one(of: [.rpc, .rpc, .video, .audio]),
            info: type.rawValue, sessionID: session, messageID: UInt32(bytes.byte()),
            payload: document.bytes)
    }

    private func start(_ bytes: inout FuzzBytes) -> Frame {
        let document: BSONDocument = [ControlKey.protocolVersion: .string("5.4.0")]
        return Frame(
            version: bytes.byte() & 1 == 0 ? 1 : 5, type: .control,
            service: bytes.one(of: [.rpc, .rpc, .video, .audio]),
            info: ControlFrameType.startService.rawValue, sessionID: bytes.byte() % 6,
            payload: document.bytes)
    }

    private func pass(_ bytes: inout FuzzBytes) {
        let spans: [TimeAmount] = [
            .microseconds(1), .milliseconds(1), .milliseconds(50), .seconds(1), .seconds(21),
        ]
        loop.advanceTime(by: bytes.one(of: spans))
    }

    private func stall(_ peer: Peer?, _ whom: Int) {
        guard let channel = peer?.channel else { return }
        channel.isWritable = whom & 8 == 0
        channel.pipeline.fireChannelWritabilityChanged()
        channel.read()
    }

    private func command(_ what: Int, _ bytes: inout FuzzBytes) {
        switch what % 4 {
        case 0:
            let app = AppID(rawValue: UInt64(bytes.byte() % 8))
            _ = switchboard.disconnect(app, because: .left(.vanished))
        case 1: switchboard.reopenLink(reason: bytes.text())
        case 2:
            configuration.whenLinkLost = bytes.one(of: RelayConfiguration.WhenLinkLost.allCases)
            configuration.whenAccessoryAbsent = bytes.one(
                of: RelayConfiguration.WhenAccessoryAbsent.allCases)
            configuration.whenSlow = bytes.one(of: RelayConfiguration.WhenSlow.allCases)
            configuration.foreignFrames = bytes.one(of: RelayConfiguration.ForeignFrames.allCases)
            configuration.secondaryTransports = bytes.one(
                of: RelayConfiguration.SecondaryTransports.allCases)
            configuration.framesPerSecond = Int(bytes.byte())
            switchboard.reconfigure(configuration, accessoryAddress: bytes.text())
        default:
            if what & 4 == 4 {
                drive(&bytes)
            } else {
                _ = switchboard.snapshot(missedBatches: 0)
            }
        }
    }

    /// Drives an RPC in an app's session, which the head unit may answer.
    private func drive(_ bytes: inout FuzzBytes) {
        guard let language = switchboard.language as? SDLLanguage else { return }
        let app = AppID(rawValue: UInt64(bytes.byte() % 8))
        let session = bytes.byte() % 6
        let function = bytes.one(of: [FunctionID.show, .listFiles, .putFile, .onButtonPress])
        let rpc = DrivenRPC(
            function, bytes.one(of: [RPCType.request, .request, .notification, .response]), "{}",
            bulk: ByteBuffer(repeating: 7, count: Int(bytes.byte()) * 16), correlationID: 5)
        let number = told.count
        told.append(0)
        let said = try? language.drive(
            rpc, bytes.one(of: [Direction.fromApp, .fromAccessory]), app: app,
            session: session == 0 ? nil : session,
            patience: .milliseconds(Int64(bytes.byte()) * 100)
        ) { [weak self] _ in self?.told[number] += 1 }
        // A refusal is reported by the thrown error.
        if said == nil { told[number] += 1 }
        // A sender that gives up is not told; one that has already been told is not told again.
        if let said, bytes.byte() & 7 == 1 {
            language.giveUp(said)
            told[number] = max(1, told[number])
        }
        guard bytes.byte() & 1 == 1 else { return }
        let answer = DrivenRPC(function, .response, #"{"success":true,"resultCode":"SUCCESS"}"#)
            .payload(correlationID: OwnRequests.correlationIDs.lowerBound + Int32(bytes.byte() % 8))
        let frames = Frame.message(
            version: 5, sessionID: max(1, session), messageID: UInt32(bytes.byte()),
            payload: answer, limit: 12 + Int(bytes.byte()))
        for frame in frames { link?.say(frame.wire) }
    }

    func checkTold(atEnd: Bool = false) throws {
        try ensure(
            told.allSatisfy { $0 == 1 || !atEnd && $0 == 0 }, "heard what became of it: \(told)")
    }

    private func hear() throws {
        try link?.hear("the head unit")
        for (number, peer) in peers.enumerated() { try peer?.hear("app \(number)") }
        try checkTold()
    }

    /// Closes all connections; otherwise timers keep the hub alive.
    func end() {
        for peer in peers + [link] { _ = try? peer?.channel.finish(acceptAlreadyClosed: true) }
        try? loop.syncShutdownGracefully()
    }
}
