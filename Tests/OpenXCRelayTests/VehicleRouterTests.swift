// What relayd sends to a shared vehicle interface, and who gets its answers: dialogues without sockets.

import NIOCore
import OpenXCProtocol
import Testing

@testable import OpenXCRelay

@Suite("A shared vehicle interface")
struct VehicleRouterTests: VehicleDialogue {
    @Test("answers go to who asked, those of one name in the order of asking")
    func answers() {
        var router = router("left", "right")
        for client in ["left", "right"] {
            let asked = router.receive(command(.version), from: client, at: start)
            #expect(asked == [.toVehicle(command(.version))])
        }
        _ = router.receive(command(.deviceID), from: "right", at: start)
        #expect(router.hear(response(.version)) == .client("left"))
        #expect(router.hear(response(.deviceID)) == .client("right"))
        #expect(router.hear(response(.version)) == .client("right"))
        // An answer without a question.
        #expect(router.hear(response(.version)) == .all)
    }

    @Test("an answer for a client that is gone is not the next one's")
    func gone() {
        var router = router("left", "right")
        let once = command(.diagnosticRequest(.add, DiagnosticRequest(id: 0x7E0, mode: 1, pid: 12)))
        _ = router.receive(once, from: "left", at: start)
        _ = router.receive(once, from: "right", at: start)
        #expect(router.disconnected("left", at: start) == [])
        #expect(router.hear(response(.diagnosticRequest)) == .nobody)
        #expect(router.hear(response(.diagnosticRequest)) == .client("right"))
    }

    @Test("an answer that does not come is nobody's after a while, and said")
    func timeout() {
        var router = router("left", "right")
        _ = router.receive(command(.deviceID), from: "left", at: start)
        #expect(router.nextDeadline == start + Router.answerTimeout)
        #expect(router.advance(to: start + .seconds(2)) == [])
        let late = start + Router.answerTimeout
        #expect(router.advance(to: late) == [.note(.unanswered("left", .deviceID))])
        _ = router.receive(command(.deviceID), from: "right", at: late)
        #expect(router.hear(response(.deviceID)) == .client("right"))
        #expect(router.nextDeadline == nil)
    }

