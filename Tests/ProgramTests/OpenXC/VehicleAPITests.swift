// What programs ask of a vehicle interface over the control API, and how it answers, bad habits included.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import Testing

@Suite("The control API and a vehicle interface", .serialized)
struct VehicleAPITests {
    @Test("values, CAN, answers, clients and owners are in one report")
    func report() async throws {
        try await VehicleBench.run { bench in
            try await bench.isBusy()
            let report = try await bench.report()
            #expect(report.interface.version == "8.2.1 (fake)")
            #expect(report.interface.platform == "FORDBOARD")
            #expect(report.interface.format == "json")
            let door = try #require(report.measurements.first)
            #expect(door.name == "door_status")
            #expect(door.value == .text("driver"))
            #expect(door.event == .flag(true))
            #expect(door.vehicleTime == 1_332_432_977_835)
            let speed = try #require(report.measurements.last)
            #expect(speed.value == .number(42.5))
            #expect(speed.unit == "km/h")
            #expect(speed.history == [42.5])
            // A vehicle interface without a clock.
            #expect(speed.vehicleTime == nil)
            #expect(report.can.map(\.data) == ["0x12345678"])
            #expect(report.diagnostics.map(\.success) == [false, true])
            #expect(report.diagnostics.last?.decoded == 772)
            #expect(report.diagnostics.last?.unit == "rpm")
            #expect(report.requests.map(\.clients) == [[1]])
            #expect(report.switches.map(\.name) == ["passthrough"])
            let client = try #require(report.clients.first)
            #expect(client.format == "json")
            #expect(client.refused == 1)
            #expect(client.messagesIn == 3)
            #expect(client.writes == [])
        }
    }

