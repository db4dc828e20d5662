// No RPC of an app or of a head unit may end relayd, whatever it contains, nor the tool that shows
// it.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Extreme values through the built programs", .serialized)
struct ExtremeValueTests {
    /// The commands of relayctl that print what peers said.
    private static let commands = [
        ["tail", "--once", "-n", "1000"], ["tail", "--once", "-n", "1000", "-v"],
        ["tail", "--once", "-n", "1000", "--json"], ["show", "20"], ["status"],
        ["status", "--json"],
        ["apps"], ["app", "Extreme"], ["app", "Extreme", "--json"], ["advice"],
        ["advice", "--json"],
        ["stats"], ["stats", "--json"], ["permissions", "Extreme", "Show"], ["doctor"],
    ]

    @Test("the largest numbers in what is shown of an RPC, from either side")
    func numbers() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.register(app, session: 1, name: "Extreme")
                let functions: [FunctionID] = [
                    .putFile, .deleteFile, .listFiles, .show, .alert, .performInteraction,
                    .onVehicleData, .onHMIStatus, .onPermissionsChange, .getSystemCapability,
                ]
                var message: UInt32 = 10
                let shown = RPCCatalogue.builtIn.functions.filter { functions.contains($0.id) }
                for (index, value) in ExtremeValues.values.enumerated() {
                    let tried = shown.enumerated()
                        .filter { Effort.tries(index, $0.offset, oneIn: 3) }.map(\.element)
                    let frames = tried.map { function in
                        message += 1
                        return Frame.rpc(
                            session: 1, message: message, function.type, function.id,
                            correlation: Int32(message),
                            json: ExtremeValues.flat(function, value.json))
                    }
                    // All frames of one value at once: each wait for a peer is a wait for the processor.
                    for frame in frames { try await app.send(frame) }
                    for frame in frames { #expect(try await headUnit.next() == frame) }
                    for frame in frames { try await headUnit.send(frame) }
                    for frame in frames { #expect(try await app.next() == frame) }
                }
                // Decoding lags behind, as far as the machine allows.
                try await relayd.untilSeen(messages: 2 * Int(message - 10))
                for command in Self.commands {
                    let answer = try await Program.relayctl.run(
                        command, environment: ["RELAYD_SOCKET": relayd.controlSocket])
                    guard case .exited(let code) = answer.ending else {
                        Issue.record("relayctl \(command): \(answer.ending)")
                        continue
                    }
                    #expect(code <= 1 && !answer.output.isEmpty, "\(command): \(answer.errors)")
                }
                try await headUnit.checkBothWays(app, session: 1, message + 1)
            }
        }
    }
}