    @Test("its payload format is the client's own affair")
    func payloadFormat() {
        var router = router("left")
        #expect(
            router.receive(command(.payloadFormat(.protobuf)), from: "left", at: start) == [
                .toClient("left", response(.payloadFormat)), .setFormat("left", .protobuf),
            ])
        // Even while there is no vehicle interface.
        #expect(router.linkClosed(at: start) == [])
        let actions = router.receive(command(.payloadFormat(.json)), from: "left", at: start)
        #expect(actions.count == 2)
    }

    @Test(
        "a switch is on as long as somebody wants it",
        arguments: [
            (
                Command.passthrough(bus: 1, enabled: true),
                Command.passthrough(bus: 1, enabled: false)
            ),
            (
                .acceptanceFilterBypass(bus: 2, bypass: true),
                .acceptanceFilterBypass(bus: 2, bypass: false)
            ),
        ])
    func switches(on: Command, off: Command) {
        var router = router("left", "right")
        for client in ["left", "right"] {
            #expect(
                router.receive(command(on), from: client, at: start) == [.toVehicle(command(on))])
            #expect(router.hear(response(on.name)) == .client(client))
        }
        #expect(
            router.receive(command(off), from: "left", at: start)
                == [.toClient("left", response(off.name))])
        // The last client leaves without notice.
        #expect(router.disconnected("right", at: start) == [.toVehicle(command(off))])
        #expect(router.hear(response(off.name)) == .nobody)
    }

    @Test("a switch that was refused is owned by nobody")
    func refusedSwitch() {
        var router = router("left")
        _ = router.receive(command(.passthrough(bus: 7, enabled: true)), from: "left", at: start)
        #expect(router.hear(response(.passthrough, "", false)) == .client("left"))
        #expect(router.disconnected("left", at: start) == [])
    }

    private func rpm(_ frequency: Double) -> DiagnosticRequest {
        DiagnosticRequest(bus: 1, id: 0x7E0, mode: 1, pid: 12, frequency: frequency)
    }

    private func add(_ frequency: Double) -> VehicleMessage {
        command(.diagnosticRequest(.add, rpm(frequency)))
    }

    private func cancel(_ frequency: Double) -> VehicleMessage {
        command(.diagnosticRequest(.cancel, rpm(frequency)))
    }

    @Test("a recurring request is asked for once, at the pace of the fastest")
    func merged() {
        var router = router("left", "right", "third")
        #expect(router.receive(add(1), from: "left", at: start) == [.toVehicle(add(1))])
        #expect(router.hear(response(.diagnosticRequest)) == .client("left"))
        #expect(
            router.receive(add(1), from: "right", at: start)
                == [.toClient("right", response(.diagnosticRequest))])
        #expect(
            router.receive(add(5), from: "third", at: start)
                == [.toVehicle(cancel(1)), .toVehicle(add(5))])
        #expect(router.hear(response(.diagnosticRequest)) == .nobody)
        #expect(router.hear(response(.diagnosticRequest)) == .client("third"))
        // A client's second request of its own is refused, as a vehicle interface does.
        #expect(
            router.receive(add(5), from: "third", at: start)
                == [.toClient("third", response(.diagnosticRequest, "", false))])
        // The client with the fastest request leaves: no other wants it as often.
        #expect(
            router.disconnected("third", at: start) == [.toVehicle(cancel(5)), .toVehicle(add(1))])
        #expect(router.hear(response(.diagnosticRequest)) == .nobody)
        #expect(router.hear(response(.diagnosticRequest)) == .nobody)
        #expect(router.recurringRequests == [rpm(1)])
        #expect(
            router.receive(cancel(0), from: "left", at: start)
                == [.toClient("left", response(.diagnosticRequest))])
        // The owner of the last request leaves.
        #expect(router.disconnected("right", at: start) == [.toVehicle(cancel(1))])
    }

    @Test("the fastest takes its request back, and the others get theirs at their own pace")
    func slower() {
        var router = router("left", "right", "third")
        _ = router.receive(add(2), from: "left", at: start)
        #expect(router.hear(response(.diagnosticRequest)) == .client("left"))
        _ = router.receive(add(5), from: "right", at: start)
        #expect(router.hear(response(.diagnosticRequest)) == .nobody)
        #expect(router.hear(response(.diagnosticRequest)) == .client("right"))
        #expect(
            router.receive(cancel(5), from: "right", at: start)
                == [
                    .toClient("right", response(.diagnosticRequest)), .toVehicle(cancel(5)),
                    .toVehicle(add(2)),
                ])
        // A client that wants the same meanwhile waits for the vehicle interface's answer.
        #expect(router.receive(add(1), from: "third", at: start) == [])
        #expect(router.hear(response(.diagnosticRequest)) == .nobody)
        let said = router.receiveFromVehicle(response(.diagnosticRequest), at: start)
        #expect(said.after == [.toClient("third", response(.diagnosticRequest))])
        // A client without the fastest request changes nothing by leaving.
        #expect(router.disconnected("third", at: start) == [])
        #expect(router.disconnected("left", at: start) == [.toVehicle(cancel(2))])
    }

    @Test("nobody cancels what only others want, or changes it under them")
    func foreign() {
        var router = router("left", "right")
        _ = router.receive(add(1), from: "left", at: start)
        let refusal = Router.Action.toClient("right", response(.diagnosticRequest, "", false))
        #expect(router.receive(cancel(1), from: "right", at: start) == [refusal])
        var other = rpm(1)
        other.decodedType = DiagnosticRequest.DecodedType.none
        #expect(
            router.receive(
                command(.diagnosticRequest(.add, other)), from: "right", at: start) == [refusal])
        #expect(router.recurringRequests == [rpm(1)])
    }

    @Test("one-shot requests run beside a recurring one")
    func oneShot() {
        var router = router("left", "right")
        _ = router.receive(add(1), from: "left", at: start)
        #expect(router.receive(add(0), from: "right", at: start) == [.toVehicle(add(0))])
        #expect(router.hear(response(.diagnosticRequest)) == .client("left"))
        #expect(router.hear(response(.diagnosticRequest)) == .client("right"))
        #expect(router.disconnected("right", at: start) == [])
    }

    @Test("a request that was refused is owned by nobody")
    func refusedRequest() {
        var router = router("left")
        _ = router.receive(add(5), from: "left", at: start)
        _ = router.hear(response(.diagnosticRequest, "", false))
        #expect(router.recurringRequests.isEmpty)
        #expect(router.disconnected("left", at: start) == [])
    }

    @Test("twenty requests are kept, as firmware does")
    func twenty() {
        var router = router("left")
        for index in 0..<21 {
            let request = DiagnosticRequest(
                bus: 1, id: 0x7E0, mode: 1, pid: UInt32(index + 1), frequency: 1)
            let actions = router.receive(
                command(.diagnosticRequest(.add, request)), from: "left", at: start)
            _ = router.hear(response(.diagnosticRequest))
            guard index == 20 else { continue }
            #expect(actions == [.toClient("left", response(.diagnosticRequest, "", false))])
        }
        #expect(router.recurringRequests.count == 20)
        let cancelled = router.disconnected("left", at: start)
        #expect(cancelled.count == 20)
    }

    @Test("a vehicle interface that comes back is told what is wanted of it")
    func comesBack() {
        var router = router("left")
        let on = command(.passthrough(bus: 1, enabled: true))
        _ = router.receive(on, from: "left", at: start)
        _ = router.receive(add(1), from: "left", at: start)
        _ = router.receive(command(.version), from: "left", at: start)
        #expect(router.linkClosed(at: start) == [])
        #expect(router.nextDeadline == nil)
        #expect(
            router.receive(command(.version), from: "left", at: start)
                == [.note(.nobodyThere("left", command(.version)))])
        #expect(router.linkOpened(at: start) == [.toVehicle(on), .toVehicle(add(1))])
        #expect(router.hear(response(.passthrough)) == .nobody)
    }

    @Test("what is gone while the link is down is not asked for again")
    func goneMeanwhile() {
        var router = router("left")
        _ = router.receive(add(1), from: "left", at: start)
        #expect(router.linkClosed(at: start) == [])
        #expect(router.disconnected("left", at: start) == [])
        #expect(router.linkOpened(at: start) == [])
    }

    @Test("a client with too many open questions is not passed on")
    func flood() {
        var router = router("left", "right")
        var sent = 0
        for _ in 0..<1000 {
            let actions = router.receive(command(.version), from: "left", at: start)
            sent += actions.count { if case .toVehicle = $0 { true } else { false } }
        }
        #expect(sent == Router.maximumPending)
        let others = router.receive(command(.version), from: "right", at: start)
        #expect(others == [.toVehicle(command(.version))])
        // Commands that relayd would answer itself count as well.
        for _ in 0..<1000 {
            _ = router.receive(add(20), from: "left", at: start)
        }
        let unanswered = router.advance(to: start + Router.answerTimeout)
        #expect(unanswered.count == Router.maximumPending + 1)
    }

    @Test("writes need a permission, and are told")
    func writes() throws {
        let rules = try ["can:1:0x123", "can:2:0x700-0x7ff", "name:horn"].map {
            try #require(WriteRule($0))
        }
        var router = Router()
        router.connected("left")
        router.connected("right", may: WritePermissions(rules))
        _ = router.linkOpened(at: start)
        func outcome(_ content: VehicleMessage.Content, _ client: String) -> [Router.Action] {
            router.receive(VehicleMessage(content), from: client, at: start)
        }
        let allowed: [VehicleMessage.Content] = [
            .can(CANMessage(bus: 1, id: 0x123, data: [1])),
            .can(CANMessage(bus: 2, id: 0x7FF, data: [])),
            .measurement(Measurement("horn", .flag(true))),
        ]
        for content in allowed {
            let message = VehicleMessage(content)
            #expect(
                outcome(content, "right") == [
                    .note(.written("right", message)), .toVehicle(message),
                ])
            #expect(outcome(content, "left") == [.note(.writeRefused("left", message))])
        }
        let refused: [VehicleMessage.Content] = [
            .can(CANMessage(bus: 1, id: 0x124, data: [1])), .can(CANMessage(id: 0x123, data: [])),
            .can(CANMessage(bus: 2, id: 0x800, data: [])),
            .measurement(Measurement("steering", .number(1))),
        ]
        for content in refused {
            let message = VehicleMessage(content)
            #expect(outcome(content, "right") == [.note(.writeRefused("right", message))])
        }
    }

    @Test(
        "a rule that is none is refused",
        arguments: [
            "", "can:", "can:x", "can:0", "can:1:", "can:1:0x", "can:1:5-4", "can:1:1-2-3",
            "can:1:-1", "name:", "name:a:b", "all",
        ])
    func rules(text: String) {
        #expect(WriteRule(text) == nil)
    }

    @Test("what is nobody's business stays with the router")
    func others() throws {
        var router = router("left")
        let unknown = try VehicleMessage(json: Array(#"{"x":1}"#.utf8).span)
        #expect(router.hear(unknown) == .nobody)
        #expect(
            router.receive(unknown, from: "left", at: start)
                == [.note(.notForVehicle("left", unknown))])
        #expect(router.ask(.version, at: start) == [.toVehicle(command(.version))])
        #expect(router.hear(response(.version)) == .nobody)
    }
}

extension VehicleRouter {
    /// Returns the destination of a message that causes nothing else.
    fileprivate mutating func hear(_ message: VehicleMessage) -> Destination {
        receiveFromVehicle(message, at: .uptimeNanoseconds(0)).destination
    }
}
