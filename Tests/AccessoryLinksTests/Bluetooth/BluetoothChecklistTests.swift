import Glibc
import RelayTesting
import Testing

@testable import AccessoryLinks

@Suite("What a Bluetooth link needs of this machine")
struct BluetoothChecklistTests {
    private static let unit = BluetoothAddress("00:1A:7D:DA:71:0F")
    private static let uuid = BluetoothTransport.sdlService
    private static let listening = BlueZDialogue.Wish(uuid: uuid)
    private static let connecting = BlueZDialogue.Wish(device: unit, uuid: uuid)

    private static let adapter = BlueZObjects.Adapter(
        path: "/org/bluez/hci0", address: "A0:00:00:00:00:01", isPowered: true,
        isDiscoverable: true, isPairable: true, services: [uuid])

    private static func device(_ number: Int = 0x0F) -> BlueZObjects.Device {
        BlueZObjects.Device(
            path: "/org/bluez/hci0/dev_\(number)", adapter: "/org/bluez/hci0",
            address: "00:1A:7D:DA:71:\(number < 16 ? "0" : "")"
                + String(number, radix: 16, uppercase: true),
            name: "SYNC", isPaired: true, isTrusted: true)
    }

    private static func objects(
        _ change: (inout BlueZObjects) -> Void = { _ in }
    ) -> BlueZObjects {
        var objects = BlueZObjects(adapters: [adapter], devices: [device()])
        change(&objects)
        return objects
    }

    private static func checks(
        _ wish: BlueZDialogue.Wish, _ objects: BlueZObjects,
        _ switches: RadioSwitches = RadioSwitches(),
        registrar: BluetoothChecklist.Registrar = .relayd
    ) -> [BluetoothChecklist.Check] {
        BluetoothChecklist(wish, .success(objects), switches, registrar: registrar).checks
    }

