// relayctl fault and the built relayd with its simulated head unit: what an app gets, what people see.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Fault rules in the built programs", .serialized)
struct FaultCommandTests {
    private static func withApp(
        _ body: (Relayd, FramePeer, UInt8) async throws -> Void
    ) async throws {
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            let (app, session) = try await relayd.registered("Radio")
            try await body(relayd, app, session)
            await app.close()
        }
    }

    @Test("a delayed Show is answered later by the delay; the list and the status tell of the rule")
    func delay() async throws {
        try await Self.withApp { relayd, app, session in
            let added = try await relayd.relayctl(
                "fault", "add", "app:radio rpc:Show", "delay", "300ms", "count", "1")
            #expect(added.ending == .exited(0), "\(added.errors)")
            #expect(added.output.contains("fault rule 1 added"))
            let start = ContinuousClock.now
            try await app.send(.rpc(session: session, message: 50, correlation: 50))
            _ = try await app.answer(to: 50)
            #expect(start.duration(to: .now) >= .milliseconds(300))
            let list = try await relayd.relayctl("fault", "list")
            #expect(list.output.contains("1 of 1"), "\(list.output)")
            #expect(
                list.output.contains("app:radio rpc:Show -> delay 300ms count 1"), "\(list.output)")
            #expect(list.output.contains("over"))
            let status = try await relayd.relayctl("status")
            let rule = "rule 1: app:radio rpc:Show -> delay 300ms count 1, 1 of 1 taken (over)"
            #expect(status.output.contains("Faults"), "\(status.output)")
            #expect(status.output.contains(rule), "\(status.output)")
            #expect(try await relayd.status().faults?.hits == 1)
            let line = try await relayd.process.output.first(containing: "held by fault rule 1")
            #expect(line.contains("Show"))
            try await relayd.process.errors.first(containing: "drive: added fault rule 1")
            #expect(try await relayd.relayctl("fault", "remove", "1").ending == .exited(0))
            #expect(try await relayd.status().faults == nil)
            let gone = try await relayd.relayctl("fault", "remove", "1")
            #expect(gone.ending == .exited(3))
            #expect(gone.errors.contains("there is no fault rule 1"))
        }
    }

    @Test("a dropped Show is never answered, an answered one by relayd; what follows is untouched")
    func dropAndAnswer() async throws {
        try await Self.withApp { relayd, app, session in
            _ = try await relayd.relayctl("fault", "add", "rpc:Show", "drop", "count", "1")
            _ = try await relayd.relayctl(
                "fault", "add", "rpc:Show", "answer", "REJECTED", "no space", "count", "1")
            for number in 50...52 as ClosedRange<UInt32> {
                try await app.send(
                    .rpc(session: session, message: number, correlation: Int32(number)))
            }
            let rejected = try await app.answer(to: 51)
            #expect(
                rejected.contains(#""resultCode":"REJECTED","info":"no space""#), "\(rejected)")
            #expect(try await app.answer(to: 52).contains(#""resultCode":"SUCCESS""#))
            try await relayd.process.output.first(containing: "fault rule 1")
            for number in 3...10 {
                _ = try await relayd.relayctl("fault", "add", "rpc:Alert", "delay", "\(number)s")
            }
            let status = try await relayd.relayctl("status")
            #expect(status.output.contains("rule 8: rpc:Alert -> delay 8s, 0 taken\n"))
            #expect(status.output.contains("and 2 more: relayctl fault list"), "\(status.output)")
            let cleared = try await relayd.relayctl("fault", "clear")
            #expect(cleared.output.contains("10 fault rules removed"))
        }
    }

    @Test("disconnect closes the app and its session; with --json the rule is what the API tells")
    func disconnect() async throws {
        try await Self.withApp { relayd, app, session in
            let added = try await relayd.relayctl(
                "fault", "add", "--json", "app:radio rpc:Show", "disconnect")
            let list = try APICoding.decode(FaultList.self, from: Array(added.output.utf8))
            #expect(list.rules.map(\.action) == ["disconnect"])
            try await app.send(.rpc(session: session, message: 50, correlation: 50))
            try await app.gone()
            let status = try await relayd.until("left") { !$0.recentDepartures.isEmpty }
            #expect(status.recentDepartures.first?.reason == "closed by fault rule 1")
            try await relayd.until("its session is over") { $0.link.sessions == 0 }
        }
    }

    @Test("a file of rules is loaded whole or not at all; errors point at the line and the word")
    func load() async throws {
        try await Self.withApp { relayd, _, _ in
            let good = try relayd.directory.write(
                "# slow\napp:radio -> delay 80ms jitter 20ms\n\nfrom:unit -> drop probability 2%\n",
                to: "good.faults")
            let loaded = try await relayd.relayctl("fault", "load", good)
            #expect(loaded.output.contains("2 fault rules added"), "\(loaded.errors)")
            let bad = try relayd.directory.write("rpc:Show -> dealy 2s\n", to: "bad.faults")
            let refused = try await relayd.relayctl("fault", "load", bad)
            #expect(refused.ending == .exited(64))
            #expect(refused.errors.contains("bad.faults:1: found 'dealy'; did you mean delay?"))
            #expect(try await relayd.status().faults?.rules == 2)
            let wrong = try await relayd.relayctl("fault", "add", "rpc:Show !ok", "drop")
            #expect(wrong.ending == .exited(64))
            #expect(wrong.errors.contains("ok asks for the answer"))
            let unplugged = try await relayd.relayctl("fault", "add", "link", "unplug")
            #expect(unplugged.ending == .exited(0), "\(unplugged.errors)")
            try await relayd.until("the link came back") {
                $0.accessory.openedCount == 2 && $0.accessory.state == .open
            }
        }
    }

    @Test("while drive.enabled is off, rules are refused with what to do, and the list is empty")
    func off() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let refused = try await relayd.relayctl("fault", "add", "rpc:Show", "drop")
            #expect(refused.ending == .exited(3))
            #expect(refused.errors.contains("drive.enabled: true"))
            let list = try await relayd.relayctl("fault")
            #expect(list.output.contains("There are no fault rules"))
        }
    }

    @Test("a reload that turns drive.enabled off removes all rules, as nobody may do so any more")
    func turnedOff() async throws {
        try await Self.withApp { relayd, app, session in
            _ = try await relayd.relayctl("fault", "add", "rpc:Show", "hold")
            try await app.send(.rpc(session: session, message: 50, correlation: 50))
            try await relayd.until("it is held") { $0.faults?.heldFrames == 1 }
            try Relayd.quickGoodbyes.write(
                toFile: relayd.directory.file("relayd.yaml"), atomically: true, encoding: .utf8)
            let reload = try await relayd.relayctl("reload")
            #expect(reload.ending == .exited(0), "\(reload.errors)")
            #expect(try await app.answer(to: 50).contains(#""resultCode":"SUCCESS""#))
            #expect(try await relayd.status().faults == nil)
            try await relayd.process.errors.first(containing: "drive: removed all 1 fault rules")
        }
    }

    @Test("towards a real head unit, what may hurt other apps needs --may-harm-others")
    func harm() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", config: Relayd.driving
            ) { relayd in
                _ = try await accessory.nextLink()
                let refused = try await relayd.relayctl("fault", "add", "rpc:Show", "corrupt")
                #expect(refused.ending == .exited(3))
                #expect(refused.errors.contains("--may-harm-others"))
                let allowed = try await relayd.relayctl(
                    "fault", "add", "--may-harm-others", "rpc:Show", "corrupt")
                #expect(allowed.ending == .exited(0), "\(allowed.errors)")
                try await relayd.process.errors.first(containing: "(may harm others)")
            }
        }
    }
}

extension FramePeer {
    /// The JSON of the answer with this correlation ID; whatever comes before it is passed over.
    fileprivate func answer(to correlation: Int32) async throws -> String {
        while true {
            let frame = try await next()
            guard frame.type == .single, let header = RPCHeader(frame.payload),
                header.type == .response, header.correlationID == correlation
            else { continue }
            return String(buffer: frame.payload)
        }
    }

    /// Reads until the other end has closed.
    fileprivate func gone() async throws {
        while (try? await next()) != nil {}
    }
}
