// The messages that a client receives.

import NIOCore
import OpenXCProtocol
import Testing

@testable import OpenXCRelay

@Suite("A subscription")
struct SubscriptionTests {
    private let start = NIODeadline.uptimeNanoseconds(0)

    private static func speed(_ value: Double) -> VehicleMessage {
        VehicleMessage(.measurement(Measurement("vehicle_speed", .number(value))))
    }

    private static func can(_ bus: Int32, _ id: UInt32) -> VehicleMessage {
        VehicleMessage(.can(CANMessage(bus: bus, id: id, data: [1])))
    }

    private static func door(_ door: String, _ isOpen: Bool) -> VehicleMessage {
        VehicleMessage(
            .measurement(Measurement("door_status", .text(door), event: .flag(isOpen))))
    }

    private func filter(_ change: (inout Subscription) -> Void) -> SubscriptionFilter {
        var subscription = Subscription()
        change(&subscription)
        return SubscriptionFilter(subscription)
    }

    @Test("to everything lets everything pass")
    func everything() {
        var filter = filter { _ in }
        #expect(filter.isOpen)
        #expect(filter.pass(Self.speed(1), at: start) == true)
    }

    @Test("what a client has asked for itself passes in any case")
    func asked() {
        var filter = filter {
            $0.names = ["vehicle_speed"]
            $0.ids = ["0x100"].compactMap { IdentifierRange($0) }
        }
        func answer(_ id: UInt32, pid: UInt32 = 12) -> VehicleMessage {
            VehicleMessage(
                .diagnostic(DiagnosticResponse(bus: 1, id: id, mode: 1, pid: pid, success: true)))
        }
        let named = VehicleMessage(.measurement(Measurement("rpm", .number(1))))
        for message in [answer(0x7E0), answer(0x7E8, pid: 5), named] {
            #expect(filter.pass(message, at: start) == false)
        }
        filter.asks(for: DiagnosticRequest(id: 0x7E0, mode: 1, pid: 12))
        filter.asks(for: DiagnosticRequest(id: 0x7DF, mode: 1, pid: 5))
        var request = DiagnosticRequest(id: 0x7E1, mode: 1, pid: 12)
        request.name = "rpm"
        filter.asks(for: request)
        for message in [answer(0x7E0), answer(0x7E8, pid: 5), named] {
            #expect(filter.pass(message, at: start) == true)
        }
        #expect(filter.pass(answer(0x7E8), at: start) == false)
    }

