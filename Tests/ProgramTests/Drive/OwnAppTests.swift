// relayctl sends RPCs from an app that the built relayd plays itself, to a simulated or scripted head unit.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("relayctl send --as, and the built relayd", .serialized)
struct OwnAppTests {
    @Test(
        "it registers when it is first named, serves more than one request, and leaves as apps do")
    func life() async throws {
        try await Relayd.run(accessory: "sim:", config: Relayd.driving) { relayd in
            let first = try await relayd.relayctl(
                "send", "--as", "RPC tester", "ListFiles", "--json")
            #expect(first.ending == .exited(0), "\(first.errors)")
            let report = try APICoding.decode(DriveReport.self, from: Array(first.output.utf8))
            #expect(report.success == true && report.app == 1)
            try await relayd.until("registered") { status in
                status.apps.map(\.appName) == ["RPC tester"]
                    && status.apps.map(\.peer) == ["relayd"]
                    && status.apps.map(\.state) == [.registered]
            }
            let second = try await relayd.relayctl("send", "--as", "RPC tester", "ListFiles")
            #expect(second.output.hasPrefix("SUCCESS"), "\(second.output)\(second.errors)")
            let again = try await relayd.relayctl("send", "--as", "RPC tester")
            #expect(again.output == "relayd is the app \"RPC tester\", and was before")
            // To everyone else it is an app like any other.
            let named = try await relayd.relayctl("send", "--app", "tester", "ListFiles")
            #expect(named.ending == .exited(0), "\(named.errors)")
            let left = try await relayd.relayctl("send", "--as", "RPC tester", "--leave")
            #expect(left.output == "\"RPC tester\" unregistered and left", "\(left.errors)")
            try await relayd.until("gone") { status in
                status.apps.isEmpty
                    && status.recentDepartures.first?.reason.contains("ended its session") == true
            }
            let twice = try await relayd.relayctl("send", "--as", "RPC tester", "--leave")
            #expect(twice.ending == .exited(3) && twice.errors.contains("is no app called"))
            try relayd.expectNoThreadPool()
        }
    }

    @Test("several at a time, beside real apps, each with its own app ID and types")
    func several() async throws {
        try await Relayd.run(accessory: "sim:", config: Relayd.driving) { relayd in
            for (name, type) in [("Map", "NAVIGATION"), ("Player", "MEDIA")] {
                let done = try await relayd.relayctl(
                    "send", "--as", name, "--app-id", "id-\(name)", "--hmi-type", type)
                #expect(done.ending == .exited(0), "\(done.errors)")
            }
            for number in 3...8 {
                let done = try await relayd.relayctl("send", "--as", "App \(number)")
                #expect(done.ending == .exited(0), "\(done.errors)")
            }
            let tooMany = try await relayd.relayctl("send", "--as", "App 9")
            #expect(tooMany.ending == .exited(3))
            #expect(tooMany.errors.contains("relayd is 8 apps already"), "\(tooMany.errors)")
            let map = try await relayd.relayctl("app", "Map", "--json")
            let report = try APICoding.decode(AppReport.self, from: Array(map.output.utf8))
            #expect(report.registration?.hmiTypes == ["NAVIGATION"])
            #expect(report.app.appID == "id-Map")
        }
    }

    @Test("a head unit that refuses it is quoted, and nothing stays behind")
    func refused() async throws {
        try await Relayd.run(accessory: "sim:", config: Relayd.driving) { relayd in
            let app = try await relayd.connectApp()
            let session = try await app.startSession().sessionID
            try await app.register("Radio", session: session)
            let done = try await relayd.relayctl("send", "--as", "Radio", "ListFiles")
            #expect(done.ending == .exited(3))
            #expect(done.errors.contains("DUPLICATE_NAME"), "\(done.errors)")
            try await relayd.until("only the app") { $0.apps.map(\.id) == [1] }
            await app.close()
        }
    }

    @Test("a lost link ends it with a word, and the next one registers it anew")
    func lostLink() async throws {
        try await Relayd.run(accessory: "sim:", config: Relayd.driving) { relayd in
            let first = try await relayd.relayctl("send", "--as", "RPC tester")
            #expect(first.ending == .exited(0), "\(first.errors)")
            let reopen = try await relayd.relayctl("reopen")
            #expect(reopen.ending == .exited(0), "\(reopen.errors)")
            try await relayd.until("gone") { $0.apps.isEmpty && $0.accessory.state == .open }
            let next = try await relayd.relayctl(
                "send", "--as", "RPC tester", "ListFiles", "--json")
            let report = try APICoding.decode(DriveReport.self, from: Array(next.output.utf8))
            #expect(report.success == true && report.app == 2, "\(next.errors)")
            let events = try await ControlRequest.get("/v1/events", at: relayd.controlSocket).body
            let text = String(decoding: events, as: UTF8.self)
            #expect(text.contains("relayd is no longer the app"), "\(text)")
        }
    }

    @Test("a vehicle interface has no apps")
    func vehicle() async throws {
        try await Relayd.run(accessory: "sim:openxc", config: Relayd.driving) { relayd in
            let done = try await relayd.relayctl("send", "--as", "RPC tester")
            #expect(done.ending == .exited(3))
            #expect(done.errors.contains("the accessory is no SDL head unit"), "\(done.errors)")
        }
    }

    @Test("a command line that cannot be meant is refused")
    func usage() async throws {
        let rows = [
            (["Show"], "expected --app APP, or --as NAME"),
            (["--app", "radio", "--as", "x", "Show"], "exclude each other"),
            (["--app", "radio", "--leave"], "go with --as NAME"),
            (["--as", "x", "--leave", "Show"], "goes without an RPC"),
            (["--app", "radio"], "expected the name of an RPC"),
        ]
        for (arguments, words) in rows {
            let done = try await Program.relayctl.run(["send"] + arguments)
            #expect(done.ending == .exited(64) && done.errors.contains(words), "\(done.errors)")
        }
    }

    @Test("what is no name is refused with what is expected")
    func names() async throws {
        try await Relayd.run(accessory: "sim:", config: Relayd.driving) { relayd in
            let rows = [
                (["--as", String(repeating: "n", count: 101)], "expected 1 to 100 characters"),
                (["--as", "a\u{202E}b"], "characters that can be printed"),
                (["--as", "x", "--hmi-type", "navigation"], "such as [\"NAVIGATION\"]"),
            ]
            for (arguments, words) in rows {
                let done = try await Program.relayctl.run(
                    ["send"] + arguments,
                    environment: [ControlSocket.environmentVariable: relayd.controlSocket])
                #expect(done.ending == .exited(3) && done.errors.contains(words), "\(done.errors)")
            }
        }
    }
}
