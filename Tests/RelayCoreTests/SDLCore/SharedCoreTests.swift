// Apps that come, go and crash between the hub and the stand-in for sdl_core: nothing of one app reaches
// another, whatever it left half. On embedded channels and a clock that moves when told.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Apps that share sdl_core through the hub are not mixed up")
struct SharedCoreTests {
    private func file(
        _ session: UInt8, _ contents: UInt8, service: ServiceType, name: String = "cover.png"
    ) -> [Frame] {
        Frame.putFile(
            session, name: name, contents: ByteBuffer(repeating: contents, count: 3000),
            correlationID: 900, service: service, frameBytes: 1100)
    }
}

extension SharedCoreTests {
    @Test(
        "a crash in mid-file: the next app's file with the same IDs arrives as it was sent",
        arguments: [ServiceType.bulk, .rpc], 0...2)
    func crashInMidFile(service: ServiceType, frames: Int) throws {
        for seed in UInt64(1)...5 {
            let bench = try SharedCoreBench(seed: seed)
            let first = try bench.connect()
            #expect(try bench.register(first, "app") == "SUCCESS")
            for frame in file(first.session, 0x7A, service: service).prefix(1 + frames) {
                try first.say(frame)
            }
            try bench.pass(.milliseconds(1))
            try first.channel.close().wait()
            try bench.pass(.milliseconds(700))
            #expect(bench.switchboard.sdl.router.farewellSessions == 0)

            let next = try bench.connect()
            #expect(try bench.register(next, "app") == "SUCCESS", "a ghost is left")
            #expect(next.session == first.session)
            for frame in file(next.session, 0x79, service: service, name: "other.png") {
                try next.say(frame)
            }
            try bench.pass(.milliseconds(100))
            let answers = try next.heard().filter { $0.correlationID == 900 }
            #expect(answers.map(\.resultCode) == ["SUCCESS"])
            #expect(bench.core.stored.map(\.name) == ["other.png"])
            #expect(bench.core.stored.map(\.contents) == [ByteBuffer(repeating: 0x79, count: 3000)])
            // Nothing of the dead app comes later, when the head unit cleans up.
            try bench.pass(.seconds(11))
            try next.say(.request(next.session, .show, 901))
            try bench.pass(.milliseconds(100))
            #expect(try next.heard().compactMap(\.correlationID).filter { $0 != 0 } == [901])
            #expect(bench.core.counters.malformed == 0)
        }
    }

    @Test(
        "an app pauses alone in a file and sends another with the same ID: that one arrives whole")
    func sameMessageIDAfterPause() throws {
        for seed in UInt64(1)...5 {
            let bench = try SharedCoreBench(seed: seed)
            let app = try bench.connect()
            #expect(try bench.register(app, "app") == "SUCCESS")
            for frame in file(app.session, 0x7A, service: .bulk).prefix(2) { try app.say(frame) }
            try bench.pass(.seconds(11))
            let other = file(app.session, 0x79, service: .bulk, name: "other.png")
            for frame in other { try app.say(frame) }
            try bench.pass(.milliseconds(100))
            let answers = try app.heard().filter { $0.correlationID == 900 }
            #expect(answers.map(\.resultCode) == ["SUCCESS"])
            #expect(bench.core.stored.map(\.name) == ["other.png"])
            #expect(bench.core.counters.malformed == 0)
        }
    }

