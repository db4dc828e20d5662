// relayctl doctor and relayctl setup, where the head unit is to be reached by Bluetooth.

import ControlAPI
import Foundation
import RelayTesting
import Testing

@Suite(
    "relayctl doctor for Bluetooth", .serialized,
    .enabled("needs apt-get install dbus python3-dbus python3-gi") {
        await FakeBluetooth.isAvailable.value
    })
struct BluetoothDoctorTests {
    private static let unit = "00:1A:7D:DA:71:0F"

    private struct Answer: Decodable {
        struct Check: Decodable {
            var name: String
            var state: String
            var text: String
            var remedy: String?
        }
        var checks: [Check]
        var broken: String?

        /// The checks of Bluetooth, as "state: text".
        var bluetooth: [String] {
            checks.filter { $0.name == "bluetooth" }.map { "\($0.state): \($0.text)" }
        }
    }

    /// Asks a relayd, or looks for one where there is none.
    private func doctor(
        _ bluetooth: FakeBluetooth, _ socket: String, _ arguments: String...
    ) async throws -> Answer {
        var environment = bluetooth.environment
        environment[ControlSocket.environmentVariable] = socket
        let found = try await Program.relayctl.run(
            ["doctor", "--json"] + arguments, environment: environment)
        return try JSONDecoder().decode(Answer.self, from: Data(found.output.utf8))
    }

    @Test(
        "a phone that waits: not visible, nothing paired, not trusted, and then only the head unit is missing"
    )
    func listening() async throws {
        try await FakeBluetooth.run { bluetooth in
            try await Relayd.run(
                accessory: "bluetooth:listen", environment: bluetooth.environment
            ) { relayd in
                try await relayd.until("it listens") { $0.accessory.state == .listening }
                let on = "ok: bluetoothd runs, and hci0 (A0:00:00:00:00:01) is on"
                var found = try await doctor(bluetooth, relayd.controlSocket)
                #expect(found.broken == "bluetooth")
                #expect(
                    found.bluetooth == [
                        on,
                        "broken: nothing is paired, and a head unit cannot see hci0 (A0:00:00:00:00:01)",
                    ])
                #expect(found.checks.last?.remedy?.contains("bluetoothctl discoverable on") == true)
                try bluetooth.tell("adapter visible")
                found = try await doctor(bluetooth, relayd.controlSocket)
                #expect(found.bluetooth.last?.contains("a head unit can see hci0") == true)
                // Devices choose their names: they are shown without terminal control characters.
                try bluetooth.tell("device \(Self.unit) SY%1B[31mNC paired")
                found = try await doctor(bluetooth, relayd.controlSocket)
                #expect(found.bluetooth.count == 4 && found.bluetooth[2].hasPrefix("hint: "))
                #expect(found.checks.contains { $0.remedy == "bluetoothctl trust \(Self.unit)" })
                #expect(
                    found.bluetooth[3] == "ok: bluetoothd offers relayd's service to head units")
                #expect(found.broken == "head unit")
                let text = try await Program.relayctl.run(
                    ["doctor", "--socket", relayd.controlSocket],
                    environment: bluetooth.environment)
                #expect(text.output.contains("NC (\(Self.unit))"), "\(text.output)")
                #expect(!text.output.unicodeScalars.contains { $0.value == 0x1B })
                #expect(text.ending == .exited(1))
            }
        }
    }

    @Test(
        "without relayd: by the address of the configuration file, or one that is given; nothing is changed"
    )
    func alone() async throws {
        try await FakeBluetooth.run { bluetooth in
            try await TemporaryDirectory.run { directory in
                let socket = directory.file("x.sock")
                let file = try directory.write(
                    "listen: [\"127.0.0.1:0\"]\naccessory: \"bluetooth:\(Self.unit)\"\n",
                    to: "relayd.yaml")
                let unknown = try await doctor(bluetooth, socket, "--config", file)
                #expect(unknown.broken == "daemon")
                #expect(
                    unknown.bluetooth == [
                        "hint: bluetoothd does not know \(Self.unit): it has never been paired"
                    ])
                for (words, text) in [
                    ("unpaired", "is not paired"), ("paired blocked", "is blocked"),
                ] {
                    try bluetooth.tell("device \(Self.unit) SYNC \(words)")
                    let found = try await doctor(bluetooth, socket, "--config", file)
                    #expect(found.bluetooth.count == 1)
                    #expect(found.bluetooth[0].contains(text), "\(found.bluetooth)")
                }
                try bluetooth.tell("device \(Self.unit) SYNC paired trusted")
                let paired = try await doctor(bluetooth, socket, "--config", file)
                #expect(
                    paired.bluetooth.last?.hasPrefix("ok: SYNC (\(Self.unit)) is paired") == true)
                try bluetooth.tell("adapter off")
                let off = try await doctor(
                    bluetooth, socket, "--accessory", "bluetooth:listen")
                #expect(off.bluetooth.count == 1 && off.bluetooth[0].contains("is off"))
                let other = try await doctor(bluetooth, socket, "--accessory", "sim:")
                #expect(other.bluetooth == [])
                #expect(try bluetooth.tell("registered") == "")
            }
        }
    }

    @Test("no bluetoothd, no message bus")
    func nobody() async throws {
        try await FakeBluetooth.run { bluetooth in
            try await TemporaryDirectory.run { directory in
                let socket = directory.file("x.sock")
                let arguments = ["doctor", "--socket", socket, "--accessory", "bluetooth:listen"]
                let none = try await Program.relayctl.run(
                    arguments,
                    environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
                #expect(
                    none.output.contains("install the packages dbus and bluez"), "\(none.output)")
                try bluetooth.tell("stop")
                _ = try await bluetooth.daemon.ended()
                let gone = try await Program.relayctl.run(
                    arguments, environment: bluetooth.environment)
                #expect(gone.output.contains("bluetoothd does not run"), "\(gone.output)")
                #expect(gone.output.contains("systemctl enable --now bluetooth"))
                #expect(gone.ending == .exited(2))
                let wrong = try await Program.relayctl.run([
                    "doctor", "--accessory", "bluetooth:SYNC",
                ])
                #expect(wrong.ending == .exited(64))
            }
        }
    }

    @Test(
        "setup says what it would do, as far as it is left to do, and asks nobody without a terminal"
    )
    func setUp() async throws {
        try await FakeBluetooth.run { bluetooth in
            try bluetooth.tell("adapter off")
            let arguments = ["setup", "bluetooth", "--user", "root", "--visible"]
            let dry = try await Program.relayctl.run(
                arguments + ["--dry-run"], environment: bluetooth.environment)
            #expect(dry.ending == .exited(0))
            #expect(dry.output.contains("  bluetoothctl --timeout 10 power on"), "\(dry.output)")
            #expect(dry.output.contains("  bluetoothctl --timeout 10 discoverable on"))
            let json = try await Program.relayctl.run(
                arguments + ["--dry-run", "--json"], environment: bluetooth.environment)
            #expect(json.output.contains("\"role\" : \"bluetooth\""), "\(json.output)")
            let mute = try await Program.relayctl.run(
                arguments, environment: bluetooth.environment)
            #expect(mute.ending == .exited(64))
            try bluetooth.tell("adapter on")
            let done = try await Program.relayctl.run(
                ["setup", "bluetooth", "--user", "root"], environment: bluetooth.environment)
            #expect(done.output == "It is set up already.")
            let undone = try await Program.relayctl.run(
                ["setup", "bluetooth", "--user", "root", "--undo"],
                environment: bluetooth.environment)
            #expect(undone.output == "Nothing is set up.")
        }
    }
}
