// The built relayd on USB: real libusb, a fake device, a head unit behind it.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite(
    "The built relayd on USB", .serialized,
    .enabled("needs umockdev: apt-get install umockdev libumockdev-dev") {
        await FakeUSB.isAvailable.value
    })
struct USBLinkTests {
    private static let plugOpenXC = ["plug 1-1 openxc -"]

    @Test("frames of all sizes travel both ways, in order")
    func traffic() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try await headUnit.checkBothWays(app, session: 1)
            // Around the sizes of a packet and a transfer, where a frame's last packet may be full.
            for bytes in [1, 500, 512, 1012, 16_372, 16_384, 16_385, 60_000, 120_000] {
                let frame = Frame.data(session: 1, bytes: bytes)
                try await app.send(frame)
                #expect(try await headUnit.next() == frame)
                try await headUnit.send(frame)
                #expect(try await app.next() == frame)
            }
            let status = try await bench.relayd.status()
            #expect(status.accessory.kind == "usb")
            let listing = try await Program.relayctl.run(
                ["usb", "--socket", bench.relayd.controlSocket], environment: bench.usb.environment)
            #expect(
                listing.output.hasSuffix(
                    "relayd is set to usb:1bc4:0001, which is the device at port 1-1."))
            #expect(status.accessory.state == .open)
            #expect(status.accessory.garbageBytes == 0)
        }
    }

    @Test("a flood both ways at once loses and reorders nothing")
    func flood() async throws {
        try await USBBench.run("usb:1bc4:0001?zlp=yes", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            let count = UInt32(400)
            func frames(from sender: FramePeer, to receiver: FramePeer) async throws {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for number in 1...count { try await sender.send(Self.numbered(number)) }
                    }
                    for number in 1...count {
                        try #require(try await receiver.next() == Self.numbered(number))
                    }
                    try await group.waitForAll()
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await frames(from: app, to: headUnit) }
                group.addTask { try await frames(from: headUnit, to: app) }
                try await group.waitForAll()
            }
        }
    }

    private static func numbered(_ number: UInt32) -> Frame {
        .data(
            session: 1, message: number, bytes: Int(number * 7919 % 20_000),
            filledWith: UInt8(truncatingIfNeeded: number))
    }

    @Test("after a stream the device is asked for less again, and what it says then comes at once")
    func silence() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for number: UInt32 in 1...30 {
                        try await headUnit.send(.data(session: 1, message: number, bytes: 120_000))
                    }
                }
                for number: UInt32 in 1...30 {
                    let frame = Frame.data(session: 1, message: number, bytes: 120_000)
                    try #require(try await app.next() == frame)
                }
                try await group.waitForAll()
            }
            // Large transfers that were requested meanwhile.
            try await bench.usb.process.output.first(containing: "taken back 0 of 32768")
            let word = Frame.data(session: 1, bytes: 5)
            try await headUnit.send(word)
            #expect(try await app.next() == word)
            try await bench.expectAllBytesCounted()
        }
    }

    @Test("plugged in, unplugged, plugged in again under another number: the reason is told")
    func hotPlug() async throws {
        try await USBBench.run("usb:1bc4:0001") { bench in
            #expect(try await bench.untilWaiting("is plugged in").code == "absent")
            try bench.usb.tell("plug 1-1 openxc -")
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")

            try bench.usb.tell("unplug 1-1")
            try await app.closed()
            let reason = try await bench.untilWaiting("went away")
            #expect(reason.code == "vanished")
            #expect(reason.text.hasPrefix("OpenXC Vehicle Interface at port 1-1 went away; plug"))

            try bench.usb.tell("plug 1-2 openxc -")
            let (again, newApp) = try await bench.connect()
            try await again.register(newApp, session: 1, name: "USB")
            try await bench.usb.process.output.first(containing: "plugged 1-2 1bc4:0001 as 2")
            #expect(try await bench.relayd.status().accessory.openedCount == 2)
        }
    }

    @Test("two alike are not guessed: the port path tells them apart, and one left is the one")
    func ambiguous() async throws {
        let two = ["plug 1-1 openxc -", "plug 1-2 openxc -"]
        try await USBBench.run("usb:1bc4:0001", before: two) { bench in
            let reason = try await bench.untilWaiting("2 USB devices fit")
            #expect(reason.code == "ambiguous")
            #expect(reason.text.contains("bus=1-"))
            try bench.usb.tell("unplug 1-1")
            _ = try await bench.accessory.nextLink()
            try await bench.usb.process.output.first(containing: "claimed 1-2")
        }
        try await USBBench.run("usb:1bc4:0001?bus=1-2", before: two) { bench in
            _ = try await bench.accessory.nextLink()
            try await bench.usb.process.output.first(containing: "claimed 1-2")
        }
    }

    @Test("unplugged in the middle of a transfer: what was lost is counted")
    func unplugInTransfer() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try bench.usb.tell("hold yes")
            let frame = Frame.data(session: 1, bytes: 50_000)
            try await app.send(frame)
            try await bench.relayd.until("the frame is on its way") {
                $0.accessory.bytesOut > 50_000
            }
            try bench.usb.tell("unplug 1-1")
            try await app.closed()
            let reason = try await bench.untilWaiting("lost: ")
            #expect(reason.code == "vanished")
            #expect(
                reason.text.contains("went away; lost: \(frame.wire.readableBytes) bytes for it"))
            let status = try await bench.relayd.status()
            #expect(status.accessory.lostBytesOut == frame.wire.readableBytes)
            #expect(status.accessory.lostBytesIn == 0)
            try await bench.expectAllBytesCounted()
            try bench.usb.tell("hold no")
            try bench.usb.tell("plug 1-1 openxc -")
            let (again, newApp) = try await bench.connect()
            try await again.checkBothWays(newApp, session: 1)
        }
    }

    @Test("unplugged while the hub does not read: what had come from the device is counted too")
    func unplugWhileHeld() async throws {
        let config = Relayd.quickGoodbyes + "apps:\n  when_slow: hold\n"
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC, config: config) { bench in
            let headUnit = try await bench.accessory.nextLink()
            let app = try await FramePeer.connect(port: bench.relayd.port, readsByItself: false)
            try await app.send(.startService())
            try await headUnit.grant(session: 1)
            // More than all buffers on the way hold together, so that the device has to wait.
            let flood = Task {
                while !Task.isCancelled {
                    try await headUnit.send(.data(session: 1, bytes: 60_000))
                }
            }
            defer { flood.cancel() }
            try await bench.relayd.until("the hub holds the link") { status in
                status.limitsHit.contains { $0.name == "apps.stall_grace" }
            }
            // The device waits once the host has no transfer left for it. On a busy machine it may look so for
            // a moment, so this must last, and relayd has to answer between two looks.
            var (moved, quietLooks) = (0, 0)
            while moved < 1 << 20 || quietLooks < 10 {
                try await Task.sleep(for: .milliseconds(200))
                _ = try await bench.relayd.status()
                let now = try bench.usb.moved().in
                quietLooks = try now == moved && bench.usb.mustWait() ? quietLooks + 1 : 0
                moved = now
            }
            try bench.usb.tell("unplug 1-1")
            let reason = try await bench.untilWaiting(" bytes from it")
            let status = try await bench.relayd.status()
            let lost = try #require(status.accessory.lostBytesIn)
            #expect(lost > 0 && reason.text.contains("lost: \(lost) bytes from it"))
            #expect(lost <= 4 * 32_768)
            try await bench.expectAllBytesCounted()
            let text = try await bench.relayd.relayctl("status").output
            #expect(text.contains("lost when its links ended: 0 B for the head unit, "))
            let metrics = try await ControlRequest.get("/metrics", at: bench.relayd.controlSocket)
            #expect(
                String(decoding: metrics.body, as: UTF8.self)
                    .contains(#"relayd_link_lost_bytes_total{from="accessory"} \#(lost)"# + "\n"))
        }
    }

    @Test("a stalled endpoint is cleared and loses nothing", arguments: ["in", "out"])
    func stall(direction: String) async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            for round in 1...5 as ClosedRange<UInt32> {
                try bench.usb.tell("stall \(direction) 1")
                try await headUnit.checkBothWays(app, session: 1, round + 100)
                for bytes in [10, 40_000] {
                    let frame = Frame.data(session: 1, message: round, bytes: bytes)
                    try await app.send(frame)
                    #expect(try await headUnit.next() == frame)
                    try await headUnit.send(frame)
                    #expect(try await app.next() == frame)
                }
            }
            #expect(try await bench.relayd.status().accessory.openedCount == 1)
        }
    }

    @Test("an endpoint that stays stalled ends the link, with the endpoint's name")
    func stallsForEver() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try bench.usb.tell("stall out 1000")
            try await app.send(.data(session: 1, bytes: 10))
            try await app.closed()
            try await bench.relayd.process.errors.first(
                containing: "refuses transfers on endpoint 0x05 (4 stalls in a row); lost: ")
        }
    }

    @Test("a transfer that the device takes in part goes on where it stopped")
    func shortTransfer() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            for bytes in [3000, 60_000] {
                try bench.usb.tell("short 1001")
                let frame = Frame.data(session: 1, bytes: bytes)
                try await app.send(frame)
                #expect(try await headUnit.next() == frame)
            }
            // If nothing had been cut short, there would have been no second halves.
            _ = try await bench.usb.process.output.wait(for: "two transfers taken in part") {
                lines in
                lines.count { $0 == "short" } == 2 ? true : nil
            }
            try await headUnit.checkBothWays(app, session: 1)
        }
    }

    @Test(
        "a transfer that fails ends the link with its reason; the device is opened again",
        arguments: [
            (
                "fail in",
                "a transfer on endpoint 0x82 of OpenXC Vehicle Interface at port 1-1 failed"
            ),
            ("fail overflow", "sent more than was asked for on endpoint 0x82"),
        ])
    func failures(command: String, words: String) async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try bench.usb.tell(command)
            try await app.closed()
            try await bench.relayd.process.errors.first(containing: words)
            let (again, newApp) = try await bench.connect()
            try await again.checkBothWays(newApp, session: 1)
        }
    }

    @Test("an unplug that shows as a failed transfer first is told as an unplug")
    func failsThenLeaves() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try bench.usb.tell("fail in")
            try bench.usb.tell("unplug 1-1")
            try await app.closed()
            // Told apart by time alone, so a slow machine may see the failure by itself.
            let reason = try await bench.relayd.until("waiting") {
                ["vanished", "absent"].contains($0.accessory.reason?.code)
            }
            #expect(reason.accessory.state == .waiting)
        }
    }

    @Test("a device that somebody else has is waited for, and the somebody is named")
    func busy() async throws {
        try await USBBench.run("usb:1bc4:0001", before: ["busy yes"] + Self.plugOpenXC) { bench in
            // Its node is open in the process that plays the kernel.
            let holder = "is in use by relayd-fake-usb (process \(bench.usb.process.pid)); "
            #expect(try await bench.untilWaiting(holder + "close that program").code == "busy")
            try bench.usb.tell("driver ftdi_sio")
            let driver = try await bench.untilWaiting("driver")
            #expect(driver.text.contains("add ?detach=yes to take it from the driver"))
            try bench.usb.tell("busy no")
            try bench.usb.tell("driver -")
            _ = try await bench.connect()
        }
    }

    @Test(
        "full packets are followed by an empty one where that is asked for",
        arguments: [true, false])
    func zeroLengthPackets(wanted: Bool) async throws {
        try await USBBench.run(
            "usb:1bc4:0001?zlp=\(wanted ? "yes" : "no")", before: Self.plugOpenXC
        ) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            // Two whole packets with the frame's header, and one byte more.
            for bytes in [1012, 1013] {
                try await app.send(.data(session: 1, bytes: bytes))
                #expect(try await headUnit.next() == .data(session: 1, bytes: bytes))
            }
            try bench.usb.tell("unplug 1-1")
            try await bench.usb.process.output.first(containing: "unplugged")
            let told = try await bench.usb.said().filter { $0.hasPrefix("empty packet") }
            #expect(told == (wanted ? ["empty packet after 1024"] : []))
        }
    }

    @Test("a host that slept opens the device again, though it never left the bus")
    func sleeps() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try bench.usb.tell("sleep")
            try await app.closed()
            let (again, newApp) = try await bench.connect()
            try await again.checkBothWays(newApp, session: 1)
            #expect(try await bench.usb.said().count { $0.hasPrefix("plugged") } == 1)
            // And an unplug after that is one.
            try bench.usb.tell("unplug 1-1")
            try await bench.untilWaiting("OpenXC Vehicle Interface at port 1-1 went away")
        }
    }

    @Test("detach=yes takes the interface from its driver, which has it back afterwards")
    func detaches() async throws {
        try await USBBench.run(
            "usb:1bc4:0001?detach=yes", before: ["driver cdc_acm"] + Self.plugOpenXC
        ) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.checkBothWays(app, session: 1)
            let output = bench.usb.process.output
            let said = try await bench.usb.said()
            #expect(said.contains("detached cdc_acm") && !said.contains("attached cdc_acm"))
            bench.relayd.process.signal(SIGTERM)
            #expect(try await bench.relayd.process.ended() == .exited(0))
            try await output.first(containing: "attached cdc_acm")
        }
    }

    @Test("SIGTERM: the goodbyes reach the head unit before the device is let go")
    func goodbye() async throws {
        try await USBBench.run("usb:1bc4:0001", before: Self.plugOpenXC) { bench in
            let headUnit = try await bench.accessory.nextLink()
            let app = try await bench.relayd.connectApp()
            try await headUnit.start(3, for: app, hashID: 0xFEED)
            try await headUnit.register(app, session: 3, name: "Last")
            bench.relayd.process.signal(SIGTERM)
            try await headUnit.expectFarewell(session: 3, hashID: 0xFEED, unregisters: true)
            try await headUnit.closed()
            #expect(try await bench.relayd.process.ended() == .exited(0))
            try await bench.usb.process.output.first(containing: "released 1-1")
        }
    }
}