    @Test("a message that was given up while its app was silent: the goodbye waits for no answer")
    func givenUp() throws {
        for seed in UInt64(1)...5 {
            let bench = try SharedCoreBench(seed: seed)
            let (first, other) = (try bench.connect(), try bench.connect())
            #expect(try bench.register(first, "first") == "SUCCESS")
            #expect(try bench.register(other, "other") == "SUCCESS")
            for frame in file(first.session, 0x7A, service: .bulk).prefix(2) {
                try first.say(frame)
            }
            try bench.pass(.seconds(11))
            #expect(try first.heard().filter { $0.correlationID == 900 }.isEmpty)
            try other.say(.request(other.session, .show, 5))
            try bench.pass(.milliseconds(100))
            let refusals = try first.heard().filter { $0.correlationID == 900 }
            #expect(refusals.map(\.resultCode) == ["INVALID_DATA"])
            try first.channel.close().wait()
            try bench.pass(.milliseconds(20))
            #expect(bench.switchboard.sdl.router.farewellSessions == 0)

            let next = try bench.connect()
            #expect(try bench.register(next, "next") == "SUCCESS")
            #expect(next.session == first.session)
            // A PutFile that names no file.
            try next.say(.request(next.session, .putFile, 900))
            try bench.pass(.milliseconds(100))
            let answers = try next.heard().filter { $0.correlationID == 900 }
            #expect(answers.map(\.resultCode) == ["INVALID_DATA"])
            #expect(bench.core.counters.malformed == 0)
        }
    }

