// GET /v1/devices of the built relayd, with a fake device under real libusb.

import ControlAPI
import Foundation
import RelayTesting
import SDLProtocol
import Testing

@Suite(
    "The devices a relayd sees", .serialized,
    .enabled("needs umockdev: apt-get install umockdev libumockdev-dev") {
        await FakeUSB.isAvailable.value
    })
struct DeviceListTests {
    /// The devices by their port; a difference from the document is recorded as an issue.
    private func devices(_ relayd: Relayd) async throws -> [String: [String: Any]] {
        let answer = try await ControlRequest.get(Routes.devices, at: relayd.controlSocket)
        let json = try JSONSerialization.jsonObject(with: Data(answer.body))
        var seen: Set<String> = []
        #expect(try APIDocument().differences(json, "DeviceList", seen: &seen) == [])
        let list = try #require((json as? [String: Any])?["usb"] as? [[String: Any]])
        return Dictionary(uniqueKeysWithValues: list.map { ($0["port"] as? String ?? "", $0) })
    }

    @Test("the open one and its neighbours are listed as they come and go, and the link goes on")
    func comingAndGoing() async throws {
        try await USBBench.run("usb:1bc4:0001", before: ["plug 1-1 openxc -"]) { bench in
            let (headUnit, app) = try await bench.connect()
            try await headUnit.register(app, session: 1, name: "USB")
            let alone = try await devices(bench.relayd)
            #expect(alone.keys.sorted() == ["1-1"])
            let device = try #require(alone["1-1"])
            #expect(device["address"] as? String == "usb:openxc")
            #expect(device["use"] as? String == "opens")
            #expect(device["id"] as? String == "1bc4:0001")
            try bench.usb.tell("plug 1-2 openxc SECOND")
            let two = try await devices(bench.relayd)
            #expect(two["1-2"]?["address"] as? String == "usb:openxc?serial=SECOND")
            try bench.usb.tell("unplug 1-2")
            #expect(try await devices(bench.relayd).keys.sorted() == ["1-1"])
            // The listing has not disturbed the open device.
            try await headUnit.checkBothWays(app, session: 1)
            #expect(try await bench.relayd.status().accessory.openedCount == 1)
        }
    }
}
