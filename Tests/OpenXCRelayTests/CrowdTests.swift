// Messages that are gathered for a crowd, and events in the meantime, on manual time.

import Logging
import NIOCore
import NIOEmbedded
import OpenXCProtocol
import Testing

@testable import OpenXCRelay
@testable import RelayCore

@Suite("While messages are gathered")
struct CrowdTests {
    @Test("who leaves and who is left hear what they were there for, in order")
    func leaves() throws {
        try Crowd.run { crowd in
            // The first messages go at once.
            try crowd.vehicle.says("a", "b")
            try crowd.vehicle.says("c")
            try crowd.all { try $0.hears("a", "b") }
            try crowd.clients.removeLast().hangsUp()
            // The clients are no longer a crowd; the gathered messages go before the new ones.
            try crowd.vehicle.says("d")
            try crowd.all { try $0.hears("c", "d") }
            try crowd.vehicle.says("e")
            try crowd.all { try $0.hears("e") }
        }
    }

    @Test("nothing is forgotten when the crowd is none any more and nothing else comes")
    func dissolves() throws {
        try Crowd.run { crowd in
            try crowd.vehicle.says("a")
            try crowd.vehicle.says("b")
            for _ in 0..<3 { try crowd.clients.removeLast().hangsUp() }
            try crowd.all { try $0.hears("a") }
            crowd.waits(Gathering.time)
            try crowd.all { try $0.hears("b") }
        }
    }

    @Test("who comes hears what comes, and nothing from before")
    func comes() throws {
        try Crowd.run { crowd in
            try crowd.vehicle.says("a")
            try crowd.vehicle.says("b")
            let late = try crowd.client()
            try crowd.vehicle.says("c")
            crowd.waits(Gathering.time)
            try crowd.all { try $0.hears("a", "b", "c") }
            try late.hears("c")
        }
    }

    @Test(
        "a client that becomes one too many for going at once makes the others wait, and no longer")
    func oneMore() throws {
        try Crowd.run(clients: Gathering.clients) { crowd in
            try crowd.vehicle.says("a")
            try crowd.vehicle.says("b")
            try crowd.all { try $0.hears("a", "b") }
            crowd.clients.append(try crowd.client())
            try crowd.vehicle.says("c")
            try crowd.all { try $0.hears() }
            crowd.waits(Gathering.time)
            try crowd.all { try $0.hears("c") }
        }
    }

    @Test("a change of form comes behind what was gathered in the old one")
    func form() throws {
        try Crowd.run { crowd in
            try crowd.vehicle.says("a")
            try crowd.vehicle.says("b")
            let client = crowd.clients.removeFirst()
            try client.says(.command(.payloadFormat(.protobuf)))
            let answer = VehicleMessage(.response(CommandResponse(.payloadFormat, status: true)))
            var wanted = Crowd.bytes("a") + Crowd.bytes("b")
            try MessageFraming.json.append(answer, to: &wanted)
            try crowd.vehicle.says("c")
            crowd.waits(Gathering.time)
            try MessageFraming.protobuf.append(Crowd.signal("c"), to: &wanted)
            try client.hears(bytes: wanted)
            try crowd.all { try $0.hears("a", "b", "c") }
        }
    }

    @Test(
        "when all of a read has gone with answers, nothing is due: the clock would not stop to ring"
    )
    func allGone() throws {
        try Crowd.run { crowd in
            let client = crowd.clients.removeFirst()
            // A command that the vehicle interface answers, followed by one that relayd answers.
            try client.says(.command(.version))
            try client.says(.command(.payloadFormat(.json)))
            let answers = [CommandResponse(.version, message: "8.2.1", status: true)]
            try crowd.vehicle.says(.response(answers[0]))
            let rings = try #require(crowd.hub.language.nextDeadline)
            #expect(rings > crowd.now + Gathering.time)
            var wanted: [UInt8] = []
            for answer in answers + [CommandResponse(.payloadFormat, status: true)] {
                try MessageFraming.json.append(VehicleMessage(.response(answer)), to: &wanted)
            }
            try client.hears(bytes: wanted)
            // After that, everything continues.
            try crowd.vehicle.says("a")
            crowd.waits(Gathering.time)
            try crowd.all { try $0.hears("a") }
        }
    }

