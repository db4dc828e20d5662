// The control socket of the built relayd, asked by relayctl and by raw bytes.

import ControlAPI
import Foundation
import RelayTesting
import Testing

@Suite("The control socket of the built relayd", .serialized)
struct ControlSocketTests {
    @Test("relayctl status exits 0 when all is well, and --json is schema 1")
    func allWell() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let text = try await relayd.relayctl("status")
            #expect(text.ending == .exited(0))
            for word in ["Head unit", "Link", "App port", "Apps", "127.0.0.1:\(relayd.port)"] {
                #expect(text.output.contains(word), "\(text.output)")
            }
            let json = try await relayd.relayctl("status", "--json")
            #expect(json.ending == .exited(0))
            let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8))
            let status = try #require(object as? [String: Any])
            #expect(status["schema"] as? Int == 1)
            #expect(status["health"] as? String == "ok")
            let server = try #require(status["server"] as? [String: Any])
            #expect(server["endpoints"] as? [String] == ["127.0.0.1:\(relayd.port)"])
        }
    }

    @Test("relayctl status exits 1 and says why when there is no head unit")
    func notConnected() async throws {
        try await UnusedPort.run { port in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)") { relayd in
                try await relayd.until("waiting") { $0.accessory.state == .waiting }
                let text = try await relayd.relayctl("status")
                #expect(text.ending == .exited(1))
                #expect(text.output.contains("nothing listens on 127.0.0.1:\(port)"))
                #expect(text.output.contains("start sdl_core or the emulator"))
            }
        }
    }

    @Test("relayctl status exits 2 when relayd is not running")
    func notRunning() async throws {
        try await TemporaryDirectory.run { directory in
            let text = try await Program.relayctl.run([
                "status", "--socket", directory.file("relayd.sock"),
            ])
            #expect(text.ending == .exited(2))
            #expect(text.output.isEmpty)
            #expect(text.errors.contains(directory.file("relayd.sock")))
        }
    }

    @Test("the socket has mode 0660, or the one configured", arguments: [nil, "0600"])
    func mode(configured: String?) async throws {
        let config = configured.map { "control:\n  mode: \"\($0)\"\n" } ?? ""
        try await Relayd.run(accessory: "sim:", config: config) { relayd in
            let attributes = try FileManager.default.attributesOfItem(
                atPath: relayd.controlSocket)
            #expect(attributes[.type] as? FileAttributeType == .typeSocket)
            let mode = try #require(attributes[.posixPermissions] as? NSNumber)
            #expect(mode.intValue == (configured == nil ? 0o660 : 0o600))
        }
    }

    @Test("GET /v1/status by raw bytes is answered as to curl")
    func rawStatus() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let answer = try await ControlRequest.get("/v1/status", at: relayd.controlSocket)
            #expect(answer.statusLine == "HTTP/1.1 200 OK")
            let headers = answer.headers.map { $0.lowercased() }
            #expect(headers.contains { $0.hasPrefix("content-type: application/json") })
            #expect(headers.contains("content-length: \(answer.body.count)"))
            #expect(headers.contains("server: relayd/\(Version.current)"))
            let status = try APICoding.decode(StatusSnapshot.self, from: answer.body)
            #expect(status.schema == 1)
            #expect(status.relayd.pid == Int(relayd.process.pid))

            let nowhere = try await ControlRequest.get("/v2/status", at: relayd.controlSocket)
            #expect(nowhere.statusLine == "HTTP/1.1 404 Not Found")
            let error = try APICoding.decode(APIError.self, from: nowhere.body)
            #expect(error.error.message.contains("GET /v1/status"))
        }
    }
}
