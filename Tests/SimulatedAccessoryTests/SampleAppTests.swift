import NIOCore
import RelayTesting
import SDLProtocol
import SampleApp
import SimulatedAccessory
import Testing

/// Apps and one head unit in memory; time jumps to the next deadline.
private struct Bench {
    var accessory: SimulatedAccessory
    var apps: [SampleApp]
    var lines: [[String]]
    var now = NIODeadline.uptimeNanoseconds(1)
    /// The apps that own a session, and below those that wait for one.
    private var owners: [UInt8: Int] = [:]
    private var waiting: [Int] = []

    init(_ options: [String: String] = [:], apps: [SampleApp]) throws {
        accessory = SimulatedAccessory(
            configuration: try .init(options: options), generator: SeededGenerator(seed: 7))
        self.apps = apps
        lines = apps.map { _ in [] }
    }

    mutating func run() {
        for index in apps.indices { carry(apps[index].connected(at: now), of: index) }
        while apps.contains(where: { $0.outcome == nil }) {
            let deadlines = [accessory.nextDeadline] + apps.map(\.nextDeadline)
            guard let next = deadlines.compactMap({ $0 }).min() else { return }
            now = max(now, next)
            deliver(accessory.advance(to: now))
            for index in apps.indices { carry(apps[index].advance(to: now), of: index) }
        }
    }

    mutating func leave(_ index: Int) { carry(apps[index].leave(at: now), of: index) }

    private mutating func carry(_ output: SampleApp.Output, of index: Int) {
        lines[index] += output.lines
        for frame in output.frames {
            if frame.sessionID == 0 { waiting.append(index) }
            deliver(accessory.receive(frame, at: now))
        }
    }

    private mutating func deliver(_ frames: [Frame]) {
        for frame in frames {
            let isGrant = frame.controlType == .startServiceACK && frame.service == .rpc
            if isGrant { owners[frame.sessionID] = waiting.removeFirst() }
            let index =
                frame.sessionID == 0 ? waiting.removeFirst() : owners[frame.sessionID] ?? 0
            carry(apps[index].receive(frame, at: now), of: index)
        }
    }
}

@Suite struct SampleAppTests {
    @Test(
        "the sample app goes through with every protocol version and a small MTU",
        arguments: [
            [:], ["protocol": "5.0.0"], ["protocol": "4"], ["protocol": "3"],
            ["protocol": "2"], ["protocol": "1"], ["mtu": "512"],
        ])
    func goesThrough(options: [String: String]) throws {
        var bench = try Bench(options, apps: [SampleApp()])
        bench.run()
        #expect(bench.apps[0].outcome == .finished)
        #expect(bench.accessory.sessionIDs.isEmpty)
        #expect(bench.accessory.nextDeadline == nil)
        #expect(bench.accessory.counters.malformedMessages == 0)
        #expect(bench.lines[0].count { $0.hasPrefix("vehicle data") } >= 3)
    }

    @Test("an idle one registers and does nothing else until it is to leave")
    func idle() throws {
        var configuration = SampleApp.Configuration()
        configuration.isIdle = true
        configuration.stays = true
        configuration.hmiTypes = ["MEDIA", "NAVIGATION"]
        var bench = try Bench(apps: [SampleApp(configuration: configuration)])
        bench.run()
        #expect(bench.apps[0].step == .stay && bench.apps[0].outcome == nil)
        #expect(bench.lines[0].count == 3, "\(bench.lines[0])")
        bench.leave(0)
        bench.run()
        #expect(bench.apps[0].outcome == .finished && bench.accessory.sessionIDs.isEmpty)
    }

    @Test("two apps on one link go through side by side")
    func twoApps() throws {
        var other = SampleApp.Configuration()
        other.name = "Other"
        other.appID = "other"
        var bench = try Bench(apps: [SampleApp(), SampleApp(configuration: other)])
        bench.run()
        #expect(bench.apps.contains { $0.outcome == .finished })
        // The screen has room for one alert: the later app gets REJECTED.
        for app in bench.apps {
            if case .failed(let reason) = app.outcome {
                #expect(reason.hasPrefix("Alert: REJECTED"))
            }
        }
    }

