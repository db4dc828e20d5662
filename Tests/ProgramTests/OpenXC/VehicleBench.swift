// A built relayd between a vehicle interface made of code and its clients.

import ControlAPI
import NIOCore
import OpenXCProtocol
import RelayTesting
import Testing

/// A vehicle interface that says what a test makes it say, and a relayd that shares it.
struct VehicleBench {
    let relayd: Relayd
    let vehicle: FramePeer

    /// - Parameter config: of relayd.
    static func run(
        _ config: String = "openxc:\n  listen: 127.0.0.1:0\n",
        _ body: (VehicleBench) async throws -> Void
    ) async throws {
        try await FakeAccessory.run { accessory in
            let address = "openxc+tcp:127.0.0.1:\(accessory.port)"
            try await Relayd.run(accessory: address, config: config) { relayd in
                let vehicle = try await accessory.nextLink()
                let bench = VehicleBench(relayd: relayd, vehicle: vehicle)
                try await bench.hears(#"{"command":"platform"}"#, #"{"command":"version"}"#)
                try await bench.says(
                    #"{"command_response":"platform","message":"FORDBOARD","status":true}"#,
                    #"{"command_response":"version","message":"8.2.1 (fake)","status":true}"#)
                try await relayd.until("it says what it is") {
                    $0.accessory.name == "OpenXC FORDBOARD 8.2.1 (fake)"
                }
                try await body(bench)
            }
        }
    }

    /// The vehicle interface sends these, each with its NUL.
    func says(_ messages: String...) async throws {
        try await says(messages)
    }

    func says(_ messages: [String]) async throws {
        try await vehicle.send(bytes: ByteBuffer(string: messages.map { $0 + "\0" }.joined()))
    }

    /// Expects the vehicle interface to receive these next.
    func hears(_ messages: String..., sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let expected = messages.map { $0 + "\0" }.joined()
        let bytes = try await vehicle.next(bytes: expected.utf8.count)
        #expect(String(buffer: bytes) == expected, sourceLocation: sourceLocation)
    }

    /// What the control API says of it.
    func report() async throws -> VehicleReport {
        let answer = try await ControlRequest.get(Routes.vehicle, at: relayd.controlSocket)
        return try APICoding.decode(VehicleReport.self, from: answer.body)
    }

    func post(_ route: String, _ body: String) async throws -> ControlRequest.Answer {
        try await ControlRequest.post(route, body, at: relayd.controlSocket)
    }

    /// Asks until `isSo` holds. Each request waits for relayd's answer.
    @discardableResult
    func until(
        _ what: Comment, _ isSo: (VehicleReport) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> VehicleReport {
        let deadline = NIODeadline.now() + FramePeer.patience
        while true {
            let report = try await report()
            if isSo(report) { return report }
            try #require(
                NIODeadline.now() < deadline, "\(what): \(report)", sourceLocation: sourceLocation)
        }
    }

    /// Has something of every kind said and asked for.
    func isBusy() async throws {
        let client = try await relayd.connectApp()
        let request =
            #"{"command":"diagnostic_request","action":"add","request":{"bus":1,"id":2016,"#
            + #""mode":1,"pid":12,"frequency":1}}"#
        let passthrough = #"{"command":"passthrough","bus":1,"enabled":true}"#
        let write = #"{"bus":1,"id":2017,"data":"0x01"}"#
        try await client.send(
            bytes: ByteBuffer(string: [request, passthrough, write].map { $0 + "\0" }.joined()))
        try await hears(request, passthrough)
        try await says(
            #"{"command_response":"diagnostic_request","status":true}"#,
            #"{"command_response":"passthrough","message":"","status":true}"#,
            #"{"name":"vehicle_speed","value":42.5}"#,
            #"{"timestamp":1332432977835,"name":"door_status","value":"driver","event":true}"#,
            #"{"bus":1,"id":1234,"data":"0x12345678"}"#,
            #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"value":772}"#,
            #"{"bus":1,"id":2016,"mode":1,"success":false,"negative_response_code":17}"#)
        try await until("all of it is seen") {
            $0.measurements.count == 2 && $0.can.count == 1 && $0.diagnostics.count == 2
                && $0.clients.first?.refused == 1
        }
    }

    /// What the vehicle interface hears, and what it says to that.
    struct Exchange: Sendable {
        let heard: String
        let said: [String]

        init(_ heard: String, _ said: String...) {
            self.heard = heard
            self.said = said
        }

        static func command(_ name: String, _ message: String) -> Exchange {
            Exchange(
                #"{"command":"\#(name)"}"#,
                #"{"command_response":"\#(name)","message":"\#(message)","status":true}"#)
        }

        /// A diagnostic request to 0x7e0, mode 1, and its answers, in JSON.
        static func diagnostic(
            _ action: String, pid: Int, frequency: Int? = nil, taken: Bool = true,
            _ answers: String...
        ) -> Exchange {
            let often = frequency.map { #","frequency":\#($0)"# } ?? ""
            return Exchange(
                #"{"command":"diagnostic_request","action":"\#(action)","request":{"bus":1,"id":2016,"#
                    + #""mode":1,"pid":\#(pid)\#(often)}}"#,
                said: [
                    #"{"command_response":"diagnostic_request","message":"","status":\#(taken)}"#
                ] + answers)
        }

        init(_ heard: String, said: [String]) {
            self.heard = heard
            self.said = said
        }
    }

    /// Runs `ask` while the vehicle interface plays its part of the dialogue.
    func during<Value: Sendable>(
        _ exchanges: Exchange..., sourceLocation: SourceLocation = #_sourceLocation,
        _ ask: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await during(exchanges, sourceLocation: sourceLocation, ask)
    }

    func during<Value: Sendable>(
        _ exchanges: [Exchange], sourceLocation: SourceLocation = #_sourceLocation,
        _ ask: @Sendable () async throws -> Value
    ) async throws -> Value {
        async let answer = ask()
        for exchange in exchanges {
            try await hears(exchange.heard, sourceLocation: sourceLocation)
            try await says(exchange.said)
        }
        return try await answer
    }
}