    @Test("to names, buses and identifiers leaves the others out")
    func selection() {
        var filter = filter {
            $0.names = ["engine_speed"]
            $0.buses = [1]
            $0.ids = ["0x7e8", "0x120-0x123"].compactMap { IdentifierRange($0) }
        }
        #expect(filter.pass(Self.speed(1), at: start) == false)
        #expect(filter.pass(Self.can(1, 0x123), at: start) == true)
        #expect(filter.pass(Self.can(2, 0x123), at: start) == false)
        #expect(filter.pass(Self.can(1, 0x124), at: start) == false)
        let answer = VehicleMessage(
            .diagnostic(DiagnosticResponse(bus: 1, id: 0x7E8, mode: 1, success: true)))
        #expect(filter.pass(answer, at: start) == true)
        #expect(filter.pass(answer, at: start) == true)
        // A message without data passes: it is an answer to the client.
        #expect(
            filter.pass(
                VehicleMessage(.response(CommandResponse(.version, status: true))), at: start)
                == true)
    }

    @Test("to signals alone is to no CAN messages, and the other way round")
    func oneKind() {
        var signals = filter { $0.names = ["vehicle_speed"] }
        #expect(signals.pass(Self.speed(1), at: start) == true)
        #expect(signals.pass(Self.can(1, 1), at: start) == false)
        var frames = filter { $0.buses = [1] }
        #expect(frames.pass(Self.speed(1), at: start) == false)
        #expect(frames.pass(Self.can(1, 1), at: start) == true)
        // The client may have asked for this answer.
        let answer = VehicleMessage(
            .diagnostic(DiagnosticResponse(bus: 1, id: 0x7E8, mode: 1, success: true)))
        #expect(signals.pass(answer, at: start) == true)
    }

    @Test("to changes tells doors apart, and times do not count")
    func onChange() {
        var filter = filter { $0.onChange = true }
        #expect(filter.pass(Self.speed(1), at: start) == true)
        var later = Self.speed(1)
        later.timestamp = 17
        #expect(filter.pass(later, at: start) == false)
        #expect(filter.pass(Self.speed(2), at: start) == true)
        #expect(filter.pass(Self.door("driver", false), at: start) == true)
        #expect(filter.pass(Self.door("passenger", false), at: start) == true)
        #expect(filter.pass(Self.door("driver", false), at: start) == false)
        #expect(filter.pass(Self.door("driver", true), at: start) == true)
    }

    @Test("with a rate counts each signal by itself")
    func rate() {
        var filter = filter { $0.maximumRate = 4 }
        #expect(filter.pass(Self.speed(1), at: start) == true)
        #expect(filter.pass(Self.can(1, 1), at: start) == true)
        #expect(filter.pass(Self.speed(2), at: start + .milliseconds(249)) == false)
        #expect(filter.pass(Self.speed(3), at: start + .milliseconds(250)) == true)
        #expect(filter.pass(Self.speed(3), at: start + .milliseconds(499)) == false)
    }

    @Test("with a rate delays the last state of a signal that rests, and drops what is between")
    func lastState() {
        var filter = filter { $0.maximumRate = 4 }
        #expect(filter.pass(Self.speed(1), at: start) == true)
        #expect(filter.nextDeadline == nil)
        #expect(filter.pass(Self.can(1, 1), at: start + .milliseconds(10)) == true)
        #expect(filter.pass(Self.can(1, 1), at: start + .milliseconds(20)) == false)
        for value in 2...5 {
            let now = start + .milliseconds(Int64(20 * value))
            #expect(filter.pass(Self.speed(Double(value)), at: now) == false)
        }
        #expect(filter.nextDeadline == start + .milliseconds(250))
        #expect(filter.takeDue(at: start + .milliseconds(249)) == [])
        #expect(filter.takeDue(at: start + .milliseconds(250)) == [Self.speed(5)])
        #expect(filter.takeDue(at: start + .milliseconds(300)) == [Self.can(1, 1)])
        #expect(filter.nextDeadline == nil)
        // A delayed message counts like one that passed at once.
        #expect(filter.pass(Self.speed(6), at: start + .milliseconds(499)) == false)
        #expect(filter.pass(Self.speed(7), at: start + .milliseconds(500)) == true)
        #expect(filter.nextDeadline == nil)
        #expect(filter.takeDue(at: start + .seconds(9)) == [])
    }

    @Test("with a rate and to changes says nothing of a state that has come back meanwhile")
    func cameBack() {
        var filter = filter {
            $0.maximumRate = 4
            $0.onChange = true
        }
        #expect(filter.pass(Self.speed(1), at: start) == true)
        #expect(filter.pass(Self.speed(2), at: start + .milliseconds(10)) == false)
        #expect(filter.pass(Self.speed(1), at: start + .milliseconds(20)) == false)
        #expect(filter.nextDeadline == nil)
        #expect(filter.takeDue(at: start + .seconds(1)) == [])
    }

    @Test("remembers a bounded number of signals")
    func bounded() {
        var filter = filter { $0.onChange = true }
        for id in 0..<UInt32(SubscriptionFilter.maximumSignals * 3) {
            #expect(filter.pass(Self.can(1, id), at: start) == true)
        }
        #expect(filter.rememberedSignals <= SubscriptionFilter.maximumSignals)
    }
}
