// The serial ports that the built relayd provides to clients of a vehicle interface.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import Testing

@Suite("The built relayd as a serial port", .serialized)
struct VehicleTerminalTests {
    private typealias Stand = VehicleStand

    @Test("who opens it is a client, with answers of its own, until it closes it")
    func client() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("openxc0")
            try await Stand.run("", ["--pty", path]) { relayd, vehicle, _ in
                #expect(try await relayd.status().server.endpoints.last == path)
                let other = try await relayd.connectClient()
                let client = try TerminalClient(path)
                try await relayd.until("it is there") { $0.apps.last?.peer == "pty:\(path)" }
                try await vehicle.says(Stand.speed(1))
                try await client.hears(Stand.speed(1))
                try await client.says(Stand.askVersion)
                try await vehicle.hears(Stand.askVersion)
                try await vehicle.says(Stand.version + Stand.speed(2))
                try await client.hears(Stand.version + Stand.speed(2))
                try await other.hears(Stand.speed(1) + Stand.speed(2))
                // What it leaves unread, and the requests that only it made, go with it.
                try await client.says(Stand.diagnostic("add"))
                try await vehicle.hears(Stand.diagnostic("add"))
                try await vehicle.says(Stand.taken + Stand.speed(3))
                try await other.hears(Stand.speed(3))
                client.close()
                try await vehicle.hears(Stand.diagnostic("cancel"))
                try await relayd.until("it is gone") { $0.apps.count == 1 }
                let next = try TerminalClient(path)
                try await relayd.until("it is there") { $0.apps.count == 2 }
                try await vehicle.says(Stand.speed(4))
                try await next.hears(Stand.speed(4))
                next.close()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    @Test("what was said by a program that has left already is said")
    func leftAlready() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("openxc0")
            try await Stand.run("  pty: \(path)\n") { _, vehicle, _ in
                for _ in 0..<3 {
                    let client = try TerminalClient(path)
                    try await client.says(Stand.askVersion)
                    client.close()
                    try await vehicle.hears(Stand.askVersion)
                    try await vehicle.says(Stand.version)
                }
            }
        }
    }

    @Test("a client that floods it or does not read it holds nobody up, the end of relayd neither")
    func flood() async throws {
        try await TemporaryDirectory.run { directory in
            let (path, other) = (directory.file("openxc0"), directory.file("openxc1"))
            let options = "  pty: \(path)\n  endpoints: [\(other)]\n"
            try await Stand.run(options) { relayd, vehicle, _ in
                let (flooding, sleeping) = (try TerminalClient(path), try TerminalClient(other))
                let reader = try await relayd.connectClient()
                try await relayd.until("all are there") { $0.apps.count == 3 }
                let rubbish = [UInt8](repeating: UInt8(ascii: "{"), count: 4096)
                let speeds = (0..<200).map { Stand.speed($0) }.joined()
                var flooded = 0
                while try await relayd.status().apps.allSatisfy({ $0.lostFrames == 0 }) {
                    for _ in 0..<20 { flooded += flooding.floods(rubbish) }
                    try await vehicle.says(speeds)
                    try await reader.hears(speeds)
                }
                #expect(flooded > 0)
                flooding.close()
                sleeping.close()
            }
        }
    }

    @Test("each place has its own form, subscription and permissions")
    func places() async throws {
        try await TemporaryDirectory.run { directory in
            let (path, other) = (directory.file("openxc0"), directory.file("openxc1"))
            let options =
                "  pty: \(path)\n  writes: [\"pty can:1\"]\n"
                + "  endpoints: [\"\(other) format=lines names=vehicle_speed on_change=true\"]\n"
            try await Stand.run(options) { relayd, vehicle, _ in
                let (whole, part) = (try TerminalClient(path), try TerminalClient(other))
                let tcp = try await relayd.connectClient()
                try await relayd.until("all are there") { $0.apps.count == 3 }
                let can = #"{"bus":1,"id":2024,"data":"0x01"}"# + "\0"
                let all = Stand.speed(1) + can + Stand.speed(1) + Stand.speed(2)
                try await vehicle.says(all)
                try await whole.hears(all)
                try await tcp.hears(all)
                try await part.hears(
                    (Stand.speed(1) + Stand.speed(2)).replacing("\0", with: "\n"))
                try await tcp.says(can)
                try await whole.says(can)
                try await vehicle.hears(can)
                try await relayd.until("the other's is refused") {
                    $0.apps.reduce(0) { $0 + $1.refusedFrames } == 1
                }
                whole.close()
                part.close()
            }
        }
    }

    @Test("a reload moves it, and who is not concerned stays connected")
    func reload() async throws {
        try await TemporaryDirectory.run { directory in
            let (path, other) = (directory.file("openxc0"), directory.file("openxc1"))
            try await Stand.run("  pty: \(path)\n") { relayd, vehicle, _ in
                let client = try TerminalClient(path)
                let tcp = try await relayd.connectClient()
                try await relayd.until("both are there") { $0.apps.count == 2 }
                _ = try relayd.directory.write(
                    "openxc:\n  listen: 127.0.0.1:0\n  pty: \(other)\n  names: [engine_speed]\n",
                    to: "relayd.yaml")
                #expect(try await relayd.relayctl("reload").ending == .exited(0))
                try await client.hungUp()
                client.close()
                #expect(!FileManager.default.fileExists(atPath: path))
                #expect(try await relayd.status().server.endpoints.last == other)
                let next = try TerminalClient(other)
                try await relayd.until("it is there") { $0.apps.last?.peer == "pty:\(other)" }
                let rpm = #"{"name":"engine_speed","value":1}"# + "\0"
                try await vehicle.says(Stand.speed(1) + rpm)
                // What a client hears is settled when it connects.
                try await tcp.hears(Stand.speed(1) + rpm)
                try await next.hears(rpm)
                next.close()
                // Another file has that name: everything stays as it was.
                let taken = try directory.write("precious", to: "taken")
                _ = try relayd.directory.write(
                    "openxc:\n  listen: 127.0.0.1:0\n  pty: \(taken)\n", to: "relayd.yaml")
                let refused = try await relayd.relayctl("reload")
                #expect(refused.ending != .exited(0))
                #expect(refused.errors.contains("something that is not relayd's stands there"))
                #expect(try await relayd.status().server.endpoints.last == other)
                #expect(try String(contentsOfFile: taken, encoding: .utf8) == "precious")
            }
        }
    }

    @Test("a link that a killed relayd has left is taken over, one of a relayd that runs is not")
    func leftOver() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("openxc0")
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: "/dev/pts/99999")
            try await Stand.run("  pty: \(path)\n") { relayd, _, _ in
                let client = try TerminalClient(path)
                try await relayd.until("it is there") { $0.apps.count == 1 }
                client.close()
                let config = try directory.write(
                    "openxc:\n  listen: 127.0.0.1:0\n  pty: \(path)\n", to: "second.yaml")
                let second = try await Program.relayd.run([
                    "--config", config, "--accessory", "openxc+tcp:127.0.0.1:1",
                    "--control-socket", directory.file("second.sock"), "--dashboard", "off",
                ])
                #expect(second.ending == .exited(1))
                #expect(second.errors.contains("another relayd provides a terminal of this name"))
            }
        }
    }
}
