// The built relayd as a phone, with a stand-in for bluetoothd.

import ControlAPI
import RelayTesting
import SDLProtocol
import Testing

@Suite(
    "The built relayd by Bluetooth", .serialized,
    .enabled("needs apt-get install dbus python3-dbus python3-gi") {
        await FakeBluetooth.isAvailable.value
    })
struct BluetoothTests {
    private static let unit = "00:1A:7D:DA:71:0F"
    private static let sdl = "936da01f-9abd-4d9d-80c7-02af85c822a8"

    /// A head unit, bluetoothd and relayd.
    private func run(
        _ address: String, before: [String] = [],
        _ body: (FakeBluetooth, FakeAccessory, Relayd) async throws -> Void
    ) async throws {
        try await FakeBluetooth.run { bluetooth in
            try await FakeAccessory.run { headUnit in
                for order in before {
                    try bluetooth.tell(order.replacing("PORT", with: "\(headUnit.port)"))
                }
                try await Relayd.run(accessory: address, environment: bluetooth.environment) {
                    relayd in try await body(bluetooth, headUnit, relayd)
                }
            }
        }
    }

    private func listening(_ relayd: Relayd) async throws -> StatusSnapshot {
        try await relayd.until("it listens") { $0.accessory.state == .listening }
    }

    @Test("it waits as a phone; the head unit connects, apps talk; it leaves and comes back")
    func listens() async throws {
        let before = ["device \(Self.unit) SYNC paired"]
        try await run("bluetooth:listen", before: before) { bluetooth, accessory, relayd in
            let status = try await listening(relayd)
            #expect(status.accessory.kind == "bluetooth")
            let words = try await relayd.relayctl("status").output
            #expect(words.contains("Bluetooth adapter hci0 (A0:00:00:00:00:01): the SDL service"))
            #expect(try bluetooth.tell("registered") == "\(Self.sdl) server free  SdlRouterService")

            for _ in 0..<2 {
                try bluetooth.tell("connect \(Self.unit) \(accessory.port)")
                let headUnit = try await accessory.nextLink()
                _ = try await bluetooth.daemon.output.first(containing: "accepted")
                try await relayd.until("it is open") { $0.accessory.state == .open }
                let open = try await relayd.status().accessory
                #expect(open.device == "SYNC (\(Self.unit))" && open.lostBytesIn == nil)
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.checkBothWays(app, session: 1, 7)
                // Out of range.
                await headUnit.close()
                _ = try await listening(relayd)
            }
            try await relayd.process.errors.first(
                containing: "SYNC (\(Self.unit)) has disconnected from Bluetooth")
        }
    }

