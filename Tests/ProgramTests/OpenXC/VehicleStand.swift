// A built relayd with a vehicle interface made of code.

import ControlAPI
import NIOCore
import RelayTesting
import Testing

enum VehicleStand {
    /// The part of the configuration that lets the system choose the port for clients.
    static let anyPort = "openxc:\n  listen: 127.0.0.1:0\n"
    static let questions = #"{"command":"platform"}"# + "\0" + #"{"command":"version"}"# + "\0"

    /// - Parameters:
    ///   - options: of the section openxc, each on a line of its own behind two blanks.
    ///   - body: gets the vehicle interface's end once relayd has asked what it is, and the vehicle
    ///     interface itself.
    static func run(
        _ options: String = "", _ arguments: [String] = [],
        _ body: (Relayd, FramePeer, FakeAccessory) async throws -> Void
    ) async throws {
        let config = anyPort + options
        try await FakeAccessory.run { accessory in
            let address = "openxc+tcp:127.0.0.1:\(accessory.port)"
            try await Relayd.run(accessory: address, config: config, arguments) { relayd in
                let vehicle = try await accessory.nextLink()
                try await vehicle.hears(questions)
                try await vehicle.answers("platform", "FORDBOARD")
                try await vehicle.answers("version", "8.2.1 (fake)")
                try await body(relayd, vehicle, accessory)
            }
        }
    }

    static func speed(_ value: Int) -> String {
        #"{"name":"vehicle_speed","value":\#(value)}"# + "\0"
    }
    static let askVersion = #"{"command":"version"}"# + "\0"
    static let version =
        #"{"command_response":"version","message":"8.2.1 (fake)","status":true}"# + "\0"
    static func diagnostic(_ action: String, _ frequency: Int = 1) -> String {
        #"{"command":"diagnostic_request","action":"\#(action)","request":{"bus":1,"id":2016,"#
            + #""mode":1,"pid":12,"frequency":\#(frequency)}}"# + "\0"
    }
    static let taken =
        #"{"command_response":"diagnostic_request","message":"","status":true}"# + "\0"
}

extension Relayd {
    /// A client that relayd knows of.
    func connectClient(readsByItself: Bool = true) async throws -> FramePeer {
        let before = try await status().apps.count
        let client = try await FramePeer.connect(port: port, readsByItself: readsByItself)
        try await until("it is there") { $0.apps.count > before }
        return client
    }
}

extension FramePeer {
    func says(_ text: String) async throws { try await send(bytes: ByteBuffer(string: text)) }

    func answers(_ command: String, _ message: String) async throws {
        try await says(
            #"{"command_response":"\#(command)","message":"\#(message)","status":true}"# + "\0")
    }

    func hears(_ text: String) async throws {
        let bytes = try await next(bytes: text.utf8.count)
        #expect(String(buffer: bytes) == text)
    }
}
