// The routes about a vehicle interface: their answers where there is none, requests that they do not
// understand, and the part of the stream that a query selects.

import ControlAPI
import NIOCore
import NIOPosix
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import RelayCore
import RelayTesting
import Testing

@testable import relayd

@Suite("Routes about a vehicle interface")
struct VehicleRoutesTests {
    private static func error(_ body: String) throws -> APIError.Detail {
        try APICoding.decode(APIError.self, from: Array(body.utf8)).error
    }

    @Test(
        "with a head unit they say what they are about",
        arguments: [
            ("GET", Routes.vehicle, ""), ("GET", Routes.vehicleStream, ""),
            ("POST", Routes.vehicleStream, ""),
            ("POST", Routes.vehicleCommand, #"{"command":"version"}"#),
            ("POST", Routes.vehicleDiagnostic, #"{"id":2016,"mode":1}"#),
            ("POST", Routes.vehicleWrite, #"{"name":"horn","value":true}"#),
        ])
    func wrongAccessory(method: String, route: String, body: String) async throws {
        let vehicle = VehicleHandlers(nil) { "tcp:10.0.0.1:12345" }
        try await ControlTestServer.with(vehicle: vehicle) { test in
            let answer = try await test.send(method, route, body)
            #expect(answer.status == 409)
            let error = try Self.error(answer.body)
            #expect(error.code == .wrongAccessory)
            #expect(error.message.hasPrefix("the accessory tcp:10.0.0.1:12345 is an SDL head unit"))
        }
    }

    @Test(
        "a body that is not understood is told with what was expected",
        arguments: [
            (Routes.vehicleCommand, "{}", "the body is not understood"),
            (Routes.vehicleCommand, #"{"command":"versoin"}"#, "there is no command \"versoin\""),
            (Routes.vehicleCommand, #"{"command":"version","bus":1}"#, "there is no \"bus\""),
            (Routes.vehicleCommand, #"{"command":"passthrough"}"#, "POST /v1/vehicle/stream"),
            (
                Routes.vehicleCommand, #"{"command":"diagnostic_request"}"#,
                "POST /v1/vehicle/diagnostic"
            ),
            (
                Routes.vehicleCommand, #"{"command":"payload_format"}"#,
                "each client chooses its own"
            ),
            (Routes.vehicleCommand, #"{"command":"predefined_obd2"}"#, "needs \"enabled\""),
            (
                Routes.vehicleCommand, #"{"command":"rtc_configuration","unix_time":-1}"#,
                "needs \"unix_time\"; expected seconds since 1970, 0 to 4294967295"
            ),
            (
                Routes.vehicleCommand, #"{"command":"modem_configuration","host":"h","port":0}"#,
                "needs \"port\"; expected 1 to 65535"
            ),
            (Routes.vehicleDiagnostic, #"{"id":0,"mode":1}"#, "id is 0; expected 1 to 536870911"),
            (Routes.vehicleDiagnostic, #"{"id":1,"mode":256}"#, "mode is 256; expected 1 to 255"),
            (
                Routes.vehicleDiagnostic, #"{"id":1,"mode":1,"pid":-1}"#,
                "pid is -1; expected 0 to 65535"
            ),
            (
                Routes.vehicleDiagnostic, #"{"id":1,"mode":1,"bus":99999999999}"#,
                "bus is 99999999999; expected 1 to 2147483647"
            ),
            (
                Routes.vehicleDiagnostic, #"{"id":1,"mode":1,"payload":"0x123"}"#,
                "payload is \"0x123\"; expected at most 8 bytes"
            ),
            (
                Routes.vehicleDiagnostic, #"{"id":1,"mode":1,"wait_milliseconds":9}"#,
                "wait_milliseconds is 9; expected 10 to 10000"
            ),
            (
                Routes.vehicleStream, #"{"diagnostics":[{"id":1,"mode":1,"frequency":11}]}"#,
                "frequency is 11.0; expected more than 0 and at most 10"
            ),
            (
                Routes.vehicleStream,
                #"{"passthrough":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}"#,
                "the body has 21 requests; expected at most 20"
            ),
            (Routes.vehicleWrite, #"{"name":"horn"}"#, "neither a measurement"),
            (Routes.vehicleWrite, #"{"name":"horn","value":1,"bus":1}"#, "neither a measurement"),
            (Routes.vehicleWrite, #"{"name":"","value":1}"#, "name has 0 bytes; expected 1 to 99"),
            (
                Routes.vehicleWrite, #"{"id":1,"data":"010203040506070809"}"#,
                "data is \"010203040506070809\"; expected at most 8 bytes"
            ),
            (
                Routes.vehicleWrite, #"{"id":1,"data":"01","frame_format":"long"}"#,
                "frame_format is \"long\"; expected standard or extended"
            ),
        ])
    func badBodies(route: String, body: String, words: String) async throws {
        let vehicle = try await Self.handlers([])
        try await ControlTestServer.with(vehicle: vehicle) { test in
            let answer = try await test.send("POST", route, body)
            #expect(answer.status == 400)
            let error = try Self.error(answer.body)
            #expect(error.code == .badRequest)
            #expect(error.message.contains(words), "\(error.message)")
        }
    }

    @Test("a vehicle interface that is not there has a report, and is not asked")
    func absent() async throws {
        let vehicle = try await Self.handlers([])
        try await ControlTestServer.with(vehicle: vehicle) { test in
            let report = try APICoding.decode(
                VehicleReport.self,
                from: Array(try await test.send("GET", Routes.vehicle).body.utf8))
            #expect(!report.interface.connected)
            #expect(report.interface.address == "openxc+tcp:10.0.0.1:50001")
            #expect(report.measurements == [] && report.clients == [])
            let answer = try await test.send(
                "POST", Routes.vehicleCommand, #"{"command":"version"}"#)
            #expect(answer.status == 409)
            #expect(
                try Self.error(answer.body).message.contains("no vehicle interface is connected"))
        }
    }

    private static let story = [
        #"{"name":"vehicle_speed","value":1}"#, #"{"name":"odometer","value":2}"#,
        #"{"bus":1,"id":2024,"data":"0x01"}"#, #"{"bus":2,"id":291,"data":"0x02"}"#,
        #"{"bus":1,"id":2016,"mode":1,"pid":12,"success":true,"value":3}"#,
        #"{"bus":1,"id":2016,"mode":9,"pid":2,"success":true,"payload":"0x04"}"#,
        #"{"command_response":"version","message":"8","status":true}"#,
    ]

    private static func handlers(_ messages: [String]) async throws -> VehicleHandlers {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let relay = try await Relay.start(
            on: loop, configuration: RelayConfiguration(),
            accessoryAddress: "openxc+tcp:10.0.0.1:50001", logger: ControlTestServer.quiet,
            language: { OpenXCLanguage($0, settings: OpenXCSettings(OpenXCConfiguration())) })
        let traffic = VehicleTraffic(instance: "v")
        let heard = try messages.map { text in
            let bytes = Array(text.utf8)
            return (
                message: try VehicleMessage(json: bytes.span),
                destination: VehicleRouter<AppID>.Destination.all, wire: bytes[...]
            )
        }
        if !heard.isEmpty {
            await traffic.take([VehicleItem(.heard(heard), at: .now(), steady: .now())])
        }
        return VehicleHandlers(
            VehicleHandlers.Source(
                relay: relay, tap: VehicleTap(maximumBytes: 1 << 20), traffic: traffic)
        ) { "openxc+tcp:10.0.0.1:50001" }
    }

    @Test(
        "a query chooses entries: values of one key are alternatives, keys must all match",
        arguments: [
            ("last=100", Array(1...7)), ("last=2", [6, 7]), ("after=5", [6, 7]), ("", []),
            ("after=5&instance=another", Array(1...7)), ("after=99", Array(1...7)),
            ("last=100&name=vehicle_speed&name=odometer", [1, 2]), ("last=100&bus=2", [4]),
            ("last=100&id=0x7e8", [3]), ("last=100&id=0x7e0-0x7ef&bus=1", [3, 5, 6]),
            ("last=100&mode=1", [5]), ("last=100&mode=1&mode=9&pid=2", [6]),
            ("last=100&kind=can&kind=response", [3, 4, 7]),
            ("last=100&kind=can&name=odometer", []), ("last=1&kind=can", [4]),
        ])
    func choice(query: String, expected: [Int]) async throws {
        let vehicle = try await Self.handlers(Self.story)
        try await ControlTestServer.with(vehicle: vehicle) { test in
            let lines = Answer.body(try await test.get("\(Routes.vehicleStream)?follow=0&\(query)"))
                .split(separator: "\n")
            #expect(lines.first == #"{"first":1,"instance":"v","latest":7}"#)
            let entries = try lines.dropFirst().map {
                try APICoding.decode(VehicleMessageReport.self, from: Array($0.utf8))
            }
            #expect(entries.map(\.n) == expected)
        }
    }

    @Test(
        "a query that is not understood is told with what was expected",
        arguments: [
            ("nmae=x", "there is no \"nmae\" in the query"), ("nmae=x", "did you mean \"name\"?"),
            ("id=0x", "id is \"0x\"; expected an identifier"), ("bus=0", "bus is \"0\""),
            ("kind=cann", "kind is \"cann\"; expected one of measurement, can,"),
            ("last=5000", "last is \"5000\"; expected a whole number from 0 to 4096"),
            ("last=1&last=2", "\"last\" is given twice"), ("follow=yes", "expected 1 or 0"),
            ("mode=256", "mode is \"256\""), ("pid=65536", "pid is \"65536\""),
        ])
    func badQueries(query: String, words: String) async throws {
        let vehicle = try await Self.handlers([])
        try await ControlTestServer.with(vehicle: vehicle) { test in
            for method in ["GET", "POST"] {
                let answer = try await test.send(method, "\(Routes.vehicleStream)?\(query)")
                #expect(answer.status == 400)
                #expect(try Self.error(answer.body).message.contains(words), "\(answer.body)")
            }
        }
    }
}