    @Test("one that does not read misses whole messages, and is told how many")
    func queue() throws {
        let each = Crowd.bytes("a").count
        try Crowd.run(queueBytes: each * 5 + each / 2) { crowd in
            let slow = crowd.clients.removeFirst()
            slow.isReading = false
            try crowd.vehicle.says("a")
            for _ in 0..<3 {
                try crowd.vehicle.says("a", "a", "a")
                crowd.waits(Gathering.time)
            }
            #expect(crowd.lost == [5] + crowd.clients.map { _ in 0 })
            slow.isReading = true
            try crowd.vehicle.says("b")
            crowd.waits(Gathering.time)
            try slow.hears("a", "a", "a", "a", "a", "b")
            try crowd.all {
                try $0.hears("a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "b")
            }
        }
    }

    @Test("a vehicle interface that goes has said it, and one that comes begins anew")
    func unplugged() throws {
        try Crowd.run { crowd in
            try crowd.vehicle.says("a")
            try crowd.vehicle.says("b")
            try crowd.vehicle.hangsUp()
            try crowd.all { try $0.hears("a", "b") }
            try crowd.openLink()
            try crowd.vehicle.says("c")
            crowd.waits(Gathering.time)
            try crowd.all { try $0.hears("c") }
        }
    }

    @Test("relayd's end comes behind it")
    func stop() throws {
        try Crowd.run { crowd in
            try crowd.vehicle.says("a")
            try crowd.vehicle.says("b")
            crowd.hub.shutDown {}
            try crowd.all { try $0.hears("a", "b") }
        }
    }

    @Test("so does the end of one client that somebody disconnects")
    func disconnected() throws {
        try Crowd.run { crowd in
            try crowd.vehicle.says("a")
            try crowd.vehicle.says("b")
            #expect(crowd.hub.disconnect(AppID(rawValue: 1), because: .byOperator(nil)))
            try crowd.clients.removeFirst().hears("a", "b")
        }
    }

    @Test("a client that is found gone takes the vehicle interface's end along, and the rest go on")
    func bothGone() throws {
        let each = Crowd.bytes("a").count
        try Crowd.run(queueBytes: each * 2) { crowd in
            let dying = crowd.clients.removeFirst()
            try dying.says(.command(.passthrough(bus: 1, enabled: true)))
            // relayd writes to the client when its queue is full. It then takes back what the client has
            // switched on, and finds the vehicle interface gone as well.
            dying.isGone = true
            crowd.vehicle.isGone = true
            try crowd.vehicle.says("a", "b", "c")
            #expect(!dying.isConnected && !crowd.vehicle.isConnected)
            try crowd.all { try $0.hears("a", "b", "c") }
            try crowd.openLink()
            try crowd.vehicle.says("d")
            crowd.waits(Gathering.time)
            try crowd.all { try $0.hears("d") }
        }
    }
}

@Suite("Who reads along")
struct ReadingAlongTests {
    @Test("sees what somebody said before what relayd said or did because of it")
    func causes() async throws {
        let tap = try Crowd.run(clients: 2) { crowd in
            let (left, right) = (crowd.clients[0], crowd.clients[1])
            let request = DiagnosticRequest(id: 0x7E0, mode: 1, pid: 12, frequency: 1)
            for client in [left, right] {
                try client.says(.command(.diagnosticRequest(.add, request)))
            }
            try left.says(.command(.deviceID))
            try left.says(.command(.payloadFormat(.json)))
            try left.says(.command(.version))
            // Shared with the right client; then no device ID, for which an answer of relayd's own has waited.
            try crowd.vehicle.says(
                Crowd.signal("a").content,
                .response(CommandResponse(.diagnosticRequest, status: true)),
                Crowd.signal("b").content,
                .response(CommandResponse(.version, message: "8.2.1", status: true)))
            return crowd.tap
        }
        var said: [String] = []
        for item in try #require(await tap.next()) {
            switch item.content {
            case .heard(let messages): said += messages.map { "heard \(Self.word($0.message))" }
            case .answered(let message, let client):
                said.append("told \(client) \(Self.word(message))")
            default: break
            }
        }
        #expect(
            said == [
                "heard a", "heard diagnostic_request", "told #2 diagnostic_request", "heard b",
                "told #1 payload_format", "heard version",
            ])
    }

    private static func word(_ message: VehicleMessage) -> String {
        switch message.content {
        case .measurement(let measurement): measurement.name
        case .response(let response): response.command.word
        default: message.json
        }
    }
}

/// A hub between a vehicle interface and many clients; the test controls channels and clock.
private final class Crowd {
    let hub: Switchboard
    let tap = VehicleTap(maximumBytes: 64 << 10)
    private let loop = EmbeddedEventLoop()
    private(set) var vehicle: CrowdPeer
    var clients: [CrowdPeer] = []

