// A hub that speaks OpenXC, between a vehicle interface and clients made of code, over real TCP.

import Logging
import NIOCore
import NIOPosix
import OpenXCProtocol
import RelayCore
import RelayTesting
import Synchronization
import Testing

@testable import OpenXCRelay

@Suite("OpenXC in the hub")
struct OpenXCLanguageTests {
    @Test("each client hears the same in its own form")
    func forms() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let (json, protobuf) = (try await bench.client(), try await bench.client())
            try await protobuf.says(.command(.payloadFormat(.protobuf)))
            // In the old format; later messages use the new one.
            try await protobuf.hears(
                #"{"command_response":"payload_format","message":"","#
                    + #""status":true}"# + "\0")
            let speed = VehicleMessage(.measurement(Measurement("vehicle_speed", .number(12.5))))
            try await vehicle.says(#"{"name":"vehicle_speed","value":12.5}"# + "\0")
            try await json.hears(#"{"name":"vehicle_speed","value":12.5}"# + "\0")
            try await protobuf.hears(speed, in: .protobuf)
            // The vehicle interface may speak protobuf as well.
            try await vehicle.send(bytes: try speed.bytes(in: .protobuf))
            try await json.hears(#"{"name":"vehicle_speed","value":12.5}"# + "\0")
            try await protobuf.hears(speed, in: .protobuf)
        }
    }

    @Test("a client that began with lines gets lines again when it is back from protobuf")
    func lines() async throws {
        var settings = OpenXCConfiguration()
        settings.framing = .lines
        try await VehicleBench.run(settings) { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            let answer = #"{"command_response":"payload_format","message":"","status":true}"#
            try await client.says(.command(.payloadFormat(.protobuf)))
            try await client.hears(answer + "\n")
            try await client.says(.command(.payloadFormat(.json)))
            try await client.hears(
                VehicleMessage(.response(CommandResponse(.payloadFormat, status: true))),
                in: .protobuf)
            try await vehicle.says(#"{"name":"a","value":1}"# + "\0")
            try await client.hears(#"{"name":"a","value":1}"# + "\n")
        }
    }

    @Test("an answer goes to who asked, and what relayd asks for itself to nobody")
    func answers() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let (left, right) = (try await bench.client(), try await bench.client())
            try await vehicle.answers("platform", "FORDBOARD")
            try await vehicle.answers("version", "8.2.1 (default)")
            try await right.says(.command(.version))
            try await vehicle.hears(#"{"command":"version"}"# + "\0")
            try await vehicle.answers("version", "8.2.1 (default)")
            try await right.hears(
                #"{"command_response":"version","message":"8.2.1 (default)","status":true}"#
                    + "\0")
            try await vehicle.says(#"{"name":"a","value":1}"# + "\0")
            try await left.hears(#"{"name":"a","value":1}"# + "\0")
            try await bench.until { $0.link.model == "FORDBOARD 8.2.1 (default)" }
        }
    }

    @Test("what a client that dies has asked for again and again is taken back")
    func dies() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            let request = DiagnosticRequest(bus: 1, id: 0x7E0, mode: 1, pid: 12, frequency: 1)
            try await client.says(.command(.diagnosticRequest(.add, request)))
            try await vehicle.hears(
                #"{"command":"diagnostic_request","action":"add","request":{"bus":1,"id":2016,"#
                    + #""mode":1,"pid":12,"frequency":1}}"# + "\0")
            try await client.channel.close()
            try await vehicle.hears(
                #"{"command":"diagnostic_request","action":"cancel","request":{"bus":1,"id":2016,"#
                    + #""mode":1,"pid":12,"frequency":1}}"# + "\0")
        }
    }

    @Test("clients stay when the vehicle interface goes, and hear it when it is back")
    func unplugged() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            try await client.says(.command(.passthrough(bus: 1, enabled: true)))
            try await vehicle.hears(#"{"command":"passthrough","bus":1,"enabled":true}"# + "\0")
            try await vehicle.channel.close()
            try await bench.until { !$0.link.isUp }
            // Not passed on; no answer comes.
            try await client.says(.command(.version))
            try await bench.until { $0.apps.first?.refusedFrames == 1 }
            let again = try await bench.openLink(
                hearing: #"{"command":"passthrough","bus":1,"enabled":true}"# + "\0")
            try await again.says(#"{"name":"a","value":1}"# + "\0")
            try await client.hears(#"{"name":"a","value":1}"# + "\0")
        }
    }

    @Test("a crowd hears everything in order, with answers between, and the last words of a link")
    func crowd() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            // Before anything slow: answers for which relayd has stopped waiting go to all clients.
            try await vehicle.answers("platform", "FORDBOARD")
            try await vehicle.answers("version", "8.2.1")
            try await bench.until { $0.link.model == "FORDBOARD 8.2.1" }
            var clients: [FramePeer] = []
            for _ in 0...Gathering.clients { clients.append(try await bench.client()) }
            let asking = clients[3]
            var (all, own) = ("", "")
            for round in 0..<20 {
                let message = #"{"name":"a","value":\#(round)}"# + "\0"
                try await vehicle.says(message)
                all += message
                own += message
                guard round.isMultiple(of: 5) else { continue }
                // A command that the vehicle interface answers, and one that relayd answers.
                try await asking.says(.command(.version))
                try await vehicle.hears(#"{"command":"version"}"# + "\0")
                try await vehicle.answers("version", "8.2.1")
                own += #"{"command_response":"version","message":"8.2.1","status":true}"# + "\0"
                try await asking.hears(own)
                try await asking.says(.command(.payloadFormat(.json)))
                try await asking.hears(
                    #"{"command_response":"payload_format","message":"","status":true}"# + "\0")
                own = ""
            }
            try await vehicle.says(#"{"name":"last","value":1}"# + "\0")
            try await vehicle.channel.close()
            for client in clients {
                try await client.hears(
                    (client === asking ? own : all) + #"{"name":"last","value":1}"# + "\0")
            }
        }
    }

    @Test("a client that does not read misses whole messages, and holds nobody back")
    func slow() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let reader = try await bench.client()
            let sleeper = try await bench.client(readsByItself: false)
            let message =
                #"{"name":""# + String(repeating: "x", count: 80) + #"","value":1}"# + "\0"
            // Much data at once: a client that reads nothing for a minute is disconnected.
            let messages = String(repeating: message, count: 20_000)
            var sent = 0
            var apps = try await bench.relay.snapshot().apps
            while apps.allSatisfy({ ($0.lostFrames ?? 0) == 0 }) {
                try #require(apps.count == 2)
                try await vehicle.says(messages)
                try await reader.hears(messages)
                sent += 20_000
                apps = try await bench.relay.snapshot().apps
            }
            let lost = apps.reduce(0) { $0 + Int($1.lostFrames ?? 0) }
            try await sleeper.channel.setOption(.autoRead, value: true).get()
            try await sleeper.hears(String(repeating: message, count: sent - lost))
            try await vehicle.says(#"{"name":"a","value":1}"# + "\0")
            try await sleeper.hears(#"{"name":"a","value":1}"# + "\0")
            #expect(try await !bench.relay.snapshot().link.isHeld)
        }
    }

    @Test("no more waits for a client than its queue holds, however much it could have been handed")
    func queue() async throws {
        var settings = OpenXCConfiguration()
        settings.queueBytes = 64 << 10
        try await VehicleBench.run(settings) { bench in
            let vehicle = try await bench.openLink()
            let reader = try await bench.client()
            let sleeper = try await bench.client(readsByItself: false)
            let message =
                #"{"name":""# + String(repeating: "x", count: 80) + #"","value":1}"# + "\0"
            let messages = String(repeating: message, count: 5000)
            var sent = 0
            var apps = try await bench.relay.snapshot().apps
            while apps.allSatisfy({ ($0.lostFrames ?? 0) == 0 }) {
                try #require(apps.count == 2)
                try await vehicle.says(messages)
                try await reader.hears(messages)
                sent += 5000
                apps = try await bench.relay.snapshot().apps
                #expect(apps.allSatisfy { $0.queuedBytes <= settings.queueBytes })
            }
            // The client has lost the messages that did not fit, and no others.
            let slow = try #require(apps.first { ($0.lostFrames ?? 0) > 0 })
            #expect(slow.queuedBytes > settings.queueBytes / 2)
            #expect(Int(slow.counters.framesOut + (slow.lostFrames ?? 0)) == sent)
            try await sleeper.channel.setOption(.autoRead, value: true).get()
            try await sleeper.hears(
                String(repeating: message, count: Int(slow.counters.framesOut)))
        }
    }

    @Test("a read with more than the queue holds costs a client that reads nothing")
    func smallQueue() async throws {
        var settings = OpenXCConfiguration()
        settings.queueBytes = 4 << 10
        try await VehicleBench.run(settings) { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            // In protobuf; the same message is several times as long in JSON.
            let text = Measurement("s", .text(String(repeating: "\u{1}", count: 1000)))
            let bytes = try VehicleMessage(.measurement(text)).bytes(in: .protobuf)
            let heard = try VehicleMessage(.measurement(text)).bytes(in: .json)
            #expect(heard.readableBytes > settings.queueBytes)
            for _ in 0..<20 { try await vehicle.send(bytes: bytes) }
            for _ in 0..<20 {
                #expect(try await client.next(bytes: heard.readableBytes) == heard)
            }
            #expect(try await bench.relay.snapshot().apps.allSatisfy { $0.lostFrames == 0 })
        }
    }

    @Test("a client with a rate hears the state in which a signal comes to rest")
    func rests() async throws {
        var settings = OpenXCConfiguration()
        settings.subscription.maximumRate = 10
        try await VehicleBench.run(settings) { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            try await vehicle.says(
                (1...5).map { #"{"name":"a","value":\#($0)}"# + "\0" }.joined())
            try await client.hears(
                #"{"name":"a","value":1}"# + "\0" + #"{"name":"a","value":5}"# + "\0")
        }
    }

    @Test("rubbish reaches nobody, and the client that sends it goes on")
    func rubbish() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            try await client.send(
                bytes: ByteBuffer(bytes: [0xFF, 0x00, 0x7B, 0x7B] + Array("}}{{ rubbish\0".utf8)))
            try await client.says(.can(CANMessage(bus: 1, id: 1, data: [1])))
            try await client.says(.command(.deviceID))
            // Neither the rubbish nor the write, which is not permitted.
            try await vehicle.hears(#"{"command":"device_id"}"# + "\0")
        }
    }

    @Test("clients hear whole messages of kinds they know, in the usual form, and nothing else")
    func framing() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let (json, protobuf) = (try await bench.client(), try await bench.client())
            try await protobuf.says(.command(.payloadFormat(.protobuf)))
            try await protobuf.hears(
                #"{"command_response":"payload_format","message":"","status":true}"# + "\0")
            // Empty pieces, line ends, the first line of a trace, an unknown object, and an echo.
            try await vehicle.says(
                "\0\0\r\n\0" + #"{"metadata":{"version":1}}"# + "\0" + #"{"foo":1}"# + "\r\n"
                    + #"{"command":"version"}"# + "\0\0")
            // The identifier under the name in the format's text, an old response, and an unknown member.
            try await vehicle.says(
                #"{"message_id":2016,"bus":1,"mode":9,"success":true,"pid":2,"payload":"4902"}"#
                    + "\r\n" + #"{"status":true,"command_response":"passthrough"}"# + "\r\n"
                    + #"{"name":"a","value":1,"nobody_knows":[1]}"# + "\r\n")
            try await json.hears(
                #"{"bus":1,"id":2016,"mode":9,"success":true,"pid":2,"payload":"0x4902"}"# + "\0"
                    + #"{"command_response":"passthrough","message":"","status":true}"# + "\0"
                    + #"{"name":"a","value":1}"# + "\0")
            let answer = DiagnosticResponse(
                bus: 1, id: 2016, mode: 9, pid: 2, success: true, payload: [0x49, 0x02])
            try await protobuf.hears(VehicleMessage(.diagnostic(answer)), in: .protobuf)
            try await protobuf.hears(
                VehicleMessage(.response(CommandResponse(.passthrough, status: true))),
                in: .protobuf)
            try await protobuf.hears(
                VehicleMessage(.measurement(Measurement("a", .number(1)))), in: .protobuf)
        }
    }

    @Test("a client that may write does")
    func writes() async throws {
        var settings = OpenXCConfiguration()
        settings.writes = [try #require(ClientWrites("127.0.0.0/8 can:1:0x123"))]
        try await VehicleBench.run(settings) { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            try await client.says(.can(CANMessage(bus: 1, id: 0x124, data: [1])))
            try await client.says(.can(CANMessage(bus: 1, id: 0x123, data: [1])))
            try await vehicle.hears(#"{"bus":1,"id":291,"data":"0x01"}"# + "\0")
            try await bench.until { $0.apps.first?.refusedFrames == 1 }
        }
    }

    @Test("relayd takes everything back when it stops")
    func stop() async throws {
        try await VehicleBench.run { bench in
            let vehicle = try await bench.openLink()
            let client = try await bench.client()
            try await client.says(.command(.acceptanceFilterBypass(bus: 1, bypass: true)))
            try await vehicle.hears(#"{"command":"af_bypass","bus":1,"bypass":true}"# + "\0")
            try await bench.stop()
            try await vehicle.hears(#"{"command":"af_bypass","bus":1,"bypass":false}"# + "\0")
        }
    }

    @Test("a flood is looked at in small pieces, between which everybody else has his turn")
    func flood() async throws {
        try await VehicleBench.run { bench in
            let client = try await bench.client()
            let loop = bench.relay.loop
            let most = Mutex(0)
            let watch = try await bench.relay.withLanguage { language in
                let language = NIOLoopBound(language as? OpenXCLanguage, eventLoop: loop)
                let seen = NIOLoopBoundBox(0, eventLoop: loop)
                return loop.scheduleRepeatedTask(initialDelay: .zero, delay: .microseconds(50)) {
                    _ in
                    let count = language.value?.snapshot().clients.first?.counters.framesIn ?? 0
                    most.withLock { $0 = max($0, Int(count) - seen.value) }
                    seen.value = Int(count)
                }
            }
            defer { watch.cancel() }
            let command = #"{"command":"version"}"# + "\0"
            for _ in 0..<5 { try await client.says(String(repeating: command, count: 1000)) }
            try await bench.until { $0.apps.first?.counters.framesIn == 5_000 }
            // The commands of one or two reads.
            let limit = 2 * (1 + OpenXCLanguage.clientReadBytes / command.utf8.count)
            #expect(most.withLock(\.self) <= limit)
            #expect(most.withLock(\.self) > 0)
        }
    }
}

/// A hub between a vehicle interface and clients made of code.
private struct VehicleBench {
    let relay: Relay
    let accessory: FakeAccessory
    let port: Int

    static func run(
        _ settings: OpenXCConfiguration = OpenXCConfiguration(),
        _ body: (VehicleBench) async throws -> Void
    ) async throws {
        var configuration = RelayConfiguration()
        configuration.farewellTimeout = .milliseconds(100)
        let hub = configuration
        try await FakeAccessory.run { accessory in
            let relay = try await Relay.start(
                on: MultiThreadedEventLoopGroup.singleton.next(), configuration: hub,
                accessoryAddress: "openxc+tcp:127.0.0.1:\(accessory.port)",
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                // A long timeout for busy machines: later answers would go to all clients.
                language: {
                    OpenXCLanguage(
                        $0, settings: OpenXCSettings(settings), answerTimeout: .minutes(1))
                })
            let listener = try await AppListener.open(
                [ListenAddress(host: "127.0.0.1", port: 0)], for: relay)
            let bench = VehicleBench(
                relay: relay, accessory: accessory, port: listener.addresses.first?.port ?? 0)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(bench))
            } catch {
                outcome = .failure(error)
            }
            await listener.close()
            await relay.shutDown()
            try outcome.get()
        }
    }

    /// The vehicle interface's end, after relayd's first questions have been read.
    func openLink(hearing words: String = "") async throws -> FramePeer {
        let relay = relay
        _ = try await ClientBootstrap(group: relay.loop)
            .channelInitializer { relay.configureLink($0) }
            .connect(host: "127.0.0.1", port: accessory.port).get()
        let link = try await accessory.nextLink()
        try await link.hears(
            words + #"{"command":"platform"}"# + "\0" + #"{"command":"version"}"# + "\0")
        return link
    }

    /// A connected client that the hub knows.
    func client(readsByItself: Bool = true) async throws -> FramePeer {
        let before = try await relay.snapshot().apps.count
        let client = try await FramePeer.connect(port: port, readsByItself: readsByItself)
        try await until { $0.apps.count > before }
        return client
    }

    func stop() async throws { await relay.shutDown() }

    func until(_ condition: (RelaySnapshot) -> Bool) async throws {
        let deadline = NIODeadline.now() + FramePeer.patience
        while NIODeadline.now() < deadline {
            if condition(try await relay.snapshot()) { return }
            await Task.yield()
        }
        throw FramePeer.Failure.nothingCame
    }
}

extension FramePeer {
    fileprivate func says(_ text: String) async throws {
        try await send(bytes: ByteBuffer(string: text))
    }

    fileprivate func says(_ content: VehicleMessage.Content) async throws {
        try await send(bytes: VehicleMessage(content).bytes(in: .json))
    }

    fileprivate func answers(_ command: String, _ message: String) async throws {
        try await says(
            #"{"command_response":"\#(command)","message":"\#(message)","status":true}"# + "\0")
    }

    fileprivate func hears(_ text: String) async throws {
        let bytes = try await next(bytes: text.utf8.count)
        #expect(String(buffer: bytes) == text)
    }

    fileprivate func hears(_ message: VehicleMessage, in framing: MessageFraming) async throws {
        let wanted = try message.bytes(in: framing)
        #expect(try await next(bytes: wanted.readableBytes) == wanted)
    }
}

extension VehicleMessage {
    fileprivate func bytes(in framing: MessageFraming) throws -> ByteBuffer {
        var bytes: [UInt8] = []
        try framing.append(self, to: &bytes)
        return ByteBuffer(bytes: bytes)
    }
}
