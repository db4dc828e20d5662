import NIOCore
import OpenXCProtocol
import Testing

@testable import SimulatedVehicle

/// A vehicle interface on manual time, with questions and answers in JSON.
private struct Bench {
    var vehicle: SimulatedVehicle
    private(set) var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private(set) var heard: [String] = []

    init(_ options: [String: String] = [:]) throws {
        vehicle = SimulatedVehicle(try .init(options: options))
        vehicle.powered(at: now)
    }

    mutating func say(_ text: String) {
        take(vehicle.receive(Array(text.utf8) + [0], at: now))
    }

    /// Lets time pass from one deadline to the next.
    mutating func pass(_ time: TimeAmount) {
        let end = now + time
        while let next = vehicle.nextDeadline, next <= end {
            now = max(now, next)
            take(vehicle.advance(to: now))
        }
        now = end
    }

    private mutating func take(_ output: SimulatedVehicle.Output) {
        heard += output.map {
            String(decoding: $0.last == 0 ? $0.dropLast() : $0[...], as: UTF8.self)
        }
    }

    /// The messages since the last call, except the drive's measurements.
    mutating func answers() -> [String] {
        defer { heard = [] }
        return heard.filter { !$0.hasPrefix(#"{"name":"#) }
    }

    mutating func ask(_ text: String, wait: TimeAmount = .milliseconds(0)) -> [String] {
        heard = []
        say(text)
        pass(wait)
        return answers()
    }

    mutating func all() -> [String] {
        defer { heard = [] }
        return heard
    }
}

@Suite("The simulated vehicle interface") struct SimulatedVehicleTests {
    @Test("measurements come at their usual rates")
    func rates() throws {
        var bench = try Bench()
        bench.pass(.seconds(60))
        var counts: [String: Int] = [:]
        for text in bench.all() {
            let name = text.dropFirst(9).prefix { $0 != "\"" }
            counts[String(name), default: 0] += 1
        }
        for name in [
            "steering_wheel_angle", "torque_at_transmission", "engine_speed", "vehicle_speed",
            "accelerator_pedal_position", "odometer", "fuel_consumed_since_restart",
        ] {
            #expect((590...610).contains(counts[name] ?? 0), "\(name)")
        }
        #expect((118...122).contains(counts["fuel_level"] ?? 0))
        for name in ["latitude", "longitude"] { #expect((59...61).contains(counts[name] ?? 0)) }
        // Once a second, and also when they change.
        for name in ["ignition_status", "headlamp_status", "transmission_gear_position"] {
            #expect((59...120).contains(counts[name] ?? 0), "\(name)")
        }
        #expect((counts["door_status"] ?? 0) >= 4 * 59)
    }

    @Test("what it says fits together: speed drives the odometer, and the engine burns fuel")
    func plausible() throws {
        var bench = try Bench()
        var before: [String: Double] = [:]
        var fastest = 0.0
        for _ in 1...20 {
            bench.pass(.seconds(30))
            var now: [String: Double] = [:]
            for text in bench.all() {
                let message = try VehicleMessage(json: Array(text.utf8).span)
                guard case .measurement(let measurement) = message.content,
                    case .number(let value) = measurement.value
                else { continue }
                now[measurement.name] = value
                if measurement.name == "vehicle_speed" { fastest = max(fastest, value) }
            }
            #expect((0...200).contains(now["vehicle_speed"] ?? -1))
            #expect((0...8000).contains(now["engine_speed"] ?? -1))
            #expect((0...100).contains(now["fuel_level"] ?? -1))
            #expect((now["odometer"] ?? 0) >= (before["odometer"] ?? 0))
            before = now
        }
        #expect(fastest > 20, "it has driven")
    }

    @Test("commands are answered as firmware answers them")
    func commands() throws {
        var bench = try Bench(["vin": "1FADP5BU0DL123456", "version": "8.2.1", "platform": "C5"])
        func response(_ name: String, _ message: String) -> [String] {
            [#"{"command_response":"\#(name)","message":"\#(message)","status":true}"#]
        }
        #expect(bench.ask(#"{"command":"version"}"#) == response("version", "8.2.1"))
        #expect(bench.ask(#"{"command":"platform"}"#) == response("platform", "C5"))
        #expect(
            bench.ask(#"{"command":"device_id"}"#) == response("device_id", "0012F3000001"))
        // The first time, the vehicle has to be asked.
        #expect(bench.ask(#"{"command":"get_vin"}"#) == [])
        bench.pass(.milliseconds(400))
        #expect(bench.answers() == response("get_vin", "1FADP5BU0DL123456"))
        #expect(bench.ask(#"{"command":"get_vin"}"#) == response("get_vin", "1FADP5BU0DL123456"))
    }

    @Test("whoever asks for the VIN while the vehicle is being asked waits for the same answer")
    func vinTwice() throws {
        var bench = try Bench(["vin": "1FADP5BU0DL123456"])
        let answer =
            #"{"command_response":"get_vin","message":"1FADP5BU0DL123456","status":true}"#
        #expect(bench.ask(#"{"command":"get_vin"}"#, wait: .milliseconds(300)) == [])
        #expect(bench.ask(#"{"command":"get_vin"}"#, wait: .milliseconds(99)) == [])
        bench.pass(.milliseconds(1))
        #expect(bench.answers() == [answer, answer])
        #expect(bench.ask(#"{"command":"get_vin"}"#) == [answer])
    }

    @Test("a vehicle that tells no VIN lets the request time out")
    func noVIN() throws {
        var bench = try Bench(["vin": "off", "vin-delay": "2000ms"])
        #expect(bench.ask(#"{"command":"get_vin"}"#, wait: .milliseconds(1999)) == [])
        bench.pass(.milliseconds(1))
        #expect(
            bench.answers() == [
                #"{"command_response":"get_vin","message":"VIN request timed out","status":false}"#
            ])
    }

    @Test("bad habits: no answer to what it does not know, and a prefix is enough")
    func habits() throws {
        var bench = try Bench()
        #expect(bench.ask(#"{"command":"make_coffee"}"#, wait: .seconds(2)) == [])
        #expect(
            bench.ask(#"{"command":"version2"}"#)
                == [
                    #"{"command_response":"version","message":"8.2.1 (simulated)","status":true}"#
                ])
        // Text that is not JSON stays in the queue and blocks what follows until the queue is full.
        #expect(bench.ask("{rubbish") == [])
        #expect(bench.ask(#"{"command":"platform"}"#) == [])
        for _ in 1...20 { _ = bench.ask(#"{"command":"platform"}"#) }
        #expect(!bench.ask(#"{"command":"platform"}"#).isEmpty)
        var polite = try Bench(["answer-unknown": "on", "prefix": "off"])
        #expect(polite.ask(#"{"command":"version2"}"#).first?.contains("unknown command") == true)
    }

    @Test("payload_format is answered in the old form, and changes all that follows")
    func formats() throws {
        var bench = try Bench()
        #expect(
            bench.ask(#"{"command":"payload_format","format":"protobuf"}"#).first
                == #"{"command_response":"payload_format","message":"","status":true}"#)
        #expect(bench.vehicle.format == .protobuf)
        var request: [UInt8] = []
        try MessageFraming.protobuf.append(
            VehicleMessage(.command(.version)), to: &request)
        let answer = bench.vehicle.receive(request, at: bench.now)
        var expected: [UInt8] = []
        try MessageFraming.protobuf.append(
            VehicleMessage(
                .response(
                    CommandResponse(.version, message: "8.2.1 (simulated)", status: true))),
            to: &expected)
        #expect(answer == [expected])
    }

    @Test("a diagnostic request is answered once, or as often as asked, until it is cancelled")
    func diagnostics() throws {
        func request(_ action: String, _ more: String = "") -> String {
            #"{"command":"diagnostic_request","action":"\#(action)","#
                + #""request":{"bus":1,"id":2016,"mode":1,"pid":12\#(more)}}"#
        }
        var bench = try Bench()
        let accepted = #"{"command_response":"diagnostic_request","message":"","status":true}"#
        let once = bench.ask(request("add"), wait: .seconds(2))
        #expect(once.first == accepted)
        #expect(once.count == 2 && once.last?.contains(#""success":true"#) == true, "\(once)")
        _ = bench.ask(request("add", #","frequency":5"#))
        bench.pass(.seconds(2))
        #expect((9...11).contains(bench.answers().count))
        #expect(bench.ask(request("cancel")).first == accepted)
        bench.pass(.milliseconds(200))
        _ = bench.all()
        bench.pass(.seconds(2))
        #expect(bench.answers() == [])
        // More often than the firmware allows.
        #expect(
            bench.ask(request("add", #","frequency":11"#)).first?.contains(#""status":false"#)
                == true)
    }

    @Test("a request that is answered makes room for the next, and one without an answer later")
    func roomForRequests() throws {
        func request(_ id: Int) -> String {
            #"{"command":"diagnostic_request","action":"add","#
                + #""request":{"bus":1,"id":\#(id),"mode":1,"pid":12}}"#
        }
        func isTaken(_ answers: [String]) -> Bool {
            answers.first?.contains(#""status":true"#) == true
        }
        var bench = try Bench()
        for _ in 1...20 { #expect(isTaken(bench.ask(request(2016)))) }
        #expect(!isTaken(bench.ask(request(2016))))
        bench.pass(.milliseconds(20))
        for _ in 1...20 { #expect(isTaken(bench.ask(request(2016)))) }

        // No module has this address.
        var silent = try Bench()
        for _ in 1...20 { #expect(isTaken(silent.ask(request(0x123)))) }
        silent.pass(.milliseconds(99))
        #expect(!isTaken(silent.ask(request(0x123))))
        silent.pass(.milliseconds(1))
        #expect(isTaken(silent.ask(request(0x123))))
    }

    @Test(
        "only the command itself is found by its beginning, and only a member called so is not read"
    )
    func names() throws {
        var bench = try Bench()
        #expect(
            bench.ask(#"{"note":"version2","command" : "version2"}"#).first?
                .contains(#""command_response":"version""#) == true)
        func request(_ more: String) -> String {
            #"{"command":"diagnostic_request","action":"add","#
                + #""request":{"bus":1,"mode":1,"pid":12,\#(more)}}"#
        }
        #expect(bench.ask(request(#""id":2016,"name":"message_id""#)).count == 1)
        #expect(bench.ask(request(#""message_id" : 2016"#)) == [])
    }

    @Test("CAN messages come only while passthrough is on")
    func passthrough() throws {
        var bench = try Bench()
        bench.pass(.seconds(1))
        #expect(bench.answers() == [])
        _ = bench.ask(#"{"command":"passthrough","bus":1,"enabled":true}"#)
        bench.pass(.seconds(1))
        let frames = bench.answers()
        #expect(!frames.isEmpty && frames.allSatisfy { $0.contains(#""bus":1"#) })
        _ = bench.ask(#"{"command":"passthrough","bus":1,"enabled":false}"#)
        bench.pass(.seconds(1))
        #expect(bench.answers() == [])
    }

    @Test("writes are kept, and nobody is told")
    func writes() throws {
        var bench = try Bench()
        #expect(bench.ask(#"{"bus":1,"id":2016,"data":"0x01"}"#) == [])
        #expect(bench.vehicle.writes.count == 1)
    }

    @Test("whatever is sent to it, it goes on", arguments: ["json", "protobuf"])
    func rubbish(format: String) throws {
        var bench = try Bench(["format": format])
        var generator = SystemRandomNumberGenerator()
        for _ in 1...2000 {
            let bytes = (0..<Int.random(in: 1...64)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            _ = bench.vehicle.receive(bytes, at: bench.now)
            bench.pass(.milliseconds(1))
        }
        bench.pass(.seconds(1))
        #expect(!bench.all().isEmpty)
    }

    @Test(
        "an option that cannot be used says what can",
        arguments: [
            (
                "speed", "fast",
                "option speed of sim:openxc is \"fast\"; expected a number between 0.1 and 100"
            ),
            ("format", "xml", "option format of sim:openxc is \"xml\"; expected json or protobuf"),
            (
                "vin", "1",
                "option vin of sim:openxc is \"1\"; expected 17 letters and digits, or off"
            ),
            (
                "truncate", "3",
                "option truncate of sim:openxc is \"3\"; expected off, or 64 to 4096 bytes"
            ),
        ])
    func options(name: String, value: String, message: String) {
        #expect(throws: SimulatedVehicle.OptionError(message: message)) {
            try SimulatedVehicle.Configuration(options: [name: value])
        }
    }

    @Test("an unknown option names those there are")
    func unknownOption() throws {
        let error = #expect(throws: SimulatedVehicle.OptionError.self) {
            try SimulatedVehicle.Configuration(options: ["colour": "red"])
        }
        #expect(
            error?.message.hasPrefix("unknown option \"colour\" of sim:openxc; known: ") == true)
    }
}