    @Test("while a head unit is connected, a second is refused, and the first goes on")
    func second() async throws {
        let before = ["device \(Self.unit) SYNC paired", "device 00:00:00:00:00:02 Other paired"]
        try await run("bluetooth:listen", before: before) { bluetooth, accessory, relayd in
            _ = try await listening(relayd)
            try bluetooth.tell("connect \(Self.unit) \(accessory.port)")
            let headUnit = try await accessory.nextLink()
            try await relayd.until("it is open") { $0.accessory.state == .open }
            try bluetooth.tell("connect 00:00:00:00:00:02 \(accessory.port)")
            let refusal = try await bluetooth.daemon.output.first(containing: "refused")
            #expect(
                refusal
                    == "refused org.bluez.Error.Rejected: SYNC (\(Self.unit)) is connected already")
            let app = try await relayd.connectApp()
            try await headUnit.start(1, for: app)
            try await headUnit.checkBothWays(app, session: 1, 7)
            // bluetoothd ends the connection: somebody on the machine chose to.
            try bluetooth.tell("disconnect \(Self.unit)")
            _ = try await listening(relayd)
        }
    }

    @Test(
        "it connects to a unit that offers the service itself; one that does not is told in words")
    func connects() async throws {
        let before = [
            "device \(Self.unit) SYNC paired", "answer \(Self.unit) br-connection-refused",
        ]
        try await run("bluetooth:\(Self.unit)", before: before) { bluetooth, accessory, relayd in
            let status = try await relayd.until("why not") {
                $0.accessory.reason?.message.contains("did not accept") == true
            }
            #expect(status.accessory.reason?.code == "refused")
            try bluetooth.tell("answer \(Self.unit) \(accessory.port)")
            let headUnit = try await accessory.nextLink()
            let app = try await relayd.connectApp()
            try await headUnit.start(1, for: app)
            try await headUnit.checkBothWays(app, session: 1, 7)
            #expect(try bluetooth.tell("registered").contains("\(Self.sdl) client"))
        }
    }

    @Test("a unit that is not paired, and one that nobody knows, are told with what to do")
    func notPaired() async throws {
        let before = ["device \(Self.unit) SYNC unpaired"]
        try await run("bluetooth:\(Self.unit)", before: before) { _, _, relayd in
            let status = try await relayd.until("why not") { $0.accessory.reason != nil }
            let problem = try #require(status.accessory.reason)
            #expect(problem.message == "SYNC (\(Self.unit)) is not paired with this machine")
            #expect(problem.remedy.contains("bluetoothctl pair \(Self.unit)") == true)
        }
    }

    @Test(
        "an adapter that is switched off, or a bluetoothd that ends, is told, and waited for again")
    func adapterOff() async throws {
        try await run("bluetooth:listen") { bluetooth, _, relayd in
            _ = try await listening(relayd)
            try bluetooth.tell("adapter off")
            let status = try await relayd.until("why not") { $0.accessory.state == .waiting }
            #expect(status.accessory.reason?.message.contains("is off") == true)
            try bluetooth.tell("adapter on")
            _ = try await listening(relayd)
            // Nothing was paired: the status says so.
            let words = try await relayd.relayctl("status").output
            #expect(words.contains("bluetoothctl discoverable on"), "\(words)")
            try bluetooth.tell("stop")
            let gone = try await relayd.until("why not") { $0.accessory.state == .waiting }
            #expect(gone.accessory.reason?.message.hasPrefix("bluetoothd") == true)
        }
    }

    @Test("two relayds want to be the same phone: the second says so")
    func busy() async throws {
        try await run("bluetooth:listen") { bluetooth, _, first in
            _ = try await listening(first)
            try await Relayd.run(
                accessory: "bluetooth:listen", environment: bluetooth.environment
            ) { second in
                let status = try await second.until("why not") { $0.accessory.reason != nil }
                #expect(status.accessory.reason?.code == "busy")
                #expect(status.accessory.reason?.message.contains("another program") == true)
            }
        }
    }

    @Test("bluetoothd that does not answer holds up nobody: not the status, not the stop")
    func silent() async throws {
        try await run("bluetooth:listen", before: ["silence"]) { bluetooth, _, relayd in
            let status = try await relayd.status()
            #expect(status.accessory.state == .opening || status.accessory.state == .waiting)
            #expect(try bluetooth.tell("registered") == "")
        }
    }

    @Test(
        "a connection that is none is refused, and the next one is taken",
        arguments: [
            ("nothing", "refused org.bluez.Error.Rejected"),
            ("number", "refused org.bluez.Error.Rejected"),
            ("file", "refused org.bluez.Error.Rejected"),
        ])
    func none(kind: String, answer: String) async throws {
        let before = ["device \(Self.unit) SYNC paired"]
        try await run("bluetooth:listen", before: before) { bluetooth, accessory, relayd in
            _ = try await listening(relayd)
            try bluetooth.tell("false \(Self.unit) \(kind)")
            _ = try await bluetooth.daemon.output.first(containing: answer)
            _ = try await listening(relayd)
            try bluetooth.tell("connect \(Self.unit) \(accessory.port)")
            let headUnit = try await accessory.nextLink()
            let app = try await relayd.connectApp()
            try await headUnit.start(1, for: app)
            try await headUnit.checkBothWays(app, session: 1, 7)
        }
    }

    @Test(
        "a thousand devices that change all the time are looked at a few times, and hold up nobody")
    func crowd() async throws {
        let before = ["device \(Self.unit) SY%1B[31mNC%0A paired"]
        try await run("bluetooth:listen", before: before) { bluetooth, accessory, relayd in
            _ = try await listening(relayd)
            try bluetooth.tell("crowd 1000")
            try bluetooth.tell("connect \(Self.unit) \(accessory.port)")
            let headUnit = try await accessory.nextLink()
            let app = try await relayd.connectApp()
            try await headUnit.start(1, for: app)
            try await headUnit.checkBothWays(app, session: 1, 7)
            let answer = try bluetooth.tell("questions")
            let questions = try #require(Int(answer))
            #expect(questions < 200, "2,000 changes, \(questions) questions")
            // A device's name cannot control a terminal, nor begin a second line in a log.
            let device = try await relayd.status().accessory.device
            #expect(device == "SY?[31mNC? (\(Self.unit))")
        }
    }

    @Test("properties of other types than they should have are as if they were not there")
    func odd() async throws {
        try await run("bluetooth:listen") { bluetooth, _, relayd in
            _ = try await listening(relayd)
            try bluetooth.tell("odd")
            let status = try await relayd.until("why not") { $0.accessory.state == .waiting }
            #expect(status.accessory.reason?.message.contains("is off") == true)
        }
    }

    @Test("a channel that another program has is told; one that is free is offered")
    func occupied() async throws {
        try await run("bluetooth:listen?channel=5", before: ["occupied 5"]) { _, _, relayd in
            let status = try await relayd.until("why not") { $0.accessory.reason != nil }
            #expect(status.accessory.reason?.code == "busy")
            #expect(status.accessory.reason?.message.contains("channel 5") == true)
        }
        try await run("bluetooth:listen?channel=6", before: ["occupied 5"]) {
            bluetooth, _, relayd in
            _ = try await listening(relayd)
            #expect(try bluetooth.tell("registered").hasPrefix("\(Self.sdl) server 6 "))
        }
    }

    @Test("no message bus at all is told with what to install")
    func noBus() async throws {
        try await Relayd.run(
            accessory: "bluetooth:listen",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"]
        ) { relayd in
            let status = try await relayd.until("why not") { $0.accessory.reason != nil }
            #expect(status.accessory.reason?.remedy.contains("dbus and bluez") == true)
        }
    }
}
