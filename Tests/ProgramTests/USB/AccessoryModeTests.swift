// Phones that the built relayd switches into accessory mode, or cannot.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite(
    "The built relayd and a phone", .serialized,
    .enabled("needs umockdev: apt-get install umockdev libumockdev-dev") {
        await FakeUSB.isAvailable.value
    })
struct AccessoryModeTests {
    private static let address = "usb:04e8:6860?aoa=switch&model=Bench"

    @Test("it is told six strings, comes back as an accessory, and carries traffic")
    func switches() async throws {
        try await USBBench.run(Self.address, before: ["plug 1-1 phone P1"]) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            try await headUnit.checkBothWays(app, session: 1)
            let said = try await bench.usb.said().filter {
                $0.hasPrefix("string") || $0 == "start" || $0.hasPrefix("plugged")
            }
            #expect(
                said.map { $0.filter { $0 != "\0" } } == [
                    "plugged 1-1 04e8:6860 as 1",
                    "string 0 SDL", "string 1 Bench",
                    "string 2 SmartDeviceLink Core Component USB", "string 3 1.0",
                    "string 4 http://www.smartdevicelink.org", "string 5 N000000", "start",
                    "plugged 1-1 18d1:2d00 as 2",
                ])
            // Plugged in again it is a phone again, and is switched again.
            try bench.usb.tell("unplug 1-1")
            try await app.closed()
            try bench.usb.tell("plug 1-2 phone P1")
            let (again, newApp) = try await bench.connect()
            try await again.checkBothWays(newApp, session: 1)
        }
    }

    @Test("a phone that is in accessory mode already is opened as it is")
    func alreadyThere() async throws {
        for address in [Self.address, "usb:aoa", "usb:aoa?serial=P1"] {
            try await USBBench.run(address, before: ["plug 1-1 accessory P1"]) { bench in
                let (headUnit, app) = try await bench.connect()
                try await headUnit.checkBothWays(app, session: 1)
                #expect(try await !bench.usb.said().contains("start"))
            }
        }
    }

    @Test("a phone in accessory mode that relayd has not switched is somebody else's")
    func somebodyElses() async throws {
        let words = "was not switched by this relayd"
        // It comes in accessory mode while relayd watches.
        try await USBBench.run(Self.address) { bench in
            try await bench.untilWaiting("is plugged in")
            try bench.usb.tell("plug 1-3 accessory LEFT")
            #expect(try await bench.untilWaiting(words).code == "absent")
            try bench.usb.tell("plug 1-1 phone P1")
            _ = try await bench.connect()
            let claimed = try await bench.usb.said().filter { $0.hasPrefix("claimed") }
            #expect(claimed == ["claimed 1-1"])
        }
        // It is there from the start, in use by another program, which ends later.
        try await USBBench.run(Self.address, before: ["busy yes", "plug 1-3 accessory LEFT"]) {
            bench in
            let reason = try await bench.untilWaiting("this relayd has not switched it")
            #expect(reason.code == "busy")
            #expect(reason.text.contains("is in use by relayd-fake-usb (process "))
            #expect(reason.text.contains("or add &bus=1-3 to the head unit's address"))
            try bench.usb.tell("busy no")
            try bench.usb.tell("plug 1-1 phone P1")
            _ = try await bench.connect()
            let claimed = try await bench.usb.said().filter { $0.hasPrefix("claimed") }
            #expect(claimed == ["claimed 1-1"])
        }
    }

    @Test("a phone that is not named is left alone")
    func leftAlone() async throws {
        try await USBBench.run("usb:1bc4:0001", before: ["plug 1-1 phone P1"]) { bench in
            try await bench.untilWaiting("no USB device 1bc4:0001")
            try bench.usb.tell("plug 1-2 openxc -")
            _ = try await bench.connect()
            #expect(try await !bench.usb.said().contains("claimed 1-1"))
            #expect(try await !bench.usb.said().contains { $0.hasPrefix("string") })
        }
    }

    @Test(
        "a phone that cannot be switched is left alone until it is plugged in again",
        arguments: [
            ("unsupported", "it refused the question for its protocol version", "unsupported"),
            ("same", "came back as 04e8:6860, not in accessory mode", "unsupported"),
        ])
    func cannot(mode: String, words: String, code: String) async throws {
        try await USBBench.run(Self.address, before: ["aoa \(mode)", "plug 1-1 phone P1"]) {
            bench in
            let reason = try await bench.untilWaiting(words)
            #expect(reason.code == code)
            // Asked one to three times, then never again.
            let starts = mode == "same" ? 3 : 0
            try await bench.relayd.until("as many attempts") {
                $0.accessory.attempts >= max(1, starts)
            }
            try bench.usb.tell("aoa accessory")
            try await bench.untilWaiting(words)
            try bench.usb.tell("unplug 1-1")
            try await bench.untilWaiting("is plugged in")
            #expect(try await bench.usb.said().count { $0 == "start" } == starts)
            try bench.usb.tell("plug 1-1 phone P1")
            _ = try await bench.connect()
        }
    }

    @Test("a phone that never comes back is told as that, and opened when it is late")
    func late() async throws {
        try await USBBench.run(Self.address, before: ["aoa leave", "plug 1-1 phone P1"]) { bench in
            #expect(try await bench.untilWaiting("has not returned").code == "timed_out")
            try bench.usb.tell("plug 1-1 accessory P1")
            _ = try await bench.connect()
        }
    }

    @Test("stopped while the phone is away, relayd stops at once")
    func stopped() async throws {
        try await USBBench.run(Self.address, before: ["aoa leave", "plug 1-1 phone P1"]) { bench in
            try await bench.usb.process.output.first(containing: "unplugged 1-1")
        }
    }
}
