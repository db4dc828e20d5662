// Fault rules in the hub, between an app, a link and another app, on a clock that moves when told.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Fault rules in the hub")
struct FaultHubTests {
    private let show = Frame.rpc(session: 1, message: 1)

    private func add(_ hub: EmbeddedHub, _ filter: String, _ action: String) throws -> UInt32 {
        let rule = try FaultRule(filter: filter, action: action, isHeadUnitReal: true)
        let numbers = try hub.sdl.addFaults([rule], knowing: [:])
        return try #require(numbers.first)
    }

    @Test("a delayed request comes late, the other app's at once, and the tap says why")
    func delay() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let maps = try hub.app(session: 2)
        let rule = try add(hub, "session:1 rpc:Show", "delay 2s")
        let others = Frame.rpc(session: 2)
        try radio.says(show)
        try maps.says(others)
        #expect(try hub.heard() == [others])
        hub.switchboard.tap.emit()
        _ = hub.tapQueue.takeAll()
        hub.loop.advanceTime(by: .milliseconds(1999))
        #expect(try hub.heard() == [])
        hub.loop.advanceTime(by: .milliseconds(1))
        #expect(try hub.heard() == [show])
        #expect(hub.fates() == [.faulted(FaultMark(rule: rule, kind: .held))])
    }

    @Test("an answer of relayd's own: the head unit hears nothing, and the app its own ID")
    func answer() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        _ = try add(hub, "rpc:Show", #"answer REJECTED "not now""#)
        try radio.says(Frame.rpc(session: 1, message: 4, correlation: 77))
        #expect(try hub.heard() == [])
        let answer = try #require(try radio.hears())
        let header = try #require(RPCHeader(answer.payload))
        #expect(header.correlationID == 77)
        #expect(header.type == .response)
        #expect(
            String(buffer: answer.payload).contains(#""resultCode":"REJECTED","info":"not now""#))
    }

    @Test("disconnect: the app is gone with a reason, and its session is ended as after a crash")
    func disconnect() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let rule = try add(hub, "rpc:Show", "disconnect")
        try radio.says(show)
        let heard = try hub.heard()
        #expect(heard.map(\.controlType) == [.endService])
        #expect(heard.first?.sessionID == 1)
        #expect(hub.switchboard.departures.last?.reason == .fault(rule))
        #expect(try radio.hears() == nil)
    }

    @Test("an app that leaves has said what a delay holds: it comes before its goodbye")
    func appLeaves() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        _ = try add(hub, "rpc:Show", "delay 5s")
        try radio.says(show)
        #expect(try hub.heard() == [])
        try radio.close().wait()
        let heard = try hub.heard()
        #expect(heard.first == show)
        #expect(heard.dropFirst().map(\.controlType) == [.endService])
        #expect(hub.sdl.faults?.heldFrames == 0)
    }

    @Test(
        "a rule that is removed lets go of what it holds, in order; without rules there is no stage"
    )
    func removed() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let rule = try add(hub, "rpc:Show", "hold")
        let alert = Frame.rpc(session: 1, message: 2, .request, .alert)
        try radio.says(show)
        try radio.says(alert)
        #expect(try hub.heard() == [])
        #expect(hub.sdl.removeFault(rule))
        #expect(try hub.heard() == [show, alert])
        #expect(hub.sdl.faults == nil)
        #expect(!hub.sdl.removeFault(rule))
    }

    @Test("what is held of a session that ends never reaches the next one with its number")
    func numberGrantedAgain() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        _ = try add(hub, "rpc:Show", "hold")
        try radio.says(show)
        // The head unit ends the session, and the app takes it back under the same number.
        try hub.link.says(.control(.endService, session: 1))
        #expect(try radio.hears()?.controlType == .endService)
        try radio.says(.control(.endServiceACK, session: 1))
        hub.loop.advanceTime(by: .seconds(2))
        _ = try hub.heard()
        try hub.link.says(.control(.endServiceACK, session: 1))
        try radio.says(.startService())
        _ = try hub.heard()
        try hub.link.says(.startServiceACK(session: 1))
        #expect(hub.sdl.faults?.heldFrames == 0)
        #expect(hub.sdl.removeFaults() == 1)
        #expect(try hub.heard().filter { $0.type == .single } == [])
        let alert = Frame.rpc(session: 1, message: 2, .request, .alert)
        try radio.says(alert)
        #expect(try hub.heard() == [alert])
    }

    @Test(
        "as much as may wait for the link is held of an app; then it is not read until some has gone"
    )
    func backPressure() throws {
        let hub = try EmbeddedHub { $0.linkQueueBytes = 10_000 }
        let radio = try hub.app(session: 1)
        let maps = try hub.app(session: 2)
        _ = try add(hub, "session:1 service:rpc", "hold")
        for number in 1...20 {
            try radio.says(.data(session: 1, service: .rpc, message: UInt32(number), bytes: 988))
        }
        let held = hub.sdl.faults?.heldBytes ?? 0
        #expect(held >= 10_000 && held <= 12_000, "\(held)")
        #expect(hub.switchboard.reporter.limits[.linkQueue]?.count ?? 0 > 0)
        let others = Frame.rpc(session: 2)
        try maps.says(others)
        #expect(try hub.heard() == [others])
        _ = hub.sdl.removeFaults()
        #expect(try hub.heard().count == 20)
    }

    @Test("as much as may wait for an app is held for it; then all of it passes")
    func heldForApp() throws {
        let hub = try EmbeddedHub { $0.appQueueBytes = 5000 }
        let radio = try hub.app(session: 1)
        _ = try add(hub, "from:unit session:1", "hold")
        var heard = 0
        for number in 1...8 {
            try hub.link.says(.data(session: 1, service: .rpc, message: UInt32(number), bytes: 988))
            while try radio.hears() != nil { heard += 1 }
            if number == 4 { #expect(heard == 0) }
        }
        #expect(heard >= 5)
        #expect(hub.switchboard.reporter.limits[.appQueue]?.count == 1)
    }

    @Test("a refused StartService does not keep the next app waiting")
    func nak() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app()
        _ = try add(hub, "app:#1", "nak")
        try radio.says(.startService())
        #expect(try radio.hears()?.controlType == .startServiceNAK)
        #expect(try hub.heard() == [])
        _ = try hub.app(session: 1)
    }

    @Test("a relayd that stops is heard to the end, whatever rules there are")
    func stops() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let freeze = try #require(try FaultRule.link("freeze 5m"))
        _ = try hub.sdl.addFaults([freeze], knowing: [:])
        try radio.says(show)
        #expect(try hub.heard() == [])
        var isDone = false
        hub.switchboard.shutDown { isDone = true }
        #expect(try hub.heard().first == show)
        #expect(hub.sdl.faults == nil)
        _ = isDone
    }

    @Test("frozen, a link brings nothing to anybody; after its time all of it, in order")
    func freeze() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let freeze = try #require(try FaultRule.link("freeze 5s"))
        _ = try hub.sdl.addFaults([freeze], knowing: [:])
        let answer = Frame.rpc(session: 1, .response, .show)
        try radio.says(show)
        try hub.link.says(answer)
        let late = try hub.app()
        try late.says(.startService())
        hub.loop.advanceTime(by: .milliseconds(4999))
        #expect(try hub.heard() == [])
        #expect(try radio.hears() == nil)
        hub.loop.advanceTime(by: .milliseconds(1))
        #expect(Set(try hub.heard()) == [show, .startService()])
        #expect(try radio.hears() == answer)
    }

    @Test("slow: all that passes the link shares its rate, in both directions")
    func slow() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let maps = try hub.app(session: 2)
        let slow = try #require(try FaultRule.link("slow 10KB/s"))
        _ = try hub.sdl.addFaults([slow], knowing: [:])
        let file = Frame.data(session: 1, service: .bulk, message: 1, bytes: 988)
        let answer = Frame.data(session: 1, service: .rpc, message: 1, bytes: 988)
        let others = Frame.rpc(session: 2)
        try radio.says(file)
        try hub.link.says(answer)
        try maps.says(others)
        #expect(try hub.heard() == [file])
        hub.loop.advanceTime(by: .milliseconds(99))
        #expect(try radio.hears() == nil)
        hub.loop.advanceTime(by: .milliseconds(1))
        #expect(try radio.hears() == answer)
        #expect(try hub.heard() == [])
        hub.loop.advanceTime(by: .milliseconds(100))
        #expect(try hub.heard() == [others])
    }

    @Test("half open: nothing arrives anywhere, and yet an app that leaves leaves no session")
    func halfOpen() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let halfOpen = try #require(try FaultRule.link("half-open until 30s"))
        _ = try hub.sdl.addFaults([halfOpen], knowing: [:])
        try radio.says(show)
        try hub.link.says(.rpc(session: 1, .response, .show))
        #expect(try hub.heard() == [])
        #expect(try radio.hears() == nil)
        try radio.close().wait()
        #expect(try hub.heard().map(\.controlType) == [.endService])
    }

    @Test("an answer of relayd's own is not said inside of a message of the head unit's")
    func answerBetweenMessages() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        _ = try add(hub, "rpc:Show", "answer REJECTED")
        let parts = Frame.message(session: 1, service: .rpc, message: 8, frames: 2, bytes: 40)
        for part in parts.dropLast() { try hub.link.says(part) }
        try radio.says(show)
        for part in parts.dropLast() { #expect(try radio.hears() == part) }
        #expect(try radio.hears() == nil)
        let last = try #require(parts.last)
        try hub.link.says(last)
        #expect(try radio.hears() == last)
        let answer = try #require(try radio.hears())
        #expect(RPCHeader(answer.payload)?.type == .response)
        #expect(!Injections.messageIDs.contains(answer.messageID ?? 0))
        #expect(try hub.heard() == [])
    }

    @Test("a session in which relayd asks something has its rules all the same")
    func driven() throws {
        let hub = try EmbeddedHub()
        let radio = try hub.app(session: 1)
        let id = try #require(hub.switchboard.apps.keys.first)
        try hub.sdl.drive(
            DrivenRPC(.show), .fromApp, app: id, session: nil, patience: .seconds(10)
        ) { _ in }
        #expect(try hub.heard().count == 1)
        let rule = try add(hub, "from:unit session:1", "hold")
        let parts = Frame.message(session: 1, service: .rpc, message: 8, frames: 2, bytes: 40)
        for part in parts { try hub.link.says(part) }
        #expect(try radio.hears() == nil)
        #expect(hub.sdl.removeFault(rule))
        for part in parts { #expect(try radio.hears() == part) }
    }

    @Test("rules that would hurt a real head unit are dropped when one takes the place of sim:")
    func realHeadUnit() throws {
        let hub = try EmbeddedHub()
        hub.switchboard.reconfigure(RelayConfiguration(), accessoryAddress: "sim:")
        let rules = [
            try FaultRule(filter: "rpc:Show", action: "corrupt", isHeadUnitReal: false),
            try FaultRule(filter: "from:unit", action: "corrupt", isHeadUnitReal: false),
            try FaultRule(
                filter: "rpc:Show", action: "truncate", mayHarmOthers: true, isHeadUnitReal: false),
        ]
        _ = try hub.sdl.addFaults(rules, knowing: [:])
        hub.switchboard.reconfigure(RelayConfiguration(), accessoryAddress: "tcp:192.0.2.1:12345")
        #expect(hub.sdl.faultSnapshot.rules.map(\.id) == [2, 3])
    }

    @Test("there are so many rules at most, and those of one request all or none")
    func full() throws {
        let hub = try EmbeddedHub()
        let rule = try FaultRule(filter: "rpc:Show", action: "drop", isHeadUnitReal: true)
        let most = Array(repeating: rule, count: FaultLimits.rules - 1)
        #expect(try hub.sdl.addFaults(most, knowing: [:]).count == FaultLimits.rules - 1)
        #expect(throws: FaultsFull()) { try hub.sdl.addFaults([rule, rule], knowing: [:]) }
        #expect(hub.sdl.faultSnapshot.rules.count == FaultLimits.rules - 1)
    }
}

extension EmbeddedHub {
    var sdl: SDLLanguage {
        guard let language = switchboard.language as? SDLLanguage else {
            preconditionFailure("the hub speaks SDL")
        }
        return language
    }

    /// The fates of the frames that passed the tap since the last call.
    fileprivate func fates() -> [FrameFate] {
        switchboard.tap.emit()
        return tapQueue.takeAll().flatMap { item -> [FrameFate] in
            if case .frames(let frames) = item { frames.map(\.fate) } else { [] }
        }
    }
}
