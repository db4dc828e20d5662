// A head unit that says goodbye but keeps its link open, as sdl_core does for most of a minute when
// it is told to stop.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("A head unit that says it is off", .serialized)
struct SaidOffTests {
    @Test("scripts, people and doctor are told, until it grants a session again")
    func ignitionOff() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.register(app, session: 1, name: "Radio")
                #expect(try await relayd.relayctl("status").ending == .exited(0))

                let goodbye = Frame.rpc(
                    session: 1, message: 50, .notification, .onAppInterfaceUnregistered,
                    correlation: 0, json: #"{"reason":"IGNITION_OFF"}"#)
                try await headUnit.send(goodbye)
                #expect(try await app.next() == goodbye)
                try await relayd.until("off") { $0.accessory.saidOff == "IGNITION_OFF" }
                let status = try await relayd.relayctl("status")
                #expect(status.ending == .exited(1))
                #expect(status.output.contains("the head unit said IGNITION_OFF"))
                let doctor = try await relayd.relayctl("doctor")
                #expect(doctor.ending == .exited(1))
                #expect(doctor.output.contains("✗ head unit") && doctor.output.contains("reopen"))

                let next = try await relayd.connectApp()
                try await headUnit.start(2, for: next)
                try await relayd.until("on again") { $0.accessory.saidOff == nil }
            }
        }
    }
}