    @Test("a refused registration is reported with name, result and what to do")
    func duplicate() throws {
        var bench = try Bench(apps: [SampleApp(), SampleApp()])
        bench.run()
        #expect(bench.apps[0].outcome == .finished)
        #expect(
            bench.apps[1].outcome
                == .failed(
                    "RegisterAppInterface: APPLICATION_REGISTERED_ALREADY; another app with this "
                        + "name or app ID is registered, choose others"))
    }

    @Test("an app that is never activated gives up and says what to do")
    func neverActivated() throws {
        var bench = try Bench(["activate": "off"], apps: [SampleApp()])
        bench.run()
        #expect(
            bench.apps[0].outcome
                == .failed(
                    "waited 120 s for HMI level FULL, and it did not come; pick the app on the head unit"
                ))
    }

    @Test("silence, refusal and a closed connection are told apart")
    func failures() throws {
        let now = NIODeadline.uptimeNanoseconds(1)
        var silent = SampleApp()
        _ = silent.connected(at: now)
        _ = silent.advance(to: now + .seconds(20))
        #expect(
            silent.outcome
                == .failed("waited 20 s for the answer to StartService, and it did not come"))

        var refused = SampleApp()
        _ = refused.connected(at: now)
        let nak = Frame(
            version: 1, type: .control, service: .rpc,
            info: ControlFrameType.startServiceNAK.rawValue, sessionID: 0)
        _ = refused.receive(nak, at: now)
        #expect(refused.outcome == .failed("StartService was refused"))

        var closed = SampleApp()
        _ = closed.connected(at: now)
        _ = closed.disconnected()
        #expect(
            closed.outcome
                == .failed(
                    "the connection was closed while the app waited for the answer to StartService")
        )
    }

    @Test("what a head unit calls itself moves no cursor, and a refusal neither")
    func hostileNames() throws {
        let now = NIODeadline.uptimeNanoseconds(1)
        var app = SampleApp()
        _ = app.connected(at: now)
        let grant = Frame.startServiceACK(
            session: 1, extra: [(ControlKey.make, .string("a\u{1B}[2Jb\u{202E}"))])
        let lines = app.receive(grant, at: now).lines
        #expect(lines.contains { $0.contains("a[2Jb") }, "\(lines)")
        let refusal = Frame.rpc(
            session: 1, .response, .registerAppInterface,
            json: #"{"success":false,"resultCode":"\u001b[31mNO","info":"\u0007"}"#)
        _ = app.receive(refusal, at: now)
        guard case .failed(let reason) = app.outcome else {
            Issue.record("a refused registration is the end")
            return
        }
        #expect(!reason.utf8.contains { $0 < 0x20 }, "\(reason)")
    }

    @Test("an app that stays leaves politely when told to")
    func stays() throws {
        var configuration = SampleApp.Configuration()
        configuration.stays = true
        var accessory = SimulatedAccessory()
        var app = SampleApp(configuration: configuration)
        var now = NIODeadline.uptimeNanoseconds(1)
        var pending = app.connected(at: now).frames
        func talk() {
            while !pending.isEmpty {
                let heard = accessory.receive(pending.removeFirst(), at: now)
                for frame in heard { pending += app.receive(frame, at: now).frames }
            }
        }
        talk()
        while app.step != .stay, let next = accessory.nextDeadline {
            now = next
            for frame in accessory.advance(to: now) {
                pending += app.receive(frame, at: now).frames
            }
            talk()
        }
        #expect(app.step == .stay && app.nextDeadline == nil)
        pending = app.leave(at: now).frames
        talk()
        #expect(app.outcome == .finished)
        #expect(accessory.sessionIDs.isEmpty)
    }
}