    @Test("where nothing is missing, what was found is said")
    func good() {
        let found = Self.checks(Self.listening, Self.objects())
        #expect(
            found.map(\.text) == [
                "bluetoothd runs, and hci0 (A0:00:00:00:00:01) is on",
                "paired with this machine: SYNC (00:1A:7D:DA:71:0F)",
                "bluetoothd offers relayd's service to head units",
            ])
        #expect(found.allSatisfy { $0.verdict == .good })
        let other = Self.checks(Self.connecting, Self.objects())
        #expect(other.last?.text == "SYNC (00:1A:7D:DA:71:0F) is paired with this machine")
        #expect(other.allSatisfy { $0.verdict == .good })
    }

    @Test("the first thing that is missing comes last, with the command that cures it")
    func missing() {
        let cases: [(BlueZDialogue.Wish, BlueZObjects, text: String, remedy: String)] = [
            (
                Self.listening, Self.objects { $0.adapters = [] }, "has no Bluetooth adapter",
                "plug one in"
            ),
            (
                Self.listening, Self.objects { $0.adapters[0].isPowered = false },
                "hci0 (A0:00:00:00:00:01) is off", "bluetoothctl power on"
            ),
            (
                Self.listening,
                Self.objects {
                    $0.devices[0].isPaired = false
                    $0.adapters[0].isDiscoverable = false
                }, "nothing is paired, and a head unit cannot see hci0",
                "bluetoothctl discoverable on"
            ),
            (
                Self.listening,
                Self.objects {
                    $0.devices = []
                    $0.adapters[0].isPairable = false
                }, "nothing is paired, and nobody may pair with hci0",
                "bluetoothctl pairable on"
            ),
            (
                Self.listening, Self.objects { $0.devices = [] },
                "nothing is paired; a head unit can see hci0", "choose this machine"
            ),
            (
                // Paired with another adapter than the one that is on.
                Self.listening, Self.objects { $0.devices[0].adapter = "/org/bluez/hci1" },
                "nothing is paired; a head unit can see hci0", "choose this machine"
            ),
            (
                Self.listening, Self.objects { $0.devices[0].isBlocked = true },
                "all that is paired is blocked: SYNC (00:1A:7D:DA:71:0F)",
                "bluetoothctl unblock 00:1A:7D:DA:71:0F"
            ),
            (
                Self.listening, Self.objects { $0.adapters[0].services = [] },
                "does not offer its service", "relayctl reopen"
            ),
            (
                Self.connecting, Self.objects { $0.devices = [] }, "does not know",
                "bluetoothctl pair 00:1A:7D:DA:71:0F"
            ),
            (
                Self.connecting, Self.objects { $0.devices[0].isPaired = false }, "is not paired",
                "bluetoothctl pair 00:1A:7D:DA:71:0F"
            ),
            (
                Self.connecting, Self.objects { $0.devices[0].isBlocked = true }, "is blocked",
                "bluetoothctl unblock 00:1A:7D:DA:71:0F"
            ),
        ]
        for (wish, objects, text, remedy) in cases {
            let found = Self.checks(wish, objects)
            #expect(found.last?.verdict == .missing, "\(text)")
            #expect(found.last?.text.contains(text) == true, "\(found)")
            #expect(found.last?.remedy?.contains(remedy) == true, "\(found)")
            #expect(found.dropLast().allSatisfy { $0.verdict == .good })
        }
    }

    @Test("what may work all the same is a hint")
    func doubtful() {
        let stranger = Self.objects { $0.devices[0].isTrusted = false }
        for wish in [Self.listening, Self.connecting] {
            let found = Self.checks(wish, stranger).filter { $0.verdict != .good }
            #expect(found.map(\.verdict) == [.doubtful])
            #expect(found[0].text.contains("paired and not trusted: SYNC"))
            #expect(found[0].remedy == "bluetoothctl trust 00:1A:7D:DA:71:0F")
        }
        let other = Self.objects {
            $0.devices[0].services = ["0000110b-0000-1000-8000-00805f9b34fb"]
        }
        let found = Self.checks(Self.connecting, other)
        #expect(found.last?.verdict == .doubtful)
        #expect(found.last?.text.contains("does not offer the service \(Self.uuid)") == true)
        #expect(found.last?.remedy?.contains("bluetooth:listen") == true)
    }

    @Test("many devices are counted, not listed")
    func many() {
        let found = Self.checks(
            Self.listening, Self.objects { $0.devices = (1...1000).map { Self.device($0 % 256) } })
        #expect(found[1].text.hasSuffix("and 997 more"))
        #expect(found[1].text.utf8.count < 150)
    }

    @Test("a service that is offered while relayd does not run is another program's")
    func registrars() {
        let objects = Self.objects()
        #expect(Self.checks(Self.listening, objects, registrar: .others).last?.verdict == .missing)
        #expect(
            Self.checks(Self.listening, objects, registrar: .others).last?.text.hasPrefix(
                "another program has registered") == true)
        let none = Self.objects { $0.adapters[0].services = [] }
        for registrar in [BluetoothChecklist.Registrar.others, .unknown] {
            let found = Self.checks(Self.listening, none, registrar: registrar)
            #expect(found.allSatisfy { $0.verdict == .good })
        }
    }

    @Test("radios that are switched off are named, with who can switch them on")
    func radios() {
        let off = Self.objects { $0.adapters[0].isPowered = false }
        let soft = RadioSwitches(all: [.init(name: "hci0", isBlocked: true)])
        let found = Self.checks(Self.listening, off, soft)[0]
        #expect(
            found.text
                == "the Bluetooth adapter hci0 (A0:00:00:00:00:01) is off: its radio hci0 is switched off"
        )
        #expect(found.remedy == "rfkill unblock bluetooth, then: bluetoothctl power on")
        let hard = RadioSwitches(all: [.init(name: "hci0", isBlockedByHand: true)])
        #expect(Self.checks(Self.listening, off, hard)[0].remedy?.contains("key or switch") == true)
        // The switch of another adapter.
        let other = RadioSwitches(all: [.init(name: "hci1", isBlocked: true)])
        #expect(Self.checks(Self.listening, off, other)[0].text.hasSuffix("is off"))
        let none = Self.objects { $0.adapters = [] }
        let key = RadioSwitches(all: [.init(name: "tpacpi_bluetooth_sw", isBlocked: true)])
        #expect(
            Self.checks(Self.listening, none, key)[0].text
                == "this machine shows no Bluetooth adapter: its radio tpacpi_bluetooth_sw is switched off"
        )
    }

    @Test("a bluetoothd that does not answer, or not to us")
    func failures() {
        func checks(_ failure: BusFailure, _ wish: BlueZDialogue.Wish = Self.listening)
            -> [BluetoothChecklist.Check]
        {
            BluetoothChecklist(wish, .failure(failure), RadioSwitches(), registrar: .unknown).checks
        }
        let absent = BusFailure.refused(
            name: "org.freedesktop.DBus.Error.ServiceUnknown", words: "no such name")
        #expect(checks(absent).map(\.verdict) == [.missing])
        #expect(checks(absent)[0].remedy?.contains("systemctl enable --now bluetooth") == true)
        let noBus = checks(.system("no bus", errno: 2))
        #expect(noBus.map(\.verdict) == [.missing])
        #expect(noBus[0].remedy?.contains("dbus and bluez") == true)
        let forbidden = checks(
            .refused(name: "org.freedesktop.DBus.Error.AccessDenied", words: "no"))
        #expect(forbidden.map(\.verdict) == [.doubtful])
        #expect(forbidden[0].remedy == "ask as root: sudo relayctl doctor")
        // For a channel, relayd connects without bluetoothd.
        let channel = BlueZDialogue.Wish(device: Self.unit, uuid: Self.uuid, channel: 5)
        #expect(checks(absent, channel).map(\.verdict) == [.doubtful])
        let unknown = Self.checks(channel, Self.objects { $0.devices = [] })
        #expect(unknown.map(\.verdict) == [.doubtful])
    }

    @Test("switches are read where the kernel shows them; other radios are passed over")
    func reading() async throws {
        try await RelayTesting.TemporaryDirectory.run { directory in
            let radios = [
                ("rfkill0", ["type": "wlan", "name": "phy0", "soft": "1", "hard": "0"]),
                ("rfkill1", ["type": "bluetooth", "name": "hci0", "soft": "1", "hard": "0"]),
                ("rfkill2", ["type": "bluetooth", "name": "hci1", "soft": "0", "hard": "1"]),
                // A switch that disappears while it is being read.
                ("rfkill3", ["type": "bluetooth"]),
            ]
            var made: [String] = []
            func makeFolder(_ name: String) {
                mkdir(directory.file(name), 0o755)
                made.append(directory.file(name))
            }
            for folder in ["sys", "sys/class", "sys/class/rfkill"] { makeFolder(folder) }
            for (radio, files) in radios {
                makeFolder("sys/class/rfkill/\(radio)")
                for (file, text) in files {
                    made.append(
                        try directory.write("\(text)\n", to: "sys/class/rfkill/\(radio)/\(file)"))
                }
            }
            defer { for path in made.reversed() { remove(path) } }
            let root = String(directory.file("sys").dropLast(4))
            #expect(
                RadioSwitches.now(in: root).all == [
                    .init(name: "hci0", isBlocked: true),
                    .init(name: "hci1", isBlockedByHand: true),
                    .init(name: "rfkill3"),
                ])
            #expect(RadioSwitches.now(in: root).blocked().map(\.name) == ["hci0", "hci1"])
            #expect(RadioSwitches.now(in: root + "/none").all == [])
        }
    }
}
