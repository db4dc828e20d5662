import Testing

@testable import AccessoryLinks

// Replies and errors are those of BlueZ 5.66.

@Suite("What relayd and bluetoothd say to each other")
struct BlueZDialogueTests {
    private static let uuid = BluetoothTransport.sdlService
    private static let path = "/org/bluez/hci0/dev_00_1A_7D_DA_71_0F"
    private static let place = "Bluetooth adapter hci0 (A0:00:00:00:00:01): the SDL service"

    private static func objects(
        powered: Bool = true, discoverable: Bool = false, paired: Bool = true,
        blocked: Bool = false,
        known: Bool = true
    ) -> BlueZObjects {
        BlueZObjects(
            adapters: [
                .init(
                    path: "/org/bluez/hci0", address: "A0:00:00:00:00:01", isPowered: powered,
                    isDiscoverable: discoverable)
            ],
            devices: known
                ? [
                    .init(
                        path: path, adapter: "/org/bluez/hci0", address: "00:1A:7D:DA:71:0F",
                        name: "SYNC", isPaired: paired, isBlocked: blocked)
                ] : [])
    }

    private static func refused(_ name: String, _ words: String = "") -> BusFailure {
        .refused(name: name, words: words)
    }

    /// The dialogue of a phone that listens.
    private static func listening() -> BlueZDialogue {
        var dialogue = BlueZDialogue(.init(uuid: uuid))
        #expect(dialogue.receive(.begun) == [.askForObjects])
        #expect(dialogue.receive(.objects(.success(objects()))) == [.register])
        #expect(dialogue.receive(.registered(nil)) == [.listening(at: place)])
        return dialogue
    }

    /// The dialogue of a phone that connects.
    private static func connecting() -> BlueZDialogue {
        var dialogue = BlueZDialogue(
            .init(device: BluetoothAddress("00:1A:7D:DA:71:0F"), uuid: uuid))
        #expect(dialogue.receive(.begun) == [.askForObjects])
        #expect(dialogue.receive(.objects(.success(objects()))) == [.register])
        #expect(dialogue.receive(.registered(nil)) == [.connect(device: path)])
        return dialogue
    }

    private static func problem(_ actions: [BlueZDialogue.Action]) -> LinkProblem? {
        guard case .fail(let problem) = actions.first, actions.last == .end else { return nil }
        return problem
    }

    // MARK: Waiting for the head unit