    @Test("values begin anew when the vehicle interface has been unplugged and is back")
    func unplugged() async throws {
        try await VehicleBench.run { bench in
            try await bench.says(#"{"name":"vehicle_speed","value":42.5}"#)
            try await bench.until("it is seen") { $0.measurements.count == 1 }
            try await bench.vehicle.channel.close()
            // The accessory of the test takes the next link at once.
            try await bench.until("it is back") { $0.measurements.isEmpty }
        }
    }

    @Test("a command is answered with the vehicle interface's answer, whatever it says meanwhile")
    func command() async throws {
        try await VehicleBench.run { bench in
            let answer = try await bench.during(
                .init(
                    #"{"command":"device_id"}"#, #"{"name":"vehicle_speed","value":1}"#,
                    #"{"command_response":"version","message":"nobody asked","status":true}"#,
                    #"{"command_response":"device_id","message":"0012","status":true}"#)
            ) {
                try await bench.post(Routes.vehicleCommand, #"{"command":"device_id"}"#)
            }
            let report = try APICoding.decode(VehicleCommandReport.self, from: answer.body)
            #expect(report.message == "0012")
            #expect(report.status)
            #expect(try await bench.report().interface.deviceID == "0012")
        }
    }

    @Test("answers that come out of order find who asked")
    func outOfOrder() async throws {
        try await VehicleBench.run { bench in
            async let version = bench.post(Routes.vehicleCommand, #"{"command":"version"}"#)
            try await bench.hears(#"{"command":"version"}"#)
            async let vin = bench.post(Routes.vehicleCommand, #"{"command":"get_vin"}"#)
            try await bench.hears(#"{"command":"get_vin"}"#)
            try await bench.says(
                #"{"command_response":"get_vin","message":"1FTFW1ET1DFC10312","status":true}"#,
                #"{"command_response":"version","message":"9","status":true}"#)
            let answers = try await (version, vin)
            #expect(answers.0.text.contains(#""message" : "9""#))
            #expect(answers.1.text.contains(#""message" : "1FTFW1ET1DFC10312""#))
        }
    }

    @Test("a silent vehicle interface is told as such, and one that is unplugged at once")
    func silent() async throws {
        try await VehicleBench.run { bench in
            let silent = try await bench.during(.init(#"{"command":"platform"}"#)) {
                try await bench.post(Routes.vehicleCommand, #"{"command":"platform"}"#)
            }
            #expect(silent.statusLine.contains(" 504 "))
            #expect(silent.text.contains("has not answered platform in time"))
            async let unplugged = bench.post(Routes.vehicleCommand, #"{"command":"get_vin"}"#)
            try await bench.hears(#"{"command":"get_vin"}"#)
            try await bench.vehicle.channel.close()
            let answer = try await unplugged
            #expect(answer.statusLine.contains(" 409 "))
            #expect(answer.text.contains("before the vehicle interface answered get_vin"))
        }
    }

    @Test("without a vehicle interface nothing is asked")
    func absent() async throws {
        try await Relayd.run(
            accessory: "openxc+serial:/nowhere/tty", config: "openxc:\n  listen: 127.0.0.1:0\n"
        ) { relayd in
            for (route, body) in [
                (Routes.vehicleCommand, #"{"command":"version"}"#),
                (Routes.vehicleDiagnostic, #"{"id":2016,"mode":1}"#),
                (Routes.vehicleStream, #"{"passthrough":[1]}"#),
            ] {
                let answer = try await ControlRequest.post(route, body, at: relayd.controlSocket)
                #expect(answer.statusLine.contains(" 409 "), "\(route)")
                #expect(answer.text.contains("no vehicle interface is connected"), "\(route)")
            }
        }
    }

    @Test("a diagnostic request has all answers of the vehicle, joined and decoded")
    func diagnostic() async throws {
        try await VehicleBench.run { bench in
            let request =
                #"{"command":"diagnostic_request","action":"add","request":{"id":2015,"mode":1,"pid":5}}"#
            let answer = try await bench.during(
                .init(
                    request, #"{"bus":1,"id":2024,"mode":1,"success":true,"pid":5,"value":83}"#,
                    #"{"command_response":"diagnostic_request","message":"","status":true}"#,
                    #"{"bus":1,"id":2025,"mode":1,"success":false,"pid":5,"negative_response_code":18}"#
                )
            ) {
                try await bench.post(
                    Routes.vehicleDiagnostic,
                    #"{"id":2015,"mode":1,"pid":5,"wait_milliseconds":500}"#)
            }
            let report = try APICoding.decode(VehicleDiagnosticReport.self, from: answer.body)
            #expect(report.status == true)
            #expect(report.answers.map(\.id) == [2024, 2025])
            #expect(report.answers.first?.decoded == 83)
            #expect(report.answers.last?.reason == "sub-function not supported")
            let refused = try await bench.during(.diagnostic("add", pid: 12, taken: false)) {
                try await bench.post(
                    Routes.vehicleDiagnostic, #"{"bus":1,"id":2016,"mode":1,"pid":12}"#)
            }
            #expect(refused.text.contains(#""status" : false"#))
            let nobody = try await bench.during(.diagnostic("add", pid: 12)) {
                try await bench.post(
                    Routes.vehicleDiagnostic,
                    #"{"bus":1,"id":2016,"mode":1,"pid":12,"wait_milliseconds":10}"#)
            }
            let silence = try APICoding.decode(VehicleDiagnosticReport.self, from: nobody.body)
            #expect(silence.answers == [])
        }
    }

    @Test("a write needs a permission of this machine, and is logged, a refusal too")
    func writes() async throws {
        let config = "openxc:\n  listen: 127.0.0.1:0\n  writes: [\"127.0.0.1 can:1:0x7e0\"]\n"
        try await VehicleBench.run(config) { bench in
            let refused = try await bench.post(
                Routes.vehicleWrite, #"{"name":"horn","value":true}"#)
            #expect(refused.statusLine.contains(" 403 "))
            #expect(refused.text.contains(#"\"127.0.0.1 name:horn\""#))
            let written = try await bench.post(
                Routes.vehicleWrite, #"{"bus":1,"id":2016,"data":"0201"}"#)
            #expect(written.statusLine.contains(" 200 "))
            try await bench.hears(#"{"bus":1,"id":2016,"data":"0x0201"}"#)
            let errors = bench.relayd.process.errors
            try await errors.first(
                containing: #"a write to the vehicle is refused: {"name":"horn","value":true}"#)
            try await errors.first(
                containing: #"written to the vehicle: {"bus":1,"id":2016,"data":"0x0201"}"#)
        }
    }

    @Test("what a stream wants is on until its client leaves, and shared with others")
    func stream() async throws {
        try await VehicleBench.run { bench in
            let client = try await bench.relayd.connectApp()
            try await client.send(
                bytes: ByteBuffer(
                    string: #"{"command":"passthrough","bus":1,"enabled":true}"# + "\0"))
            try await bench.hears(#"{"command":"passthrough","bus":1,"enabled":true}"#)
            try await bench.says(#"{"command_response":"passthrough","message":"","status":true}"#)
            let body =
                #"{"passthrough":[1],"diagnostics":[{"bus":1,"id":2016,"mode":1,"pid":12,"frequency":2}]}"#
            let curl = try await ChildProcess.start(
                "/usr/bin/curl",
                [
                    "-sN", "-X", "POST", "-d", body, "--unix-socket", bench.relayd.controlSocket,
                    "http://relayd\(Routes.vehicleStream)?kind=diagnostic",
                ], environment: Program.environment())
            // Asked for again: the answer says whether there is such a bus.
            try await bench.hears(#"{"command":"passthrough","bus":1,"enabled":true}"#)
            try await bench.says(#"{"command_response":"passthrough","message":"","status":true}"#)
            try await bench.hears(
                VehicleBench.Exchange.diagnostic("add", pid: 12, frequency: 2).heard)
            try await bench.says(
                #"{"command_response":"diagnostic_request","message":"","status":true}"#,
                #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"value":772}"#)
            try await curl.output.first(containing: #""kind":"diagnostic""#)
            let report = try await bench.report()
            #expect(report.requests.map(\.api) == [1])
            #expect(report.switches.map(\.clients) == [[1]])
            #expect(report.switches.map(\.api) == [1])
            curl.signal(SIGKILL)
            // The client still wants passthrough.
            try await bench.hears(
                VehicleBench.Exchange.diagnostic("cancel", pid: 12, frequency: 2).heard)
            #expect(try await bench.report().switches.map(\.api) == [0])
        }
    }

    @Test("a stream that the vehicle interface refuses does not begin, and owns nothing")
    func refusedStream() async throws {
        try await VehicleBench.run { bench in
            let answer = try await bench.during(
                .init(
                    #"{"command":"passthrough","bus":7,"enabled":true}"#,
                    #"{"command_response":"passthrough","message":"no such bus","status":false}"#)
            ) { try await bench.post(Routes.vehicleStream, #"{"passthrough":[7]}"#) }
            #expect(answer.statusLine.contains(" 409 "))
            #expect(answer.text.contains("refuses passthrough bus 7 on: no such bus"))
            #expect(try await bench.report().switches == [])
        }
    }
}