    @Test("a crash leaves what the app needs to resume, being sent away does not")
    func resumption() throws {
        for isSentAway in [false, true] {
            let bench = try SharedCoreBench(seed: 3)
            let app = try bench.connect()
            #expect(try bench.register(app, "app") == "SUCCESS")
            try app.say(.request(app.session, .addCommand, 5, json: #"{"cmdID":1}"#))
            try bench.pass(.milliseconds(100))
            if isSentAway {
                let id = try #require(bench.switchboard.apps.keys.first)
                #expect(bench.switchboard.disconnect(id, because: .byOperator(nil)))
            } else {
                try app.channel.close().wait()
            }
            try bench.pass(.milliseconds(300))
            #expect(bench.core.running.isEmpty)
            #expect(bench.core.resumption["app"] == nil ? isSentAway : !isSentAway)
            #expect(bench.core.ends.map(\.isUnexpected) == [!isSentAway])
        }
    }

    @Test("a stop unregisters all apps, and none of them counts as unexpectedly gone")
    func stop() throws {
        let bench = try SharedCoreBench(seed: 4)
        for number in 1...8 {
            #expect(try bench.register(bench.connect(), "app\(number)") == "SUCCESS")
        }
        var isDone = false
        bench.switchboard.shutDown { isDone = true }
        try bench.pass(.milliseconds(900))
        #expect(isDone)
        #expect(bench.core.ends.count == 8)
        #expect(bench.core.ends.allSatisfy { !$0.isUnexpected })
        #expect(bench.core.running.isEmpty)
    }

    @Test("EndService is lost on the line: the head unit's own watch ends what relayd gave up")
    func lostEnd() throws {
        let bench = try SharedCoreBench(seed: 6)
        let app = try bench.connect()
        #expect(try bench.register(app, "app") == "SUCCESS")
        try app.say(.control(.heartbeat, service: .control, session: app.session, messageID: 7))
        try bench.pass(.milliseconds(100))
        bench.core.habits.lostEndChance = 1
        try app.channel.close().wait()
        try bench.pass(.milliseconds(10_500))
        #expect(bench.switchboard.sdl.router.farewellSessions == 0)
        #expect(bench.core.running.count == 1)
        try bench.pass(.seconds(4))
        #expect(bench.core.running.isEmpty)
        bench.core.habits.lostEndChance = 0
        #expect(try bench.register(bench.connect(), "app") == "SUCCESS")
    }

    @Test("a head unit that refuses protection leaves no ghost")
    func refusedProtection() throws {
        let bench = try SharedCoreBench(seed: 5)
        let app = try bench.connect()
        #expect(try bench.register(app, "app") == "SUCCESS")
        try app.say(
            Frame(
                version: 5, isEncrypted: true, type: .control, service: .rpc, info: 1,
                sessionID: app.session))
        try bench.pass(.milliseconds(100))
        try app.channel.close().wait()
        try bench.pass(.milliseconds(300))
        #expect(try bench.register(bench.connect(), "app") == "SUCCESS")
    }

    @Test("a control frame that the head unit would not take brings nothing of its payload to it")
    func framesInAPayload() throws {
        let bench = try SharedCoreBench(seed: 6)
        let victim = try bench.connect()
        #expect(try bench.register(victim, "victim") == "SUCCESS")
        let attacker = try bench.connect()
        #expect(try bench.register(attacker, "attacker") == "SUCCESS")
        let end = Frame.control(.endService, service: .rpc, session: victim.session)
        var payload = end.wire
        payload.writeRepeatingByte(0, count: 131_073 - payload.readableBytes)
        try attacker.say(
            .control(
                .heartbeatACK, service: .control, session: attacker.session, payload: payload))
        try bench.pass(.seconds(1))
        #expect(bench.core.running.map(\.id) == [victim.session])
        #expect(bench.core.counters.malformed == 0)
        #expect(!attacker.channel.isActive)
    }

    @Test(
        "random lives and deaths: every file is of one app, every answer its asker's",
        arguments: 1...12)
    func random(seed: Int) throws {
        let bench = try SharedCoreBench(seed: UInt64(seed))
        var random = SeededGenerator(seed: UInt64(seed))
        var apps: [(app: SharedApp, number: Int, requests: Int32)] = []
        var count = 0
        for _ in 0..<250 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...1 where apps.count < 4:
                count += 1
                let app = try bench.connect()
                let result = try bench.register(app, "app\(count)")
                #expect(result == "SUCCESS", "seed \(seed), app \(count)")
                apps.append((app, count, 0))
            case 2...6 where !apps.isEmpty:
                let index = Int.random(in: apps.indices, using: &random)
                let (app, number, requests) = apps[index]
                apps[index].requests += 1
                let service: ServiceType = Bool.random(using: &random) ? .bulk : .rpc
                let all = Frame.putFile(
                    app.session, name: "file",
                    contents: ByteBuffer(repeating: UInt8(truncatingIfNeeded: number), count: 700),
                    correlationID: Int32(number) * 1000 + requests,
                    message: UInt32.random(in: 70...73, using: &random), service: service,
                    frameBytes: 300)
                // Mostly whole.
                let isWhole = Int.random(in: 0..<3, using: &random) > 0
                let length = isWhole ? all.count : Int.random(in: 1..<all.count, using: &random)
                for frame in all.prefix(length) { try app.say(frame) }
            case 7...8 where !apps.isEmpty:
                let index = Int.random(in: apps.indices, using: &random)
                let (app, _, _) = apps.remove(at: index)
                if Bool.random(using: &random), let hash = bench.core.sessions[app.session]?.hash {
                    try app.say(.endService(version: 5, sessionID: app.session, hashID: hash))
                    if Bool.random(using: &random) { try bench.pass(.milliseconds(30)) }
                }
                try app.channel.close().wait()
            default:
                try bench.pass(.milliseconds(Int64.random(in: 1...40, using: &random)))
            }
            for (app, number, _) in apps {
                let strangers = try app.heard().compactMap(\.correlationID)
                    .filter { $0 != 0 && $0 != 65_529 && $0 / 1000 != Int32(number) }
                #expect(strangers == [], "seed \(seed), app \(number)")
            }
        }
        for app in apps { try app.app.channel.close().wait() }
        try bench.pass(.seconds(3))
        #expect(bench.switchboard.sdl.router.farewellSessions == 0)
        #expect(bench.core.running.isEmpty)
        #expect(bench.core.counters.malformed == 0)
        for file in bench.core.stored {
            let owner = UInt8(truncatingIfNeeded: Int(file.appID.dropFirst(3)) ?? -1)
            #expect(file.lives.count == 1, "seed \(seed)")
            #expect(file.contents == ByteBuffer(repeating: owner, count: 700), "seed \(seed)")
        }
    }
}
