// Frames that fault rules let go at once reach the head unit no faster than it tolerates.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What a fault rule lets go at once is no flood")
struct FaultPaceTests {
    private static func shows(_ count: Int, from start: Int = 1) -> [Frame] {
        (start..<start + count).map { Frame.rpc(session: 1, message: UInt32($0)) }
    }

    @Test("held frames leave in order, never more of them in a second than the limit")
    func burst() throws {
        let bench = try FaultBench(("rpc:Show", "hold"), framesPerSecond: 100)
        let frames = Self.shows(250)
        #expect(bench.app("radio", says: frames) == [])
        #expect(bench.remove(1))
        var left: [(at: NIODeadline, frame: Frame)] = []
        func note(_ outcomes: [FaultBench.Outcome]) {
            left += outcomes.compactMap(\.passed).map { (bench.now, $0) }
        }
        note(bench.due())
        #expect(left.count == 100)
        for _ in 0..<40 { note(bench.pass(.milliseconds(100))) }
        #expect(left.map(\.frame) == frames)
        for first in left {
            let second = left.count { $0.at >= first.at && $0.at < first.at + .seconds(1) }
            #expect(second <= 100)
        }
        #expect(bench.stage.isIdle)
    }

    @Test("what passes without waiting counts, streams and other apps do not")
    func direct() throws {
        let bench = try FaultBench(("rpc:Show", "hold"), framesPerSecond: 100)
        #expect(bench.app("radio", says: Self.shows(100)) == [])
        let alerts = (1...60).map {
            Frame.rpc(session: 3, message: UInt32($0), .request, .alert)
        }
        #expect(bench.app("radio", says: alerts).compactMap(\.passed) == alerts)
        let video = Frame.data(session: 1, service: .video, message: 1, bytes: 10)
        for _ in 0..<500 { #expect(bench.app("radio", says: video).count == 1) }
        let others = Frame.rpc(session: 2, .request, .alert)
        for _ in 0..<100 { #expect(bench.app("maps", says: others).count == 1) }
        #expect(bench.remove(1))
        #expect(bench.due().count == 40)
        // Another frame of the app has to wait, in a session where nothing waits.
        #expect(bench.app("radio", says: alerts[0]) == [])
        #expect(bench.pass(.seconds(2)).count == 61)
    }

    @Test("repeated frames count")
    func repeated() throws {
        let bench = try FaultBench(("rpc:Show", "duplicate"), framesPerSecond: 100)
        let passed = bench.app("radio", says: Self.shows(80)).compactMap(\.passed)
        #expect(passed.count == 100)
        #expect(bench.pass(.seconds(2)).count == 60)
    }

    @Test("what was let go counts on when there is no rule any more")
    func handedOver() throws {
        let hub = try EmbeddedHub { $0.framesPerSecond = 100 }
        let radio = try hub.app(session: 1)
        let hold = try FaultRule(filter: "rpc:Show", action: "hold", isHeadUnitReal: true)
        _ = try hub.sdl.addFaults([hold], knowing: [:])
        for frame in Self.shows(90) { try radio.says(frame) }
        hub.loop.advanceTime(by: .seconds(2))
        #expect(try hub.heard() == [])
        #expect(hub.sdl.removeFaults() == 1)
        #expect(try hub.heard().count == 90)
        #expect(hub.sdl.faults == nil)
        for frame in Self.shows(50, from: 91) { try radio.says(frame) }
        #expect(try hub.heard().count == 10)
        hub.loop.advanceTime(by: .seconds(2))
        #expect(try hub.heard().count == 40)
    }

    @Test("a reload's limit reaches what a rule holds already, and what has passed still counts")
    func reloaded() throws {
        let hub = try EmbeddedHub { $0.framesPerSecond = 100 }
        let radio = try hub.app(session: 1)
        let hold = try FaultRule(filter: "rpc:Show", action: "hold", isHeadUnitReal: true)
        _ = try hub.sdl.addFaults([hold], knowing: [:])
        for frame in Self.shows(90) { try radio.says(frame) }
        let alert = Frame.rpc(session: 1, message: 200, .request, .alert)
        hub.loop.advanceTime(by: .seconds(2))
        var configuration = hub.switchboard.configuration
        configuration.framesPerSecond = 20
        hub.switchboard.reconfigure(
            configuration, accessoryAddress: hub.switchboard.accessoryAddress)
        #expect(hub.sdl.removeFaults() == 1)
        #expect(try hub.heard().count == 20)
        hub.loop.advanceTime(by: .milliseconds(300))
        #expect(try hub.heard().count == 0)
        configuration.framesPerSecond = 50
        hub.switchboard.reconfigure(
            configuration, accessoryAddress: hub.switchboard.accessoryAddress)
        hub.loop.advanceTime(by: .milliseconds(100))
        #expect(try hub.heard().count == 30)
        hub.loop.advanceTime(by: .seconds(3))
        #expect(try hub.heard().count == 40)
        try radio.says(alert)
        #expect(try hub.heard() == [alert])
    }
}
