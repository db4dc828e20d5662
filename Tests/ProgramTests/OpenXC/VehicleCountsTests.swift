// What the commands for apps say when the accessory is a vehicle interface, which has clients.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import Testing

@Suite("The state of a vehicle interface's clients", .serialized)
struct VehicleCountsTests {
    /// Without the blanks that line columns up.
    private static func squeezed(_ text: some StringProtocol) -> String {
        text.split(separator: " ").joined(separator: " ")
    }

    @Test("apps lists clients, with what they missed and what was refused, and who left")
    func clients() async throws {
        try await VehicleBench.run { bench in
            let empty = try await bench.relayctl(["apps"])
            #expect(empty.ending == .exited(0) && empty.output == "no client is connected")
            let client = try await bench.relayd.connectClient()
            let gone = try await bench.relayd.connectClient()
            try await client.says(#"{"name":"horn","value":true}"# + "\0")
            try await gone.channel.close()
            try await bench.relayd.until("it is gone, the other's write is refused") {
                $0.apps.count == 1 && $0.apps.first?.refusedFrames == 1
            }
            for command in ["apps", "status"] {
                let shown = try await bench.relayctl([command]).output
                let words = Self.squeezed(shown)
                #expect(
                    words.contains("# Client From client To client Queue Lost Refused"),
                    "\(shown)")
                #expect(words.contains("a write to the vehicle is refused"), "\(shown)")
                #expect(words.contains(" the client closed the connection"), "\(shown)")
                for word in ["session", "HMI", "App ", "(no name)", "the app"] {
                    #expect(!shown.contains(word), "\(command): \(shown)")
                }
            }
            let json = try await bench.relayctl(["apps", "--json"]).output
            let list = try APICoding.decode(AppList.self, from: Array(json.utf8))
            #expect(list.protocol == .openxc)
            #expect(list.apps.map(\.lostFrames) == [0] && list.apps.map(\.refusedFrames) == [1])
        }
    }

    @Test("stats counts messages by kind and by who said them, over all links")
    func stats() async throws {
        try await VehicleBench.run { bench in
            try await bench.isBusy()
            let text = try await bench.relayctl(["stats"])
            #expect(text.ending == .exited(0))
            #expect(
                text.output.split(separator: "\n").map(Self.squeezed) == [
                    "From Kind Messages", "vehicle interface measurement 2",
                    "vehicle interface can 1", "vehicle interface diagnostic 2",
                    "vehicle interface response 4", "clients command 2", "clients refused 1",
                    "relayd command 2",
                ])
            let json = try await bench.relayctl(["stats", "--json"]).output
            let report = try APICoding.decode(StatsReport.self, from: Array(json.utf8))
            #expect(report.traffic.isEmpty && report.unseen == 0)
            #expect(
                report.vehicle?.first
                    == VehicleLaneReport(kind: .measurement, from: .vehicle, messages: 2))
            let app = try await bench.relayctl(["stats", "--app", "Radio"])
            #expect(app.ending == .exited(3))
            #expect(app.errors.contains("the accessory is a vehicle interface"))
        }
    }

    @Test("who reads along goes on when relayd is back, and what is repeated is asked for again")
    func restart() async throws {
        try await TemporaryDirectory.run { directory in
            let config = try directory.write(
                "openxc: {listen: 127.0.0.1:0}\n", to: "relayd.yaml")
            let socket = directory.file("relayd.sock")
            func start() async throws -> ChildProcess {
                let relayd = try await Program.relayd.start([
                    "--config", config, "--accessory", "sim:openxc", "--control-socket", socket,
                ])
                // Before that, `vi diag` is told that no vehicle interface is connected, and ends.
                try await relayd.errors.first(containing: "link: open: sim:openxc")
                return relayd
            }
            let first = try await start()
            let environment = Program.environment([ControlSocket.environmentVariable: socket])
            var readers: [ChildProcess] = []
            let words = ["vehicle_speed", "mode 0x01", "vehicle_speed"]
            for arguments in [
                ["tail", "vehicle_speed", "-n", "0"],
                ["diag", "0x7e0", "1", "0x0c", "--frequency", "5"],
                ["watch", "vehicle_speed", "--interval", "0.1"],
            ] {
                readers.append(
                    try await Program.relayctl.start(["vi"] + arguments, environment: environment))
            }
            for (reader, word) in zip(readers, words) {
                try await reader.output.first(containing: word)
            }
            first.signal(SIGTERM)
            _ = try await first.ended()
            for reader in readers {
                try await reader.errors.first(
                    containing: "relayd is gone; waiting for it to come back")
            }
            let seen = readers.map(\.output.all.count)
            let second = try await start()
            for (index, reader) in readers.enumerated() {
                let (count, word) = (seen[index], words[index])
                _ = try await reader.output.wait(for: "a line of the second") { lines in
                    lines.dropFirst(count).first { $0.contains(word) }
                }
                reader.signal(SIGTERM)
                _ = try await reader.ended()
            }
            for reader in readers.prefix(2) {
                try await reader.errors.first(containing: "relayd was restarted")
            }
            // However often it has looked.
            let told = readers[2].errors.all.count { $0.contains("relayd is gone") }
            #expect(told == 1)
            second.signal(SIGTERM)
            _ = try await second.ended()
        }
    }
}
