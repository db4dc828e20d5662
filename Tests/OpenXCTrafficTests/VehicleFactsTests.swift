// The facts kept about a vehicle, from its interface's messages.

import NIOCore
import OpenXCProtocol
import OpenXCRelay
import RelayCore
import Testing

@testable import OpenXCTraffic

@Suite("The facts about a vehicle")
struct VehicleFactsTests {
    /// The moment this many seconds after the start.
    static func moment(_ seconds: Double) -> VehicleTime {
        VehicleTime(
            WallTime(nanoseconds: 1_700_000_000_000_000_000 + Int64(seconds * 1e9)),
            steady: .uptimeNanoseconds(UInt64(1000e9 + seconds * 1e9)))
    }

    static func heard(_ texts: [(Double, String)]) throws -> VehicleFacts {
        var facts = VehicleFacts()
        for (seconds, text) in texts {
            facts.heard(try VehicleMessage(json: Array(text.utf8).span), at: moment(seconds))
        }
        return facts
    }

    @Test("the latest value of a name counts, with its count, rate and history") func latest()
        throws
    {
        let facts = try Self.heard(
            (0..<40).map { (Double($0) / 4, #"{"name":"vehicle_speed","value":\#($0)}"#) })
        let signal = try #require(facts.allSignals.first)
        #expect(facts.allSignals.count == 1)
        #expect(signal.measurement.value == .number(39))
        #expect(signal.arrival.count == 40)
        // Four in each whole second.
        #expect(signal.arrival.rate(at: Self.moment(9.9).steady) == 4)
        // The latest value of each second.
        #expect(signal.history.values == [3, 7, 11, 15, 19, 23, 27, 31, 35, 39])
        // No more messages arrive.
        #expect(signal.arrival.rate(at: Self.moment(15).steady) == 2)
        #expect(signal.arrival.rate(at: Self.moment(60).steady) == 0)
    }

    @Test("each state of an event is kept by itself") func events() throws {
        let facts = try Self.heard([
            (0, #"{"name":"door_status","value":"driver","event":true}"#),
            (1, #"{"name":"door_status","value":"passenger","event":false}"#),
            (2, #"{"name":"door_status","value":"driver","event":false}"#),
            (3, #"{"name":"button_event","value":"up","event":"pressed"}"#),
        ])
        let said = facts.allSignals.map { VehicleText.words($0.measurement) }
        #expect(
            said == [
                "button_event up pressed", "door_status driver false",
                "door_status passenger false",
            ])
        #expect(facts.allSignals.map(\.history.values) == [[], [1, 1, 0], [0]])
    }

    @Test("the vehicle interface's own clock is kept apart") func clocks() throws {
        let facts = try Self.heard([(2, #"{"timestamp":1332432977835,"name":"a","value":true}"#)])
        let arrival = try #require(facts.allSignals.first?.arrival)
        #expect(arrival.vehicleTime == 1_332_432_977_835)
        #expect(arrival.at == Self.moment(2).time)
    }

    @Test("CAN is kept by bus and identifier") func can() throws {
        let facts = try Self.heard([
            (0, #"{"bus":1,"id":1234,"data":"0x01"}"#), (1, #"{"bus":2,"id":1234,"data":"0x02"}"#),
            (2, #"{"bus":1,"id":1234,"data":"0x03"}"#), (3, #"{"bus":1,"id":99,"data":"0x"}"#),
        ])
        #expect(
            facts.allCAN.map { VehicleText.words($0.message) } == [
                "CAN bus 1 0x63 [0]", "CAN bus 1 0x4d2 [1] 03", "CAN bus 2 0x4d2 [1] 02",
            ])
        #expect(facts.allCAN.map(\.arrival.count) == [1, 2, 1])
    }

    @Test("diagnostic answers are kept by bus, identifier, mode and PID, in pieces or whole")
    func diagnostics() throws {
        let facts = try Self.heard([
            (0, #"{"bus":1,"id":2016,"mode":1,"pid":12,"success":true,"value":772}"#),
            // Another firmware's key, and pieces between the pieces of another answer.
            (
                1,
                #"{"bus":1,"message_id":2016,"mode":9,"pid":2,"payload":"0x4902","frame":0,"#
                    + #""total_size":5,"success":true}"#
            ),
            (
                1,
                #"{"bus":1,"id":2017,"mode":34,"pid":7,"payload":"0x62","frame":0,"total_size":2,"#
                    + #""success":true}"#
            ),
            (
                2,
                #"{"bus":1,"message_id":2016,"mode":9,"pid":2,"payload":"0x313244","frame":-1,"#
                    + #""total_size":5,"success":true}"#
            ),
            (
                2,
                #"{"bus":1,"id":2017,"mode":34,"pid":7,"payload":"0x00","frame":-1,"total_size":2,"#
                    + #""success":true}"#
            ),
        ])
        #expect(
            facts.allDiagnostics.map { $0.response.payload } == [
                nil, [0x49, 2, 0x31, 0x32, 0x44], [0x62, 0],
            ])
        #expect(facts.brokenAnswers == 0)
    }

    @Test("what is kept is bounded, and what finds no place is counted") func bounds() throws {
        var facts = VehicleFacts()
        for number in 0..<5000 {
            let messages: [VehicleMessage.Content] = [
                .measurement(Measurement("signal \(number)", .number(1))),
                .can(CANMessage(bus: 1, id: UInt32(number), data: [])),
                .diagnostic(
                    DiagnosticResponse(bus: 1, id: UInt32(number), mode: 1, success: true)),
            ]
            for message in messages { facts.heard(VehicleMessage(message), at: Self.moment(0)) }
        }
        #expect(facts.allSignals.count == VehicleFacts.maximumSignals)
        #expect(facts.allCAN.count == VehicleFacts.maximumCAN)
        #expect(facts.allDiagnostics.count == VehicleFacts.maximumDiagnostics)
        #expect(facts.signalsLeftOut == 5000 - 1024)
        #expect(facts.canLeftOut == 5000 - 4096)
        #expect(facts.diagnosticsLeftOut == 5000 - 512)
        #expect(facts.all.count == 15_000)
    }
}

@Suite("What is known of a vehicle over links")
struct VehicleTrafficTests {
    @Test("values stay when the link closes, and begin anew with the next one") func links()
        async throws
    {
        func item(_ content: VehicleItem.Content) -> VehicleItem {
            VehicleItem(content, at: .now(), steady: .now())
        }
        let speed = VehicleMessage(.measurement(Measurement("vehicle_speed", .number(1))))
        let traffic = VehicleTraffic(instance: "v")
        await traffic.take([
            item(.linkOpened(address: "openxc+tcp:h:1")), item(.heard([(speed, .all, [])])),
            item(.linkClosed(reason: "unplugged")),
        ])
        #expect(traffic.facts.allSignals.count == 1)
        await traffic.take([item(.linkOpened(address: "openxc+tcp:h:1"))])
        #expect(traffic.facts.allSignals.isEmpty)
        // The messages so far can still be read.
        #expect(traffic.latest == 4)
    }

    @Test("a message is kept as it came, unless it is longer than any of firmware") func wire()
        async throws
    {
        let speed = VehicleMessage(.measurement(Measurement("vehicle_speed", .number(1))))
        let long = [UInt8](repeating: 0x20, count: VehicleEntry.maximumWireBytes + 1)
        let traffic = VehicleTraffic(instance: "v")
        let heard: [VehicleItem.Heard] = [
            (speed, .all, long.dropFirst()), (speed, .all, long[...]), (speed, .all, []),
        ]
        await traffic.take([VehicleItem(.heard(heard), at: .now(), steady: .now())])
        let kept = traffic.entries(after: 0, limit: 10) { _ in true }.entries.map { entry in
            if case .heard(_, _, let wire) = entry.content { wire.count } else { -1 }
        }
        #expect(kept == [VehicleEntry.maximumWireBytes, 0, 0])
    }

    @Test("as it came, JSON is text and protobuf is in hex, also where its length is a brace")
    func forms() {
        #expect(
            VehicleText.wire(Array(#"{"name":"a","value":1}"#.utf8)) == #"{"name":"a","value":1}"#)
        #expect(VehicleText.wire([0x02, 0x08, 0x01]) == "0x020801")
        let long = [0x7B, 0x08] + [UInt8](repeating: 0, count: 122)
        #expect(VehicleText.wire(long)?.hasPrefix("0x7b08") == true)
        #expect(VehicleText.wire([]) == nil)
        // Bytes that are not valid text are not repaired: they are shown as they came.
        let latin = Array(#"{"name":"t"#.utf8) + [0xE4] + Array(#"r","value":1}"#.utf8)
        #expect(VehicleText.wire(latin)?.hasPrefix("0x7b226e616d65223a2274e472") == true)
    }
}

@Suite("Rates and histories")
struct MessageRateTests {
    @Test("the first second shows what has come, then whole seconds count") func begin() {
        var rate = MessageRate()
        #expect(rate.perSecond(at: 5) == 0)
        for _ in 0..<3 { rate.count(at: 5) }
        #expect(rate.perSecond(at: 5) == 3)
        #expect(rate.perSecond(at: 6) == 3)
        #expect(rate.perSecond(at: 7) == 1.5)
    }

    @Test("what is longer ago than ten seconds is forgotten, gaps of any length") func forgetting()
    {
        var rate = MessageRate()
        rate.count(at: 0)
        for second in 1...20 { for _ in 0..<10 { rate.count(at: Int64(second)) } }
        #expect(rate.perSecond(at: 21) == 10)
        #expect(rate.perSecond(at: 26) == 5)
        rate.count(at: .max / 2)
        #expect(rate.perSecond(at: .max / 2) == 0)
        #expect(rate.perSecond(at: .max / 2 + 1) == 0.1)
    }

    @Test("a clock that goes back costs nothing") func back() {
        var (rate, history) = (MessageRate(), ValueHistory())
        for second in [10, 3, 11] {
            rate.count(at: Int64(second))
            history.add(Double(second), at: Int64(second))
        }
        #expect(rate.perSecond(at: 12) == 1.5)
        #expect(history.values == [3, 11])
    }

    @Test("silent seconds have the value before, sixty at most") func silence() {
        var history = ValueHistory()
        history.add(1, at: 0)
        history.add(2, at: 3)
        #expect(history.values == [1, 1, 1, 2])
        history.add(3, at: 1_000_000)
        #expect(history.values == Array(repeating: 2, count: 59) + [3])
    }
}