extension USBLinkTests {
    @Test("relayctl usb lists what is plugged in, without relayd and without opening anything")
    func listing() async throws {
        try await FakeUSB.run { usb in
            func relayctl(_ arguments: String...) async throws -> ChildProcess.Finished {
                try await Program.relayctl.run(["usb"] + arguments, environment: usb.environment)
            }
            #expect(try await relayctl().output == "No USB devices are plugged in.")
            for command in [
                "plug 1-1 openxc -", "plug 1-2 phone P1", "driver cdc_acm", "plug 1-3 board B1",
                "driver -", "plug 1-4 stick S1",
            ] {
                try usb.tell(command)
            }
            let all = try await relayctl()
            #expect(all.ending == .exited(0), "\(all.errors)")
            for words in [
                "1-1   1bc4:0001  OpenXC Vehicle Interface  –       usb:openxc     opens interface 0",
                "1-2   04e8:6860  Fake Phone                P1      usb:04e8:6860",
                "in 0x82, out 0x05",
                "Port 1-2: if it is an Android phone, relayd switches it to accessory mode as "
                    + "usb:04e8:6860?aoa=switch",
                "Port 1-3: the kernel's cdc_acm driver has interface 0; open it as serial:",
            ] {
                #expect(all.output.contains(words), "\(all.output)")
            }
            let phone = try await relayctl("usb:04e8:6860?aoa=switch")
            #expect(phone.ending == .exited(0))
            #expect(phone.output.contains("switches it to accessory mode"))
            #expect(phone.output.contains("another device than 04e8:6860"))
            let none = try await relayctl("usb:openxc?bus=1-3", "--json")
            #expect(none.ending == .exited(1))
            #expect(none.output.contains(#""reason" : "it is at port 1-1""#))
            #expect(try await !usb.said().contains { $0.hasPrefix("claimed") })
        }
    }

    @Test("relayctl devices lists USB and serial lines; the old name's JSON stays") func devices()
        async throws
    {
        try await FakeUSB.run { usb in
            func relayctl(_ arguments: String...) async throws -> ChildProcess.Finished {
                try await Program.relayctl.run(arguments, environment: usb.environment)
            }
            try usb.tell("plug 1-1 openxc -")
            let all = try await relayctl("devices")
            #expect(all.ending == .exited(0), "\(all.errors)")
            #expect(all.output.contains("1-1   1bc4:0001  OpenXC Vehicle Interface"))
            #expect(all.output.contains("No relayd answers; what may be opened is judged by"))
            let json = try await relayctl("devices", "openxc", "--json")
            #expect(json.ending == .exited(0))
            #expect(json.output.contains(#""judged_for" : "relayctl""#))
            #expect(json.output.contains(#""serial" : ["#) && json.output.contains(#""usb" : ["#))
            let old = try await relayctl("usb", "openxc", "--json")
            #expect(old.output.contains(#""devices" : ["#) && !old.output.contains("judged_for"))
            let none = try await relayctl("devices", "usb:openxc?bus=1-3")
            #expect(none.ending == .exited(1) && none.output.contains("it is at port 1-1"))
        }
    }
}
