// The built relayd on a tty whose driver blocks its callers, hangs up early or denies.

import ControlAPI
import Glibc
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd on a tty whose driver makes it wait", .serialized)
struct SlowTTYTests {
    @Test("a close that waits for output is interrupted, and the device opened again")
    func interruptsClose() async throws {
        try await SlowTTY.withRelayd { tty, relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            try tty.order("close")
            #expect(try await relayd.relayctl("reopen").ending == .exited(0))
            try await tty.until("close interrupted")
            let status = try await relayd.until("open again") {
                $0.accessory.state == .open && $0.accessory.openedCount == 2
            }
            #expect(status.accessory.hanging == nil)
            #expect(!tty.done.contains("close over"))
            try tty.order("")
        }
    }

    @Test("while a close hangs relayd answers, says so, moves to another accessory and serves apps")
    func hangingClose() async throws {
        try await SlowTTY.withRelayd { tty, relayd in
            let app = try await relayd.connectApp()
            try await tty.line.start(1, for: app)
            try tty.order("close stuck")
            #expect(try await relayd.relayctl("reopen").ending == .exited(0))
            try await tty.until("close waits")
            let path = tty.line.path
            let waiting = try await relayd.until("the device is not free") {
                $0.accessory.reason?.code == "busy"
            }
            #expect(
                waiting.accessory.reason?.message.hasPrefix("\(path) is still being closed")
                    == true)
            #expect(waiting.accessory.hanging == ["closing \(path)"])
            try await relayd.process.errors.first(containing: "closing \(path) has taken 1 s")
            let shown = try await relayd.relayctl("status")
            #expect(shown.output.contains("closing \(path) hangs in its driver"))

            // As soon as the driver lets go, the device is opened again.
            try tty.order("")
            try await relayd.until("open again") { $0.accessory.state == .open }
            try await relayd.process.errors.first(
                containing: "closing \(path) has returned after")
            #expect(try await relayd.status().accessory.hanging == nil)
        }
    }

    @Test("a close that hangs for ever does not hold a reload, the apps or the stop")
    func stopsWhileClosing() async throws {
        try await SlowTTY.run { tty in
            try await TemporaryDirectory.run { directory in
                func config(_ accessory: String) throws -> String {
                    try directory.write(
                        "accessory: \(accessory)\nlisten: [127.0.0.1:0]\n", to: "relayd.yaml")
                }
                let process = try await Program.relayd.start(
                    [
                        "--config", try config("\"\(tty.line.accessory)\""),
                        "--control-socket", directory.file("relayd.sock"),
                    ],
                    environment: tty.environment)
                try await Relayd.run(process, in: directory) { relayd in
                    try await relayd.until("open") { $0.accessory.state == .open }
                    let app = try await relayd.connectApp()
                    try await tty.line.start(1, for: app)
                    try tty.order("close stuck")
                    _ = try config("'sim:'")
                    process.signal(SIGHUP)
                    try await tty.until("close waits")
                    let reason = "the configuration names another head unit: sim:"
                    try await app.closed()
                    let status = try await relayd.until("the simulated head unit is open") {
                        $0.accessory.kind == "sim" && $0.accessory.state == .open
                    }
                    #expect(
                        status.recentDepartures.first?.reason == "the head unit is gone (\(reason))"
                    )
                    #expect(status.accessory.hanging == ["closing \(tty.line.path)"])
                    let again = try await relayd.connectApp()
                    try await again.send(.startService())
                    #expect(try await again.next().controlType == .startServiceACK)

                    // The driver waits half a minute; the stop does not.
                    process.signal(SIGTERM)
                    #expect(try await process.ended() == .exited(0))
                    #expect(!tty.done.contains("close over"))
                }
            }
        }
    }

    @Test("a driver may return from a close while relayd ends: whoever hears of it is still there")
    func returnsAtTheEnd() async throws {
        try await SlowTTY.withRelayd { tty, relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            try tty.order("close stuck exit")
            relayd.process.signal(SIGTERM)
            // relayd has stopped without closing the device, and would be gone in a moment.
            try await tty.until("exit waits")
            // Still stuck, so that no signal ends it earlier.
            try tty.order("stuck exit")
            try await tty.until("close over")
            #expect(try await relayd.process.ended() == .exited(0))
            #expect(tty.done.last == "exit over")
            let lines = try await relayd.process.errors.untilEnd()
            #expect(!lines.contains { $0.contains("ERROR") }, "\(lines)")
        }
    }

    @Test("a driver that hangs where none may does not hold the stop beyond its time")
    func stopsAnyway() async throws {
        try await SlowTTY.run { tty in
            try await TemporaryDirectory.run { directory in
                let process = try await Program.relayd.start(
                    [
                        "--config", try directory.write(Relayd.quickGoodbyes, to: "relayd.yaml"),
                        "--accessory", tty.line.accessory, "--listen", "127.0.0.1:0",
                        "--control-socket", directory.file("relayd.sock"),
                    ], environment: tty.environment)
                do {
                    let line = "apps connect by TCP"
                    try await process.errors.first(containing: line)
                    try await process.errors.first(containing: "open: serial:")
                    try tty.order("queue stuck")
                    process.signal(SIGTERM)
                    try await process.errors.first(containing: "it is cut short")
                    #expect(try await process.ended() == .exited(1))
                    #expect(tty.done == ["queue waits"])
                } catch {
                    process.signal(SIGKILL)
                    throw error
                }
            }
        }
    }

    @Test("an open that hangs holds neither the control socket nor the stop")
    func hangingOpen() async throws {
        try await SlowTTY.withRelayd(ordered: "open stuck") { tty, relayd in
            try await tty.until("open waits")
            let status = try await relayd.status()
            #expect(status.accessory.state == .opening)
            let app = try await relayd.connectApp()
            try await app.send(.startService())
            try await relayd.until("the app is held") {
                $0.apps.first?.state == .waitingForHeadUnit
            }
            relayd.process.signal(SIGTERM)
            #expect(try await relayd.process.ended() == .exited(0))
            #expect(!tty.done.contains("open over"))
        }
    }

    @Test(
        "a tty that hangs up while it is being opened is no wrong path",
        arguments: [
            ("ttyUSB0", "serial", "vanished", "hung up while it was being opened"),
            ("rfcomm0", "rfcomm", "refused", "did not accept the connection"),
        ])
    func hangsUpEarly(name: String, scheme: String, code: String, words: String) async throws {
        try await SlowTTY.withRelayd(name, scheme: scheme, ordered: "hangup") { tty, relayd in
            let status = try await relayd.until("a reason") { $0.accessory.reason != nil }
            #expect(status.accessory.reason?.code == code)
            #expect(status.accessory.reason?.message.contains(words) == true)
            #expect(status.accessory.reason?.remedy.contains("correct the path") == false)
            try tty.order("")
            try await relayd.until("open") { $0.accessory.state == .open }
        }
    }

    @Test("without a Bluetooth adapter the remedy says how to switch it on")
    func noAdapter() async throws {
        try await SlowTTY.withRelayd("rfcomm0", scheme: "rfcomm", ordered: "noadapter") {
            _, relayd in
            let status = try await relayd.until("a reason") { $0.accessory.reason != nil }
            #expect(status.accessory.reason?.code == "unreachable")
            #expect(status.accessory.reason?.remedy.contains("bluetoothctl power on") == true)
        }
    }

    /// Runs `body` once the device appears and relayd is not allowed to open it.
    private func onADeniedTTY(_ body: (SlowTTY, Relayd) async throws -> Void) async throws {
        try await SlowTTY.withRelayd(isPlugged: false) { tty, relayd in
            try await relayd.until("absent") { $0.accessory.reason?.code == "absent" }
            try tty.order("deny")
            try tty.line.replug()
            try await body(tty, relayd)
        }
    }

    @Test("permissions that udev sets a moment after the device appeared are no warning")
    func permissionsSettle() async throws {
        try await onADeniedTTY { tty, relayd in
            let settling = try await relayd.until("denied") {
                $0.accessory.reason?.code == "permission_denied"
            }
            #expect(settling.accessory.reason?.message.contains("just appeared") == true)
            try tty.order("")
            try await relayd.until("open") { $0.accessory.state == .open }
            let warnings = relayd.process.errors.all.filter { $0.contains("may not") }
            #expect(warnings.isEmpty)
        }
    }

    @Test("permissions that stay wrong are warned of")
    func permissionsStayWrong() async throws {
        try await onADeniedTTY { tty, relayd in
            try await relayd.process.errors.first(containing: "may not open it")
            // The log tells a moment before the status.
            try await relayd.until("told") {
                $0.accessory.reason?.message.contains("may not open it") == true
            }
        }
    }

    @Test("an app hears that the device hung up, not that the head unit closed the link")
    func hangUpReason() async throws {
        let line = try PseudoTerminal()
        try await Relayd.run(accessory: line.accessory) { relayd in
            let app = try await relayd.connectApp()
            try await line.start(1, for: app)
            line.unplug()
            try await app.closed()
            let status = try await relayd.until("the app has left") { $0.apps.isEmpty }
            #expect(
                status.recentDepartures.first?.reason
                    == "the head unit is gone (\(line.path) hung up: unplugged, or let go by its "
                    + "driver; check the cable)")
        }
    }
}
