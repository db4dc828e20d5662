import Glibc
import RelayTesting
import Synchronization
import Testing

@testable import AccessoryLinks

@Suite("relayctl setup bluetooth")
struct BluetoothSetUpTests {
    private static let off = BlueZObjects(adapters: [
        .init(path: "/org/bluez/hci0", address: "A0:00:00:00:00:01")
    ])

    private static let ready = BlueZObjects(adapters: [
        .init(
            path: "/org/bluez/hci0", address: "A0:00:00:00:00:01", isPowered: true,
            isDiscoverable: true, isPairable: true)
    ])

    /// Programs that were run.
    private let calls = Watched<[String]>([])

    private func setUp(
        _ rights: BluetoothSetUp.Rights, _ objects: BlueZObjects?, visible: Bool = false,
        switches: RadioSwitches = RadioSwitches(), hasGroup: Bool = true, failing: String? = nil
    ) -> BluetoothSetUp {
        let absent = BusFailure.refused(
            name: "org.freedesktop.DBus.Error.ServiceUnknown", words: "")
        let machine = BluetoothSetUp.Machine(
            answer: objects.map { .success($0) } ?? .failure(absent), switches: switches,
            hasGroup: hasGroup)
        return BluetoothSetUp(rights, machine, visible: visible) { [calls] command in
            calls.update { $0.append(command.joined(separator: " ")) }
            return command.first == failing ? 1 : 0
        }
    }

    @Test("a user joins the group, the adapter is switched on; undone, the user leaves")
    func member() throws {
        let todo = [
            "usermod --append --groups bluetooth pi", "rfkill unblock bluetooth",
            "bluetoothctl --timeout 10 power on", "bluetoothctl --timeout 10 pairable on",
            "bluetoothctl --timeout 10 discoverable on",
        ]
        let blocked = RadioSwitches(all: [.init(name: "hci0", isBlocked: true)])
        let new = setUp(.member("pi", isMember: false), Self.off, visible: true, switches: blocked)
        #expect(new.doing == todo)
        #expect(new.undoing == [])
        try new.perform()
        #expect(calls.value == todo)
        let old = setUp(.member("pi", isMember: true), Self.ready, visible: true)
        #expect(old.doing == [])
        #expect(
            old.undoing == [
                "gpasswd --delete pi bluetooth", "bluetoothctl --timeout 10 discoverable off",
            ])
        try old.undo()
        #expect(calls.value == todo + old.undoing)
    }

    @Test("only what is left to do is done")
    func little() {
        #expect(setUp(.root, Self.ready).doing == [])
        #expect(setUp(.root, Self.ready).undoing == [])
        #expect(setUp(.root, Self.off).doing == ["bluetoothctl --timeout 10 power on"])
        #expect(setUp(.root, BlueZObjects()).doing == [])
        #expect(setUp(.root, nil).doing == ["systemctl enable --now bluetooth"])
        // Without the group, everybody may talk to bluetoothd.
        let free = setUp(.member("pi", isMember: false), Self.ready, hasGroup: false)
        #expect(free.doing == [])
    }

    @Test("what fails is told by its command, and no right stays behind")
    func fails() throws {
        let new = setUp(
            .member("pi", isMember: false), Self.off, failing: "bluetoothctl")
        let problem = #expect(throws: LinkProblem.self) { try new.perform() }
        #expect(
            problem?.message == "bluetoothctl --timeout 10 power on: it ended with exit code 1")
        #expect(calls.value.last == "gpasswd --delete pi bluetooth")
    }

    @Test("as a service: the drop-in, which is gone after what fails, and after undoing")
    func dropIn() async throws {
        try await RelayTesting.TemporaryDirectory.run { directory in
            let shipped = try directory.write("[Service]\n", to: "bluetooth.conf")
            var dropIn = ServiceDropIn(shipped: shipped)
            dropIn.folder = directory.file("relayd.service.d")
            dropIn.reload = { 0 }
            let new = setUp(.dropIn(dropIn), Self.ready)
            #expect(new.doing == dropIn.enabling)
            try new.perform()
            #expect(dropIn.isEnabled && new.doing == [] && new.undoing == dropIn.disabling)
            try new.undo()
            #expect(access(dropIn.folder, F_OK) != 0)

            let failing = setUp(.dropIn(dropIn), nil, failing: "systemctl")
            #expect(throws: LinkProblem.self) { try failing.perform() }
            #expect(!dropIn.isEnabled)
            // systemd does not start a relayd whose group does not exist.
            let without = setUp(.dropIn(dropIn), Self.ready, hasGroup: false)
            let problem = #expect(throws: LinkProblem.self) { try without.perform() }
            #expect(problem?.remedy == "sudo apt install bluez")
            #expect(!dropIn.isEnabled)
        }
    }

    @Test(
        "programs are run without a shell, and those that do not exist are told from those that fail"
    )
    func programs() async throws {
        #expect(BluetoothSetUp.runProgram(["true", "$(false)", ";"]) == 0)
        #expect(BluetoothSetUp.runProgram(["false"]) == 1)
        #expect(BluetoothSetUp.runProgram(["no-such-program-of-bluez"]) == 127)
    }
}
