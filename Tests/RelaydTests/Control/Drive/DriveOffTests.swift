// What happens to calls that have just begun when `drive.enabled` is turned off.

import ControlAPI
import RelayTesting
import SDLProtocol
import Testing

@testable import relayd

@Suite("What begins while driving is turned off")
struct DriveOffTests {
    @Test("an app of relayd's own that the head unit lets wait leaves when it has registered")
    func ownApp() async throws {
        try await DriveBench.run { bench in
            let registered = Task {
                _ = try await bench.driving.register(OwnAppRequest(name: "Tester"), bench.context)
            }
            let start = try await bench.headUnit.next()
            #expect(start.controlType == .startService)
            bench.drive.isOn = false
            let heard = Task { try await bench.answerAll() }
            try await bench.headUnit.send(.startServiceACK(session: 1))
            let error = try await #require(throws: APIError.self) { try await registered.value }
            #expect(error.error.code == .driveOff)
            await bench.headUnit.close()
            #expect(try await heard.value == [.registerAppInterface, .unregisterAppInterface])
        }
    }

    @Test("a fault rule in a body that comes late is not added")
    func faults() async throws {
        try await DriveBench.run { bench in
            bench.drive.isOn = false
            let rule = FaultRuleRequest(filter: "rpc:Show", action: "drop")
            let error = await #expect(throws: APIError.self) {
                try await bench.faults.add(FaultRequest(rules: [rule]), bench.context)
            }
            #expect(error?.error.code == .driveOff)
            let rules = try await bench.relay.faults()?.rules
            #expect(rules?.isEmpty == true)
        }
    }

    @Test("an RPC in a body that comes late is not said, in nobody's place")
    func words() async throws {
        try await DriveBench.run { bench in
            bench.drive.isOn = false
            let sent = await #expect(throws: APIError.self) {
                try await bench.driving.send(
                    DriveRequest(rpc: "ListFiles"), as: "1", bench.context)
            }
            let injected = await #expect(throws: APIError.self) {
                try await bench.driving.inject(
                    DriveRequest(rpc: "OnHMIStatus", unchecked: true), to: "1", bench.context)
            }
            #expect(sent?.error.code == .driveOff && injected?.error.code == .driveOff)
        }
    }
}
