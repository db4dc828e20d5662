/// What stands between relayd and a Bluetooth link, in words.
enum BlueZProblem {
    static let noDaemon = LinkProblem(
        .absent, "bluetoothd does not run, so no Bluetooth service can be offered or looked up",
        remedy: "install the package bluez, then: systemctl enable --now bluetooth")

    static let takenBack = LinkProblem(
        .closedHere, "bluetoothd has ended the service that relayd had registered")

    static let cancelled = LinkProblem(.closedHere, "relayd stopped waiting for the head unit")

    static func connectedWithoutUs(_ address: BluetoothAddress) -> LinkProblem {
        LinkProblem(
            .other,
            "bluetoothd says that \(address) is connected, and has handed over no connection",
            remedy: "disconnect it with: bluetoothctl disconnect \(address)")
    }

    /// The device with this address, on the adapter that the user asked for.
    static func device(
        _ address: BluetoothAddress, _ wish: BlueZDialogue.Wish, _ objects: BlueZObjects
    ) -> BlueZObjects.Device? {
        let adapter = wish.adapter.map { "/org/bluez/\($0)" }
        let known = objects.devices.filter { device in
            BluetoothAddress(device.address) == address
                && (adapter == nil || device.adapter == adapter)
        }
        // The same unit may be known to two adapters, and paired with one.
        return known.first(where: \.isPaired) ?? known.first
    }

    /// The first obstacle to a link; nil when there is none.
    ///
    /// - Parameter switches: The known switches of radios.
    static func obstacle(
        to wish: BlueZDialogue.Wish, _ objects: BlueZObjects,
        _ switches: RadioSwitches = RadioSwitches()
    ) -> LinkProblem? {
        let adapters = objects.adapters(of: wish)
        guard let first = adapters.first else { return noAdapter(wish, objects, switches) }
        guard adapters.contains(where: \.isPowered) else { return isOff(first, switches) }
        guard let address = wish.device else { return nil }
        guard let device = device(address, wish, objects) else {
            return LinkProblem(
                .absent, "bluetoothd does not know \(address): it has never been paired",
                remedy: "let the head unit show that it can be paired, then: "
                    + "bluetoothctl --timeout 30 scan on, and bluetoothctl pair \(address)")
        }
        if device.isBlocked {
            return LinkProblem(
                .refused, "\(device.words) is blocked on this machine",
                remedy: "unblock it with: bluetoothctl unblock \(address)")
        }
        guard device.isPaired else { return notPaired(device.words, address) }
        if let adapter = objects.adapters.first(where: { $0.path == device.adapter }),
            !adapter.isPowered
        {
            return isOff(adapter, switches)
        }
        return nil
    }

    private static func noAdapter(
        _ wish: BlueZDialogue.Wish, _ objects: BlueZObjects, _ switches: RadioSwitches
    ) -> LinkProblem {
        // Some machines take the adapter off its bus when its radio is switched off.
        if objects.adapters.isEmpty, let blocked = switches.blocked().first {
            return LinkProblem(
                .absent,
                "this machine shows no Bluetooth adapter: its radio \(blocked.name) is switched off",
                remedy: blocked.remedy)
        }
        guard let name = wish.adapter, !objects.adapters.isEmpty else {
            return LinkProblem(
                .absent,
                wish.adapter.map { "this machine has no Bluetooth adapter \($0)" }
                    ?? "this machine has no Bluetooth adapter",
                remedy: "plug one in; relayd looks again by itself")
        }
        let names = objects.adapters.map(\.name).joined(separator: ", ")
        return LinkProblem(
            .absent, "this machine has no Bluetooth adapter \(name); it has \(names)",
            remedy: "plug it in, or correct adapter= in the address")
    }

    private static func isOff(
        _ adapter: BlueZObjects.Adapter, _ switches: RadioSwitches
    ) -> LinkProblem {
        let message = "the Bluetooth adapter \(adapter.words) is off"
        guard let blocked = switches.blocked(adapter.name).first else {
            return LinkProblem(
                .unreachable, message,
                remedy: "switch it on with: bluetoothctl power on (if that fails, first: "
                    + "rfkill unblock bluetooth)")
        }
        return LinkProblem(
            .unreachable, "\(message): its radio \(blocked.name) is switched off",
            remedy: "\(blocked.remedy), then: bluetoothctl power on")
    }

    static func taken(_ uuid: String) -> LinkProblem {
        LinkProblem(
            .busy, "another program has registered the Bluetooth service \(uuid)",
            remedy: "end it (is another relayd running?), or restart bluetoothd: "
                + "systemctl restart bluetooth")
    }

    static func occupied(_ channel: UInt8) -> LinkProblem {
        LinkProblem(
            .busy, "bluetoothd does not listen on RFCOMM channel \(channel): it is in use",
            remedy: "choose another, or leave out channel=: bluetoothd takes one that is free")
    }

    static func noService(_ words: String, _ wish: BlueZDialogue.Wish) -> LinkProblem {
        LinkProblem(
            .refused, "\(words) does not offer the service \(wish.uuid)",
            remedy: "check that SDL is switched on there; most head units connect to the phone "
                + "instead: bluetooth:listen")
    }

    private static func notPaired(_ words: String, _ address: BluetoothAddress) -> LinkProblem {
        LinkProblem(
            .refused, "\(words) is not paired with this machine",
            remedy: "pair it with: bluetoothctl pair \(address), and confirm on the head unit")
    }
}

// MARK: - What bluetoothd and the bus answer

