// The built relayd on a serial device: a pty, plugged and unplugged.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd on a serial line", .serialized)
struct SerialLinkTests {
    @Test("frames of all sizes travel both ways")
    func traffic() async throws {
        let line = try PseudoTerminal()
        try await Relayd.run(accessory: line.accessory) { relayd in
            let app = try await relayd.connectApp()
            try await line.start(1, for: app)
            try await line.register(app, session: 1, name: "Serial")
            try await line.checkBothWays(app, session: 1)
            for bytes in [1, 1000, 60_000] {
                try await app.send(.data(session: 1, bytes: bytes))
                #expect(try await line.next() == .data(session: 1, bytes: bytes))
                try await line.send(.data(session: 1, bytes: bytes))
                #expect(try await app.next() == .data(session: 1, bytes: bytes))
            }
            let status = try await relayd.until("registered") {
                $0.apps.first?.state == .registered
            }
            #expect(status.accessory.kind == "serial")
            #expect(status.accessory.state == .open)
            let settings = try line.settings()
            #expect(settings.baud == 115_200 && settings.isRaw)
        }
    }

    @Test("unplugged: apps are closed and status says why; replugged: all works again")
    func replug() async throws {
        let line = try PseudoTerminal()
        try await Relayd.run(accessory: line.accessory) { relayd in
            let app = try await relayd.connectApp()
            try await line.start(1, for: app)
            try await line.register(app, session: 1, name: "Serial")

            line.unplug()
            try await app.closed()
            let unplugged = try await relayd.until("waiting") { $0.accessory.state == .waiting }
            let reason = try #require(unplugged.accessory.reason)
            #expect(reason.code == "vanished")
            #expect(reason.message == "\(line.path) went away")
            #expect(
                reason.remedy
                    == "plug the device in again; relayd opens it as soon as it appears")
            #expect(unplugged.health == .notConnected)
            #expect(
                unplugged.recentDepartures.first?.reason.hasPrefix("the head unit is gone")
                    == true)

            try line.replug()
            let replugged = try await relayd.until("open") { $0.accessory.state == .open }
            #expect(replugged.accessory.openedCount == 2)
            #expect(replugged.accessory.reason == nil)
            let again = try await relayd.connectApp()
            try await line.start(1, for: again)
            try await line.register(again, session: 1, name: "Serial")
            try await line.checkBothWays(again, session: 1)
        }
    }

    @Test("a device that is absent at first is waited for, with the reason")
    func absentAtStart() async throws {
        let line = try PseudoTerminal()
        line.unplug()
        try await Relayd.run(accessory: line.accessory) { relayd in
            let absent = try await relayd.until("waiting") { $0.accessory.state == .waiting }
            #expect(absent.accessory.reason?.code == "absent")
            let message = absent.accessory.reason?.message
            #expect(message?.hasPrefix("\(line.path) does not exist") == true)
            try await relayd.process.errors.first(containing: "\(line.path) does not exist")
            let app = try await relayd.connectApp()
            try await app.send(.startService())
            try await relayd.until("the app is held") {
                $0.apps.first?.state == .waitingForHeadUnit
            }
            try line.replug()
            #expect(try await line.next() == .startService())
            try await line.send(.startServiceACK(session: 1))
            #expect(try await app.next() == .startServiceACK(session: 1))
        }
    }

    @Test("garbage between frames is skipped and counted, and costs no frame")
    func garbage() async throws {
        let line = try PseudoTerminal()
        try await Relayd.run(accessory: line.accessory) { relayd in
            let app = try await relayd.connectApp()
            try await line.start(1, for: app)
            var skipped = 0
            for garbage in ["\0", "AT+GCAP\r\n", String(repeating: "~", count: 300)] {
                let before = Frame.rpc(session: 1, .notification, .onVehicleData)
                let after = Frame.rpc(session: 1, .notification, .onHMIStatus)
                try await line.send(before)
                try await line.write(Array(garbage.utf8))
                try await line.send(after)
                #expect(try await app.next() == before)
                #expect(try await app.next() == after)
                skipped += garbage.utf8.count
            }
            let status = try await relayd.status()
            #expect(status.accessory.garbageBytes == skipped)
            #expect(status.accessory.hint == nil)
            try await line.checkBothWays(app, session: 1)
            try await relayd.process.errors.first(
                containing: "9 bytes from the head unit were not SDL frames")
        }
    }

    @Test("an OpenXC stream on the link is recognised")
    func openXC() async throws {
        let line = try PseudoTerminal()
        try await Relayd.run(accessory: line.accessory) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let message = #"{"name":"vehicle_speed","value":42.5}"# + "\0"
            for _ in 0..<20 { try await line.write(Array(message.utf8)) }
            let status = try await relayd.until("a hint") { $0.accessory.hint != nil }
            #expect(status.accessory.hint?.contains("OpenXC") == true)
            try await relayd.process.errors.first(containing: "looks like an OpenXC")
            let shown = try await relayd.relayctl("status")
            #expect(shown.output.contains("OpenXC"))
        }
    }

    @Test("the line is cut and restored fifty times; the app is back each time")
    func fiftyCuts() async throws {
        let line = try PseudoTerminal()
        try await Relayd.run(accessory: line.accessory) { relayd in
            for round in 1...50 as ClosedRange<UInt32> {
                let app = try await relayd.connectApp()
                try await line.start(1, for: app)
                try await line.register(app, session: 1, name: "Phoenix")
                try await line.checkBothWays(app, session: 1, round + 100)
                line.unplug()
                try await app.closed()
                // Nobody is fast enough to plug it in again before relayd has seen that it is gone.
                try await relayd.until("waiting") { $0.accessory.state == .waiting }
                try line.replug()
            }
            let status = try await relayd.until("open again, nobody left") {
                $0.accessory.state == .open && $0.accessory.openedCount == 51 && $0.apps.isEmpty
            }
            #expect(status.link.sessions == 0)
            #expect(status.accessory.garbageBytes == 0)
        }
    }
}