    private init(queueBytes: Int) throws {
        var configuration = OpenXCConfiguration()
        configuration.queueBytes = queueBytes
        let settings = OpenXCSettings(configuration)
        hub = Switchboard(
            loop: loop, configuration: RelayConfiguration(), accessoryAddress: "openxc+test:",
            tapQueue: TapQueue(maximumBytes: 64 << 10),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            language: { [tap] in OpenXCLanguage($0, settings: settings, tap: tap) })
        vehicle = try CrowdPeer(loop)
        try openLink()
    }

    @discardableResult
    static func run<Value>(
        clients: Int = Gathering.clients + 1, queueBytes: Int = 64 << 10,
        _ body: (Crowd) throws -> Value
    ) throws -> Value {
        let crowd = try Crowd(queueBytes: queueBytes)
        for _ in 0..<clients { crowd.clients.append(try crowd.client()) }
        // relayd's first questions have been answered: nothing is due any more.
        try crowd.vehicle.forget()
        let value = try body(crowd)
        for peer in crowd.clients + [crowd.vehicle] where peer.isConnected { try peer.hangsUp() }
        crowd.loop.run()
        try crowd.loop.syncShutdownGracefully()
        return value
    }

    func openLink() throws {
        if vehicle.isConnected { try vehicle.hangsUp() }
        vehicle = try CrowdPeer(loop)
        try vehicle.channel.pipeline.syncOperations.addHandler(LinkConnection(hub: hub))
        try vehicle.connect()
    }

    func client() throws -> CrowdPeer {
        let client = try CrowdPeer(loop)
        try hub.gate.accept(client.channel, at: "127.0.0.1:50001", as: "127.0.0.1:9")
        try client.connect()
        return client
    }

    var now: NIODeadline { loop.now }

    func waits(_ time: TimeAmount) { loop.advanceTime(by: time) }

    func all(_ body: (CrowdPeer) throws -> Void) rethrows {
        for client in clients { try body(client) }
    }

    /// The lost frames by client, oldest client first.
    var lost: [UInt64] {
        hub.snapshot(missedBatches: 0).apps.sorted { $0.id < $1.id }.map { $0.lostFrames ?? 0 }
    }

    static func signal(_ name: String) -> VehicleMessage {
        VehicleMessage(.measurement(Measurement(name, .number(1))))
    }

    static func bytes(_ name: String) -> [UInt8] {
        var bytes: [UInt8] = []
        signal(name).appendJSON(to: &bytes)
        return bytes + [0]
    }
}

/// The other end of one of the hub's channels.
private final class CrowdPeer {
    let channel: EmbeddedChannel
    private let end = CrowdEnd()

    init(_ loop: EmbeddedEventLoop) throws {
        channel = EmbeddedChannel(loop: loop)
        try channel.pipeline.syncOperations.addHandler(end)
    }

    func connect() throws {
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 50001)).wait()
    }

    /// Whether the peer is gone without notice: the next write finds out.
    var isGone: Bool {
        get { end.isGone }
        set { end.isGone = newValue }
    }

    var isReading: Bool {
        get { !end.isBlocked }
        set {
            end.isBlocked = !newValue
            channel.isWritable = newValue
            if newValue { channel.flush() }
        }
    }

    var isConnected: Bool { channel.isActive }

    func says(_ names: String...) throws {
        try channel.writeInbound(ByteBuffer(bytes: names.flatMap { Crowd.bytes($0) }))
    }

    func says(_ contents: VehicleMessage.Content...) throws {
        var bytes: [UInt8] = []
        for content in contents {
            VehicleMessage(content).appendJSON(to: &bytes)
            bytes.append(0)
        }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    func hears(_ names: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
        try hears(bytes: names.flatMap { Crowd.bytes($0) }, sourceLocation: sourceLocation)
    }

    func hears(bytes wanted: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws {
        channel.embeddedEventLoop.run()
        let heard = try heard()
        #expect(
            String(decoding: heard, as: UTF8.self) == String(decoding: wanted, as: UTF8.self),
            sourceLocation: sourceLocation)
    }

    func forget() throws { _ = try heard() }

    private func heard() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let more = try channel.readOutbound(as: ByteBuffer.self) {
            bytes += more.readableBytesView
        }
        return bytes
    }

    func hangsUp() throws {
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
    }
}

/// The socket as a channel sees it: accepts what is flushed, does not accept it, or is found gone.
private final class CrowdEnd: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    var isBlocked = false
    var isGone = false

    func flush(context: ChannelHandlerContext) {
        if isGone {
            context.close(promise: nil)
        } else if !isBlocked {
            context.flush()
        }
    }
}