    @Test("it registers, waits, and takes the first that connects; a second is refused")
    func listens() {
        var dialogue = Self.listening()
        #expect(
            dialogue.receive(.connected(device: Self.path))
                == [.take(device: "SYNC (00:1A:7D:DA:71:0F)")])
        #expect(
            dialogue.receive(.connected(device: "/org/bluez/hci0/dev_00_00_00_00_00_02"))
                == [.refuse("SYNC (00:1A:7D:DA:71:0F) is connected already")])
        #expect(dialogue.receive(.linkEnded) == [.end])
        // The thread may report one more connection before it ends.
        #expect(
            dialogue.receive(.connected(device: Self.path))
                == [.refuse("relayd has stopped listening")])
    }

    @Test("a unit that bluetoothd has not named is known by its path")
    func unnamed() {
        var dialogue = Self.listening()
        #expect(
            dialogue.receive(.connected(device: "/org/bluez/hci0/dev_00_00_00_00_00_02"))
                == [.take(device: "00:00:00:00:00:02")])
    }

    @Test("the link lives without bluetoothd, and ends when bluetoothd says so")
    func linked() {
        var dialogue = Self.listening()
        _ = dialogue.receive(.connected(device: Self.path))
        #expect(dialogue.receive(.daemonLeft) == [])
        #expect(dialogue.receive(.released) == [])
        #expect(dialogue.receive(.cancelled) == [])
        #expect(dialogue.receive(.changed) == [])
        #expect(dialogue.receive(.disconnectAsked(device: "/org/bluez/hci0/dev_other")) == [])
        #expect(dialogue.receive(.disconnectAsked(device: Self.path)) == [.hangUp])
    }

    @Test("who is on another adapter than the one that is asked for is refused")
    func otherAdapter() {
        var dialogue = BlueZDialogue(.init(uuid: Self.uuid, adapter: "hci0"))
        _ = dialogue.receive(.begun)
        _ = dialogue.receive(.objects(.success(Self.objects())))
        _ = dialogue.receive(.registered(nil))
        #expect(
            dialogue.receive(.connected(device: "/org/bluez/hci01/dev_00_00_00_00_00_02"))
                == [.refuse("relayd waits on adapter hci0")])
        #expect(
            dialogue.receive(.connected(device: Self.path))
                == [.take(device: "SYNC (00:1A:7D:DA:71:0F)")])
    }

    @Test(
        "while it waits, changes are looked at; news is told once, an adapter that is off ends it")
    func changes() {
        var dialogue = Self.listening()
        #expect(dialogue.receive(.changed) == [.askForObjects])
        #expect(dialogue.receive(.objects(.success(Self.objects()))) == [])
        let hint =
            "; nothing is paired, and the head unit cannot see this machine: "
            + "bluetoothctl discoverable on"
        #expect(
            dialogue.receive(.objects(.success(Self.objects(paired: false))))
                == [.listening(at: Self.place + hint)])
        let visible = "; nothing is paired yet, pair the head unit with this machine"
        #expect(
            dialogue.receive(
                .objects(.success(Self.objects(discoverable: true, paired: false))))
                == [.listening(at: Self.place + visible)])
        let ended = dialogue.receive(.objects(.success(Self.objects(powered: false))))
        #expect(Self.problem(ended)?.code == .unreachable)
        #expect(Self.problem(ended)?.remedy?.contains("bluetoothctl power on") == true)
        #expect(dialogue.receive(.cancelled) == [])
    }

    @Test("a channel that is in use is told, though bluetoothd says that all is well")
    func occupied() {
        for isOffered in [true, false] {
            var dialogue = BlueZDialogue(.init(uuid: Self.uuid, channel: 5))
            _ = dialogue.receive(.begun)
            _ = dialogue.receive(.objects(.success(Self.objects())))
            #expect(dialogue.receive(.registered(nil)) == [.askForObjects])
            var objects = Self.objects()
            objects.adapters[0].services = isOffered ? [Self.uuid] : []
            let next = dialogue.receive(.objects(.success(objects)))
            if isOffered {
                #expect(next == [.listening(at: Self.place + " on channel 5")])
            } else {
                #expect(Self.problem(next)?.code == .busy)
                #expect(Self.problem(next)?.message.contains("channel 5: it is in use") == true)
            }
        }
    }

    @Test("however much changes, bluetoothd is asked once at a time, and once more at the end")
    func floods() {
        var dialogue = Self.listening()
        #expect(dialogue.receive(.changed) == [.askForObjects])
        for _ in 0..<1000 { #expect(dialogue.receive(.changed) == []) }
        #expect(dialogue.receive(.objects(.success(Self.objects()))) == [.askForObjects])
        #expect(dialogue.receive(.objects(.success(Self.objects()))) == [])
        // An answer that comes twice triggers no question.
        #expect(dialogue.receive(.objects(.success(Self.objects()))) == [])
        #expect(dialogue.receive(.changed) == [.askForObjects])
    }

    @Test("bluetoothd leaves, takes the service back, or relayd stops: there is no link")
    func ends() {
        var dialogue = Self.listening()
        #expect(Self.problem(dialogue.receive(.daemonLeft))?.code == .absent)
        dialogue = Self.listening()
        #expect(Self.problem(dialogue.receive(.released))?.code == .closedHere)
        dialogue = Self.listening()
        #expect(Self.problem(dialogue.receive(.cancelled))?.code == .closedHere)
    }

    // MARK: Connecting

    @Test("it looks the unit up, connects, and has the link before bluetoothd's answer")
    func connects() {
        var dialogue = Self.connecting()
        #expect(
            dialogue.receive(.connected(device: Self.path))
                == [.take(device: "SYNC (00:1A:7D:DA:71:0F)")])
        #expect(dialogue.receive(.connectAnswered(nil)) == [])
        #expect(dialogue.receive(.linkEnded) == [.end])
    }

    @Test("an answer without a connection is no link")
    func empty() {
        var dialogue = Self.connecting()
        #expect(Self.problem(dialogue.receive(.connectAnswered(nil)))?.code == .other)
    }

    @Test(
        "why a unit did not connect, in words",
        arguments: [
            ("org.bluez.Error.Failed", "br-connection-page-timeout", "timed_out", "did not answer"),
            ("org.bluez.Error.Failed", "Host is down", "timed_out", "did not answer"),
            // BlueZ 5.66 on Linux 6.12, when its search for service records gets no answer.
            (
                "org.bluez.Error.Failed", "le-connection-abort-by-local", "timed_out",
                "did not answer"
            ),
            ("org.bluez.Error.Failed", "br-connection-refused", "refused", "did not accept"),
            (
                "org.bluez.Error.NotAvailable", "br-connection-profile-unavailable", "refused",
                "does not offer the service \(BluetoothTransport.sdlService)"
            ),
            ("org.bluez.Error.DoesNotExist", "Does Not Exist", "refused", "does not offer"),
            ("org.bluez.Error.Failed", "br-connection-not-supported", "refused", "does not offer"),
            (
                "org.bluez.Error.Failed", "br-connection-key-missing", "refused",
                "forgotten the pairing"
            ),
            (
                "org.bluez.Error.NotReady", "br-connection-adapter-not-powered", "unreachable",
                "is off"
            ),
            ("org.bluez.Error.InProgress", "In Progress", "busy", "is busy"),
            (
                "org.freedesktop.DBus.Error.UnknownObject",
                "Method \"ConnectProfile\" doesn't exist", "absent", "has forgotten"
            ),
            ("org.bluez.Error.Failed", "something new", "other", "something new"),
        ])
    func refusals(name: String, text: String, code: String, words: String) throws {
        var dialogue = Self.connecting()
        let ended = dialogue.receive(.connectAnswered(Self.refused(name, text)))
        let problem = try #require(Self.problem(ended))
        #expect(problem.code.rawValue == code)
        #expect(problem.message.contains(words), "\(problem)")
    }

    // MARK: Obstacles

    @Test("what is missing is said before anything is tried")
    func obstacles() throws {
        let cases: [(BlueZObjects, String, String)] = [
            (BlueZObjects(), "absent", "has no Bluetooth adapter"),
            (Self.objects(powered: false), "unreachable", "is off"),
            (Self.objects(known: false), "absent", "has never been paired"),
            (Self.objects(paired: false), "refused", "SYNC (00:1A:7D:DA:71:0F) is not paired"),
            (Self.objects(blocked: true), "refused", "is blocked"),
        ]
        for (objects, code, words) in cases {
            var dialogue = BlueZDialogue(
                .init(device: BluetoothAddress("00:1A:7D:DA:71:0F"), uuid: Self.uuid))
            _ = dialogue.receive(.begun)
            let problem = try #require(Self.problem(dialogue.receive(.objects(.success(objects)))))
            #expect(problem.code.rawValue == code)
            #expect(problem.message.contains(words), "\(problem)")
            #expect(problem.remedy != nil)
        }
        var dialogue = BlueZDialogue(.init(uuid: Self.uuid, adapter: "hci1"))
        _ = dialogue.receive(.begun)
        let missing = Self.problem(dialogue.receive(.objects(.success(Self.objects()))))
        #expect(missing?.message == "this machine has no Bluetooth adapter hci1; it has hci0")
    }

    @Test("a unit that two adapters know is taken where it is paired")
    func twoAdapters() {
        let other = "/org/bluez/hci1/dev_00_1A_7D_DA_71_0F"
        var objects = Self.objects(paired: false)
        objects.adapters.append(
            .init(path: "/org/bluez/hci1", address: "A0:00:00:00:00:02", isPowered: true))
        objects.devices.append(
            .init(
                path: other, adapter: "/org/bluez/hci1", address: "00:1a:7d:da:71:0f",
                isPaired: true))
        var dialogue = BlueZDialogue(
            .init(device: BluetoothAddress("00:1A:7D:DA:71:0F"), uuid: Self.uuid))
        _ = dialogue.receive(.begun)
        #expect(dialogue.receive(.objects(.success(objects))) == [.register])
        #expect(dialogue.receive(.registered(nil)) == [.connect(device: other)])
    }

    @Test(
        "bluetoothd that is absent, forbidden or occupied",
        arguments: [
            ("org.freedesktop.DBus.Error.ServiceUnknown", "absent", "bluetoothd does not run"),
            ("org.freedesktop.DBus.Error.NameHasNoOwner", "absent", "bluetoothd does not run"),
            ("org.freedesktop.systemd1.NoSuchUnit", "absent", "bluetoothd does not run"),
            ("org.freedesktop.DBus.Error.AccessDenied", "permission_denied", "may not talk"),
            ("org.bluez.Error.NotPermitted", "busy", "another program has registered"),
            ("org.bluez.Error.AlreadyExists", "busy", "another program has registered"),
            ("org.bluez.Error.InvalidArguments", "other", "did not register"),
            ("org.freedesktop.DBus.Error.NoReply", "timed_out", "bluetoothd does not answer"),
            ("org.freedesktop.DBus.Error.TimedOut", "absent", "bluetoothd does not run"),
        ])
    func daemon(name: String, code: String, words: String) throws {
        var dialogue = BlueZDialogue(.init(uuid: Self.uuid))
        _ = dialogue.receive(.begun)
        _ = dialogue.receive(.objects(.success(Self.objects())))
        let ended = dialogue.receive(.registered(Self.refused(name)))
        let problem = try #require(Self.problem(ended))
        #expect(problem.code.rawValue == code)
        #expect(problem.message.contains(words), "\(problem)")
    }

    @Test("what comes too late or was not asked for changes nothing")
    func late() {
        var dialogue = Self.listening()
        #expect(dialogue.receive(.registered(nil)) == [])
        #expect(dialogue.receive(.connectAnswered(nil)) == [])
        var early = BlueZDialogue(.init(uuid: Self.uuid))
        #expect(
            early.receive(.connected(device: Self.path)) == [.refuse("relayd has not asked for it")]
        )
    }
}
