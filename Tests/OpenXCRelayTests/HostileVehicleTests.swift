// Failures around a shared vehicle interface: answers that are missing or late, clients that get in each
// other's way, messages that firmware cannot handle. Dialogues without sockets.

import NIOCore
import OpenXCProtocol
import Testing

@testable import OpenXCRelay

@Suite("A shared vehicle interface in bad company")
struct HostileVehicleTests: VehicleDialogue {
    private func request(_ frequency: Double, bus: Int32 = 1) -> DiagnosticRequest {
        DiagnosticRequest(bus: bus, id: 0x7E0, mode: 1, pid: 12, frequency: frequency)
    }

    private func add(_ frequency: Double, bus: Int32 = 1) -> VehicleMessage {
        command(.diagnosticRequest(.add, request(frequency, bus: bus)))
    }

    private func cancel(_ frequency: Double) -> VehicleMessage {
        command(.diagnosticRequest(.cancel, request(frequency)))
    }

    private func told(_ client: String, _ command: CommandName, _ status: Bool = true)
        -> Router.Action
    {
        .toClient(client, response(command, status))
    }

    // MARK: - The order of answers

    @Test("an answer of relayd's own keeps its place in the order of asking")
    func order() {
        var router = router("left")
        _ = router.receive(command(.version), from: "left", at: start)
        #expect(
            router.receive(command(.payloadFormat(.protobuf)), from: "left", at: start).isEmpty)
        _ = router.receive(command(.deviceID), from: "left", at: start)
        let first = router.receiveFromVehicle(response(.version), at: start)
        #expect(first.before.isEmpty && first.destination == .client("left"))
        // In the old format; later messages use the new one.
        #expect(first.after == [told("left", .payloadFormat), .setFormat("left", .protobuf)])
        let second = router.receiveFromVehicle(response(.deviceID), at: start)
        #expect(second == Router.Delivery(destination: .client("left")))
    }

    @Test("what the vehicle interface has passed over keeps nothing back")
    func passedOver() {
        var router = router("left")
        _ = router.receive(command(.deviceID), from: "left", at: start)
        _ = router.receive(command(.payloadFormat(.protobuf)), from: "left", at: start)
        _ = router.receive(command(.version), from: "left", at: start)
        // The vehicle interface has no device ID and does not answer that question.
        let answer = router.receiveFromVehicle(response(.version), at: start)
        #expect(answer.before == [told("left", .payloadFormat), .setFormat("left", .protobuf)])
        #expect(answer.destination == .client("left") && answer.after.isEmpty)
    }

    @Test("an answer of relayd's own is kept back for less than a client waits")
    func patience() {
        var router = router("left")
        _ = router.receive(command(.deviceID), from: "left", at: start)
        _ = router.receive(command(.payloadFormat(.json)), from: "left", at: start)
        #expect(router.nextDeadline == start + Router.patience)
        #expect(Router.patience < .milliseconds(250))
        #expect(
            router.advance(to: start + Router.patience)
                == [told("left", .payloadFormat), .setFormat("left", .json)])
        #expect(router.nextDeadline == start + Router.answerTimeout)
    }

    @Test("a vehicle interface that goes keeps no answer of relayd's own back")
    func goesMeanwhile() {
        var router = router("left")
        _ = router.receive(command(.version), from: "left", at: start)
        _ = router.receive(command(.payloadFormat(.json)), from: "left", at: start)
        #expect(
            router.linkClosed(at: start)
                == [told("left", .payloadFormat), .setFormat("left", .json)])
        #expect(router.nextDeadline == nil)
    }

    @Test("no more answers of relayd's own are kept back than commands may wait")
    func heldFlood() {
        var router = router("left", "right")
        _ = router.receive(command(.version), from: "left", at: start)
        let format = command(.payloadFormat(.json))
        var refused = 0
        for _ in 0..<1000 {
            refused += router.receive(format, from: "left", at: start).count {
                $0 == .note(.tooManyCommands("left", format))
            }
        }
        #expect(refused == 1000 - (Router.maximumPending - 1))
        let answer = router.receiveFromVehicle(response(.version), at: start)
        #expect(answer.after.count == 2 * (Router.maximumPending - 1))
        // After that there is room again, even without a vehicle interface.
        #expect(router.receive(format, from: "left", at: start).count == 2)
        _ = router.linkClosed(at: start)
        #expect(router.receive(format, from: "left", at: start).count == 2)
    }

    @Test("no client waits for another")
    func others() {
        var router = router("left", "right")
        _ = router.receive(command(.version), from: "left", at: start)
        #expect(
            router.receive(command(.payloadFormat(.json)), from: "right", at: start)
                == [told("right", .payloadFormat), .setFormat("right", .json)])
    }

    // MARK: - Recurring requests

    @Test("a late refusal takes nothing from who asked after it")
    func lateRefusal() {
        var router = router("left", "right")
        _ = router.receive(add(1), from: "left", at: start)
        #expect(router.disconnected("left", at: start) == [.toVehicle(cancel(1))])
        #expect(router.receive(add(1), from: "right", at: start) == [.toVehicle(add(1))])
        // Answers for the client that left, for its cancellation, and for the other client.
        _ = router.receiveFromVehicle(response(.diagnosticRequest, false), at: start)
        _ = router.receiveFromVehicle(response(.diagnosticRequest, false), at: start)
        let answer = router.receiveFromVehicle(response(.diagnosticRequest), at: start)
        #expect(answer.destination == .client("right"))
        #expect(router.disconnected("right", at: start) == [.toVehicle(cancel(1))])
    }

    @Test("when the answer to a shared request is lost, who comes later has it asked again")
    func lostAnswer() {
        var router = router("left", "waits", "right")
        #expect(router.receive(add(1), from: "left", at: start) == [.toVehicle(add(1))])
        #expect(router.receive(add(1), from: "waits", at: start) == [])
        let later = start + .seconds(4)
        #expect(
            router.advance(to: later) == [
                .note(.unanswered("left", .diagnosticRequest)),
                .note(.unanswered("waits", .diagnosticRequest)),
            ])
        // The vehicle interface may or may not have the request: the accepted one counts.
        #expect(
            router.receive(add(0.5), from: "right", at: later)
                == [.toVehicle(cancel(1)), .toVehicle(add(1))])
        #expect(router.recurringRequests == [request(1)])
        _ = router.receiveFromVehicle(response(.diagnosticRequest, false), at: later)
        let answer = router.receiveFromVehicle(response(.diagnosticRequest), at: later)
        #expect(answer.destination == .client("right"))
        #expect(router.disconnected("right", at: later) == [])
    }

    @Test("an answer that is the same for all goes to who waits, not to who is gone or to relayd")
    func forNobody() {
        var router = router("left", "right")
        _ = router.receive(command(.deviceID), from: "left", at: start)
        _ = router.disconnected("left", at: start)
        _ = router.ask(.deviceID, at: start)
        _ = router.receive(command(.deviceID), from: "right", at: start)
        let answer = router.receiveFromVehicle(response(.deviceID), at: start)
        #expect(answer.destination == .client("right"))
        for _ in 0..<2 {
            let more = router.receiveFromVehicle(response(.deviceID), at: start)
            #expect(more.destination == .nobody)
        }
    }

    @Test("a client that wants it faster than firmware does takes nothing from the others")
    func tooFast() {
        var router = router("left", "right")
        _ = router.receive(add(1), from: "left", at: start)
        _ = router.receiveFromVehicle(response(.diagnosticRequest), at: start)
        #expect(
            router.receive(add(10.5), from: "right", at: start)
                == [told("right", .diagnosticRequest, false)])
        #expect(router.recurringRequests == [request(1)])
    }

    @Test("when a faster request is refused, the slower one is asked for again")
    func fasterRefused() {
        var router = router("left", "right")
        _ = router.receive(add(1), from: "left", at: start)
        _ = router.receiveFromVehicle(response(.diagnosticRequest), at: start)
        #expect(
            router.receive(add(5), from: "right", at: start)
                == [.toVehicle(cancel(1)), .toVehicle(add(5))])
        _ = router.receiveFromVehicle(response(.diagnosticRequest), at: start)
        let refusal = router.receiveFromVehicle(response(.diagnosticRequest, false), at: start)
        #expect(refusal.destination == .client("right"))
        #expect(refusal.after == [.toVehicle(add(1))])
        #expect(router.disconnected("right", at: start) == [])
        // Refused as well: now no client has it.
        let again = router.receiveFromVehicle(response(.diagnosticRequest, false), at: start)
        #expect(again == Router.Delivery(destination: .nobody))
        #expect(router.recurringRequests.isEmpty)
    }

    @Test("who shares a request hears what the vehicle interface says to it")
    func shared() {
        for isTaken in [true, false] {
            var router = router("left", "right")
            _ = router.receive(add(1), from: "left", at: start)
            #expect(router.receive(add(1), from: "right", at: start) == [])
            let answer = router.receiveFromVehicle(response(.diagnosticRequest, isTaken), at: start)
            #expect(answer.destination == .client("left"))
            #expect(answer.after == [told("right", .diagnosticRequest, isTaken)])
            #expect(router.recurringRequests.isEmpty == !isTaken)
        }
    }

    @Test("no bus and the first bus are one, as for firmware")
    func firstBus() {
        var router = router("left", "right")
        _ = router.receive(add(1), from: "left", at: start)
        _ = router.receiveFromVehicle(response(.diagnosticRequest), at: start)
        #expect(
            router.receive(add(1, bus: 0), from: "right", at: start)
                == [told("right", .diagnosticRequest)])
    }

    @Test("clients that come and go leave nothing behind")
    func churn() {
        var router = router()
        for index in 0..<500 {
            let client = "client \(index)"
            router.connected(client)
            _ = router.receive(add(Double(index % 10 + 1)), from: client, at: start)
            _ = router.receive(
                command(.passthrough(bus: 1, enabled: true)), from: client, at: start)
            _ = router.receive(command(.payloadFormat(.json)), from: client, at: start)
            _ = router.disconnected(client, at: start)
        }
        #expect(router.recurringRequests.isEmpty)
        _ = router.advance(to: start + Router.vinTimeout)
        #expect(router.nextDeadline == nil)
        #expect(router.linkOpened(at: start) == [])
    }

    // MARK: - Messages that firmware cannot handle

    @Test(
        "a command that firmware takes for another one is not passed on",
        arguments: [
            #"{"command":"payload_format2","format":"protobuf"}"#,
            #"{"command":"passthrough_all","bus":1,"enabled":true}"#,
            #"{"command":"Payload_Format","format":"protobuf"}"#,
            #"{"Command":"payload_format","format":"protobuf","command":"other"}"#,
            #"{"\u0043ommand":"payload_format","format":"protobuf","command":"other"}"#,
        ])
    func disguised(text: String) throws {
        var router = router("left")
        let message = try VehicleMessage(json: Array(text.utf8).span)
        let actions = router.receive(message, from: "left", at: start)
        guard case .note(.unsafe("left", message, .disguised)) = try #require(actions.first) else {
            Issue.record("\(actions)")
            return
        }
        #expect(actions.count == 1)
        // relayd waits for no answer, so no other client's answer goes to this client.
        #expect(router.nextDeadline == nil)
    }

    @Test("a command that nobody knows is passed on")
    func unknownCommand() throws {
        var router = router("left")
        let message = try VehicleMessage(json: Array(#"{"command":"reboot","now":true}"#.utf8).span)
        #expect(router.receive(message, from: "left", at: start) == [.toVehicle(message)])
    }

    @Test("a name that would run over firmware's memory is not passed on")
    func longName() {
        var router = router("left")
        var named = request(1)
        for (name, isSafe) in [("123456789", true), ("1234567890", false), ("ééééé", false)] {
            named.name = name
            named.pid += 1
            let message = command(.diagnosticRequest(.add, named))
            let expected: Router.Action =
                isSafe ? .toVehicle(message) : .note(.unsafe("left", message, .longName(name)))
            #expect(router.receive(message, from: "left", at: start) == [expected])
        }
        #expect(router.recurringRequests.count == 1)
    }

    @Test("what does not fit into firmware's buffer would take others' commands with it")
    func tooLong() throws {
        var router = Router()
        router.connected("left", may: WritePermissions([try #require(WriteRule("name"))]))
        _ = router.linkOpened(at: start)
        let shell = #"{"name":"","value":1}"#.utf8.count + 1
        for (excess, isPassedOn) in [(0, true), (1, false)] {
            let name = String(repeating: "x", count: Hazard.maximumBytes - shell + excess)
            let message = VehicleMessage(.measurement(Measurement(name, .number(1))))
            let actions = router.receive(message, from: "left", at: start)
            #expect(actions.contains(.toVehicle(message)) == isPassedOn)
            guard !isPassedOn else { continue }
            let hazard = Hazard.tooLong(bytes: Hazard.maximumBytes + 1)
            #expect(actions == [.note(.unsafe("left", message, hazard))])
        }
    }

    // MARK: - Two forms

    @Test("which form it wants to hear follows what it speaks, but for strays")
    func formInForce() {
        var form = FormInForce()
        let speed = VehicleMessage(.measurement(Measurement("vehicle_speed", .number(1))))
        let segment = VehicleMessage(
            .diagnostic(
                DiagnosticResponse(
                    bus: 1, id: 0x7E8, mode: 9, success: true, payload: [1], frame: 0)))
        #expect(form.format == nil)
        form.heard(speed, in: .protobuf)
        #expect(form.format == .protobuf)
        for _ in 0..<100 { form.heard(segment, in: .json) }
        for _ in 0..<2 { form.heard(speed, in: .json) }
        form.heard(speed, in: .protobuf)
        for _ in 0..<2 { form.heard(speed, in: .json) }
        #expect(form.format == .protobuf)
        // Something has switched the format, perhaps over Bluetooth.
        form.heard(speed, in: .json)
        #expect(form.format == .json)
        form.heard(response(.payloadFormat), in: .protobuf)
        #expect(form.format == .protobuf)
    }

    @Test("a protobuf client is not sent an answer it would stop reading at")
    func fitForPython() {
        for name in CommandName.known {
            let isKnown = ![.vin, .sdMountStatus, .modemConfiguration, .rtcConfiguration].contains(
                name)
            #expect(response(name).isFit(for: .protobuf) == isKnown)
            #expect(response(name).isFit(for: .json))
        }
    }
}
