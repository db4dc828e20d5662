// What relayd says to an app in the head unit's place: never inside a half-delivered message.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

private let press = DrivenRPC(
    .onButtonPress, .notification, #"{"buttonName":"OK","buttonPressMode":"SHORT"}"#)

extension RouterBench {
    fileprivate func injects(
        _ rpc: DrivenRPC = press, session: UInt8 = 1, patience: TimeAmount = .seconds(2)
    ) throws -> OwnRequestID {
        try router.inject(rpc, in: session, patience: patience, at: now)
    }

    /// The RPCs that relayd has sent to apps since the last call.
    fileprivate func told() -> [RPCHeader] {
        actions().compactMap { action in
            if case .toApp(let frame, _) = action { RPCHeader(frame.payload) } else { nil }
        }
    }
}

/// A message of the head unit in several frames.
private func parts(session: UInt8 = 1, message: UInt32 = 8) -> [Frame] {
    let rpc = DrivenRPC(.onSystemRequest, .notification, #"{"requestType":"HTTP"}"#)
    return Frame.message(
        version: 5, sessionID: session, messageID: message,
        payload: rpc.payload(correlationID: 0), limit: 12)
}

@Suite("What is injected comes between whole messages")
struct InjectionTests {
    @Test("at once while the head unit says nothing, and whoever asked is told")
    func atOnce() throws {
        let bench = RouterBench.withRadio()
        let id = try bench.injects()
        let told = bench.told()
        #expect(told.map(\.functionID) == [FunctionID.onButtonPress.rawValue])
        #expect(told.map(\.type) == [.notification])
        #expect(bench.answers.map(\.id) == [id] && bench.answers[0].answer == .passedOn)
        #expect(bench.heard() == [], "the head unit hears nothing of it")
    }

    @Test("behind the last frame of a message that is half delivered, in order")
    func boundary() throws {
        let bench = RouterBench.withRadio()
        let frames = parts()
        for frame in frames.dropLast() {
            #expect(bench.accessory(says: frame) == .toApp("radio"))
        }
        let first = try bench.injects()
        let second = try bench.injects(DrivenRPC(.onHMIStatus, .notification))
        #expect(bench.told().isEmpty && bench.answers.isEmpty)
        // A message of its own between is no boundary.
        let single = Frame.rpc(session: 1, .notification, .onVehicleData, correlation: 0)
        #expect(bench.accessory(says: single) == .toApp("radio"))
        #expect(bench.told().isEmpty)
        let last = try #require(frames.last)
        #expect(bench.accessory(says: last) == .toApp("radio"))
        #expect(
            bench.told().map(\.functionID) == [
                FunctionID.onButtonPress.rawValue, FunctionID.onHMIStatus.rawValue,
            ])
        #expect(bench.answers.map(\.id) == [first, second])
    }

    @Test("who asked does not wait any longer: it is not said, and what waits behind it is")
    func givenUp() throws {
        let bench = RouterBench.withRadio()
        let frames = parts()
        for frame in frames.dropLast() { _ = bench.accessory(says: frame) }
        let first = try bench.injects()
        let second = try bench.injects(DrivenRPC(.onHMIStatus, .notification))
        bench.router.giveUp(first)
        _ = bench.accessory(says: try #require(frames.last))
        #expect(bench.told().map(\.functionID) == [FunctionID.onHMIStatus.rawValue])
        #expect(bench.answers.map(\.id) == [second])
    }

    @Test("a half message of another session is no reason to wait")
    func otherSession() throws {
        let bench = RouterBench.withRadio()
        bench.open("maps", session: 2)
        _ = bench.accessory(says: parts(session: 2)[0])
        _ = try bench.injects()
        #expect(bench.told().count == 1)
    }

    @Test("a message that is not whole in time: nothing is said, and who asked is told so")
    func tooLate() throws {
        let bench = RouterBench.withRadio()
        _ = bench.accessory(says: parts()[0])
        let id = try bench.injects()
        #expect(bench.router.nextDeadline == bench.now + .seconds(2))
        bench.pass(.seconds(2))
        #expect(bench.told().isEmpty)
        #expect(bench.answers.map(\.id) == [id] && bench.answers[0].answer == .tooLate)
        for frame in parts().dropFirst() { _ = bench.accessory(says: frame) }
        #expect(bench.told().isEmpty)
    }

    @Test("a half message that never goes on is waited for as long as receivers do")
    func abandoned() throws {
        let bench = RouterBench.withRadio()
        _ = bench.accessory(says: parts()[0])
        let id = try bench.injects(patience: .seconds(60))
        bench.pass(.seconds(9))
        #expect(bench.told().isEmpty)
        bench.pass(.seconds(1))
        #expect(bench.told().count == 1 && bench.answers.map(\.id) == [id])
    }

    @Test("a half message of another session that was given up is no reason to look at once again")
    func abandonedElsewhere() throws {
        let bench = RouterBench.withRadio()
        bench.open("maps", session: 2)
        _ = bench.accessory(says: parts(session: 2)[0])
        bench.pass(.seconds(5))
        _ = bench.accessory(says: parts(session: 1)[0])
        _ = try bench.injects(patience: .seconds(60))
        bench.pass(.seconds(5))
        #expect(bench.told().isEmpty)
        #expect(bench.router.nextDeadline == bench.now + .seconds(5))
        bench.pass(.seconds(5))
        #expect(bench.told().count == 1)
    }

    @Test("the app leaves, or the link, while it waits", arguments: [true, false])
    func gone(isLinkLost: Bool) throws {
        let bench = RouterBench.withRadio()
        _ = bench.accessory(says: parts()[0])
        let id = try bench.injects()
        if isLinkLost {
            bench.router.linkClosed(reason: "cut", at: bench.now)
        } else {
            bench.router.disconnect("radio", at: bench.now)
            _ = bench.heard()
            _ = bench.accessory(says: .control(.endServiceACK, session: 1))
        }
        #expect(bench.told().isEmpty)
        #expect(bench.answers.map(\.id) == [id] && bench.answers[0].answer == .sessionOver)
        #expect(bench.router.nextDeadline == nil)
    }

    @Test("in a driven session, a first frame that is kept back is no half message yet")
    func besideDriven() throws {
        let bench = RouterBench.withRadio()
        _ = try bench.router.send(
            DrivenRPC(.show), in: 1, patience: .seconds(10), at: bench.now)
        _ = bench.heard()
        let frames = parts()
        #expect(bench.accessory(says: frames[0]) == .handled)
        _ = try bench.injects()
        #expect(bench.told().count == 1)
        #expect(bench.accessory(says: frames[1]) == .handled)
        _ = bench.actions()
        _ = try bench.injects()
        #expect(bench.told().isEmpty)
        for frame in frames.dropFirst(2) {
            #expect(bench.accessory(says: frame) == .toApp("radio"))
        }
        #expect(bench.told().count == 1)
    }

    @Test("one larger than a frame comes in several, with nothing between them")
    func large() throws {
        let bench = RouterBench.withRadio()
        let text = #"{"a":"\#(String(repeating: "x", count: 200_000))"}"#
        _ = try bench.injects(DrivenRPC(.onVehicleData, .notification, text))
        let frames = bench.actions().compactMap { action -> Frame? in
            if case .toApp(let frame, _) = action { frame } else { nil }
        }
        #expect(frames.map(\.type) == [.first, .consecutive, .consecutive])
        #expect(frames.allSatisfy { Injections.messageIDs.contains($0.messageID ?? 0) })
    }

    @Test(
        "through the hub: behind the frame that makes the message whole; observers see whose it is")
    func hub() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        let id = try #require(hub.switchboard.apps.keys.first)
        let frames = parts()
        for frame in frames.dropLast() { try hub.link.says(frame) }
        var answers: [DrivenAnswer] = []
        try hub.switchboard.sdl.drive(
            press, .fromAccessory, app: id, session: nil, patience: .seconds(2)
        ) { answers.append($0) }
        for frame in frames.dropLast() { #expect(try app.hears() == frame) }
        #expect(try app.hears() == nil && answers.isEmpty)
        let last = try #require(frames.last)
        try hub.link.says(last)
        #expect(try app.hears() == last)
        let heard = try #require(try app.hears())
        #expect(RPCHeader(heard.payload)?.functionID == FunctionID.onButtonPress.rawValue)
        #expect(answers == [.passedOn])
        hub.switchboard.tap.emit()
        let seen = hub.tapQueue.takeAll().flatMap { item -> [TappedFrame] in
            if case .frames(let frames) = item { frames } else { [] }
        }
        #expect(seen.last?.fate == .byRelay && seen.last?.direction == .fromAccessory)
        #expect(seen.last?.app == id)
    }
}