extension BlueZProblem {
    static func explain(_ failure: BusFailure, asking what: String) -> LinkProblem {
        general(failure) ?? silence(failure)
            ?? LinkProblem(.other, "bluetoothd did not say \(what): \(failure)")
    }

    static func explain(_ failure: BusFailure, registering uuid: String) -> LinkProblem {
        if let problem = general(failure) ?? silence(failure) { return problem }
        switch failure {
        case .refused("org.bluez.Error.NotPermitted", _),
            .refused("org.bluez.Error.AlreadyExists", _):
            return taken(uuid)
        default:
            return LinkProblem(
                .other, "bluetoothd did not register the service \(uuid): \(failure)")
        }
    }

    /// The error texts of `Device1.ConnectProfile` are those of BlueZ's src/error.h, since 5.56; before that they
    /// were the system's.
    static func explain(
        _ failure: BusFailure, connecting address: BluetoothAddress, _ wish: BlueZDialogue.Wish,
        _ objects: BlueZObjects
    ) -> LinkProblem {
        if let general = general(failure) { return general }
        let words = device(address, wish, objects)?.words ?? "\(address)"
        guard case .refused(let name, let text) = failure else {
            return LinkProblem(.other, "connecting to \(words) failed: \(failure)")
        }
        switch (name, reason(text)) {
        // (Aborted by local: this is how Linux 6.12 ends bluetoothd's search for records, 40 s after a page that
        // was not answered.)
        case (_, "page-timeout"), (_, "timeout"), (_, "aborted-by-local"), (_, "abort-by-local"),
            (_, "Host is down"), (_, "Connection timed out"),
            ("org.freedesktop.DBus.Error.NoReply", _):
            return LinkProblem(
                .timedOut, "\(words) did not answer",
                remedy: "check that the head unit is on and in range")
        // (Not supported: its records have no such service any more, or one without a channel.)
        case (_, "profile-unavailable"), (_, "not-supported"),
            ("org.bluez.Error.NotAvailable", _),
            ("org.bluez.Error.DoesNotExist", _):
            return noService(words, wish)
        case (_, "refused"), (_, "Connection refused"),
            (_, "aborted-by-remote"), (_, "abort-by-remote"):
            return LinkProblem(
                .refused, "\(words) did not accept the connection",
                remedy: "check that no phone is connected to it, and that it still has the pairing")
        case (_, "key-missing"), ("org.bluez.Error.AuthenticationFailed", _),
            ("org.bluez.Error.AuthenticationRejected", _), (_, "Permission denied"):
            return LinkProblem(
                .refused, "\(words) has forgotten the pairing with this machine",
                remedy:
                    "pair again: bluetoothctl remove \(address), then bluetoothctl pair \(address)")
        case (_, "adapter-not-powered"), ("org.bluez.Error.NotReady", _):
            return LinkProblem(
                .unreachable, "the Bluetooth adapter is off",
                remedy: "switch it on with: bluetoothctl power on (if that fails, first: "
                    + "rfkill unblock bluetooth)")
        case ("org.bluez.Error.InProgress", _), (_, "busy"):
            return LinkProblem(
                .busy, "bluetoothd is busy connecting to \(words); relayd tries again")
        case ("org.freedesktop.DBus.Error.UnknownObject", _):
            return LinkProblem(
                .absent, "bluetoothd has forgotten \(words)",
                remedy: "pair it again: bluetoothctl pair \(address)")
        default:
            return LinkProblem(.other, "connecting to \(words) failed: \(failure)")
        }
    }

    /// The reason in an error text of bluetoothd. The texts for both kinds of radio link begin alike, and a search
    /// for records that failed is reported as one of either kind.
    private static func reason(_ text: String) -> String {
        for kind in ["br-connection-", "le-connection-"] where text.hasPrefix(kind) {
            return String(text.dropFirst(kind.count))
        }
        return text
    }

    /// For calls that bluetoothd can answer alone: there was no reply.
    private static func silence(_ failure: BusFailure) -> LinkProblem? {
        guard case .refused("org.freedesktop.DBus.Error.NoReply", _) = failure else { return nil }
        return LinkProblem(
            .timedOut, "bluetoothd does not answer",
            remedy: "see whether it runs: systemctl status bluetooth; else restart it: "
                + "systemctl restart bluetooth")
    }

    /// For any call: bluetoothd is not there to answer, or may not be asked.
    private static func general(_ failure: BusFailure) -> LinkProblem? {
        switch failure {
        case .system(_, let error):
            return LinkProblem(
                .absent,
                "bluetoothd cannot be reached: \(systemMessage(error)) on the system's message bus",
                remedy:
                    "install the packages dbus and bluez, then: systemctl enable --now bluetooth")
        case .refused(let name, let words):
            switch name {
            case "org.freedesktop.DBus.Error.ServiceUnknown",
                "org.freedesktop.DBus.Error.NameHasNoOwner",
                "org.freedesktop.systemd1.NoSuchUnit",
                "org.freedesktop.DBus.Error.Spawn.ServiceNotFound",
                "org.freedesktop.DBus.Error.Spawn.ChildExited",
                "org.freedesktop.DBus.Error.TimedOut",
                "org.freedesktop.DBus.Error.Disconnected":
                return noDaemon
            case "org.freedesktop.DBus.Error.AccessDenied":
                return LinkProblem(
                    .permissionDenied, "relayd's user may not talk to bluetoothd: \(words)",
                    remedy: "sudo relayctl setup bluetooth, or allow it in a file in "
                        + "/etc/dbus-1/system.d")
            default:
                return nil
            }
        }
    }
}
