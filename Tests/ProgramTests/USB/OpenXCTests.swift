// What the built relayd finds out about an OpenXC interface, and what happens to its bytes.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite(
    "The built relayd and an OpenXC interface", .serialized,
    .enabled("needs umockdev: apt-get install umockdev libumockdev-dev") {
        await FakeUSB.isAvailable.value
    })
struct OpenXCTests {
    private static let name = "OpenXC Vehicle Interface at port 1-1"
    private static let config = VehicleStand.anyPort

    @Test(
        "its firmware says which it is, each generation in its way",
        arguments: [
            ("5", "openxc5", "firmware 5.3.1 (fake)"),
            ("6", "openxc", "firmware 6.0.3 (fake), device ID 0012F3000006"),
            ("7", "openxc", "firmware 8.2.1 (fake), device ID 0012F3000007"),
            ("7p", "openxc", "firmware 8.2.1 (fake), device ID 0012F3000008"),
        ])
    func identity(firmware: String, kind: String, words: String) async throws {
        let before = ["openxc \(firmware)", "plug 1-1 \(kind) -"]
        try await USBBench.run("usb:openxc", before: before, config: Self.config) { bench in
            let status = try await bench.relayd.until("its words") {
                $0.accessory.device?.contains("firmware") == true
            }
            #expect(status.accessory.device == "\(Self.name), \(words)")
            try await bench.relayd.process.errors.first(containing: "\(Self.name): \(words)")
            #expect(try await bench.relayd.relayctl("status").output.contains(words))
            // Firmware 5 restarts at request 0x81.
            let asked = try await bench.usb.said().filter { $0.hasPrefix("openxc request") }
            #expect(!asked.isEmpty && !asked.contains { $0.contains(" 0x81 ") })
            if firmware == "5" { #expect(asked == ["openxc request 0xc0 0x80 100"]) }
            // The requests took nothing from the stream and put nothing into it.
            try await bench.expectAllBytesCounted()
            try bench.usb.tell("unplug 1-1")
            let gone = try await bench.relayd.until("waiting") { $0.accessory.state == .waiting }
            #expect(gone.accessory.device == nil)
        }
    }

    @Test("one that refuses to say is open all the same", arguments: ["none", "mute"])
    func silent(firmware: String) async throws {
        let before = ["openxc \(firmware)", "plug 1-1 openxc -"]
        try await USBBench.run("usb:openxc", before: before, config: Self.config) { bench in
            // Before any time-out.
            let vehicle = try await bench.accessory.nextLink()
            try await vehicle.hears(VehicleStand.questions)
            let client = try await bench.relayd.connectClient()
            try await vehicle.says(VehicleStand.speed(1))
            try await client.hears(VehicleStand.speed(1))
            #expect(try await bench.relayd.status().accessory.device == Self.name)
            // And the pending request holds nothing up.
            try bench.usb.tell("unplug 1-1")
            try await bench.relayd.until("it is gone") { $0.accessory.state == .waiting }
            try bench.usb.tell("plug 1-1 openxc -")
            let again = try await bench.accessory.nextLink()
            try await again.hears(VehicleStand.questions)
            try await client.says(VehicleStand.askVersion)
            try await again.hears(VehicleStand.askVersion)
            try await again.says(VehicleStand.speed(2))
            try await client.hears(VehicleStand.speed(2))
        }
    }

    @Test("taken for a head unit, its messages are counted, and what it is stands in the status")
    func messages() async throws {
        try await USBBench.run("usb:1bc4:0001", before: ["plug 1-1 openxc -"]) { bench in
            let headUnit = try await bench.accessory.nextLink()
            let message = #"{"name":"vehicle_speed","value":42.5}"# + "\0"
            let bytes = ByteBuffer(string: String(repeating: message, count: 50))
            try await headUnit.send(bytes: bytes)
            let status = try await bench.relayd.until("all of it skipped") {
                $0.accessory.hint != nil && $0.accessory.bytesIn == bytes.readableBytes
            }
            #expect(status.accessory.state == .open)
            #expect(status.accessory.framesIn == 0)
            #expect(
                status.accessory.hint
                    == "this looks like an OpenXC vehicle interface, not an SDL head unit. "
                    + "Check the head unit's address")
        }
    }
}
