/// What bluetoothd knows: adapters of this machine, and devices that were seen or paired.
///
/// `org.freedesktop.DBus.ObjectManager` of `org.bluez`; the names are those of its interfaces
/// `org.bluez.Adapter1` and `org.bluez.Device1`.
package struct BlueZObjects: Hashable, Sendable {
    package struct Adapter: Hashable, Sendable {
        /// `/org/bluez/hci0`.
        package var path: String
        package var address = ""
        package var isPowered = false
        /// Other devices see it when they search.
        package var isDiscoverable = false
        /// Other devices may pair with it.
        package var isPairable = false
        /// The services that this machine offers there.
        package var services: [String] = []

        /// `hci0`.
        package var name: String { String(path.split(separator: "/").last ?? "") }

        /// The way people know it: `hci0 (A0:00:00:00:00:01)`.
        var words: String { "\(name) (\(address))" }
    }

    package struct Device: Hashable, Sendable {
        /// `/org/bluez/hci0/dev_00_1A_7D_DA_71_13`.
        package var path: String
        package var adapter = ""
        package var address = ""
        package var name: String?
        package var isPaired = false
        package var isBlocked = false
        /// May use other services of this machine without confirmation.
        package var isTrusted = false
        /// The services that it had when bluetoothd last looked; empty before.
        package var services: [String] = []

        /// The way people know it: `SYNC (00:1A:7D:DA:71:13)`.
        var words: String { name.map { "\($0) (\(address))" } ?? address }
    }

    package var adapters: [Adapter] = []
    package var devices: [Device] = []

    package init(adapters: [Adapter] = [], devices: [Device] = []) {
        (self.adapters, self.devices) = (adapters, devices)
    }

    /// The adapters that an address means.
    func adapters(of wish: BlueZDialogue.Wish) -> [Adapter] {
        adapters.filter { wish.adapter == nil || $0.name == wish.adapter }
    }

    /// Describes the device with this path; an unknown one by the address in the path.
    func words(device path: String) -> String {
        if let known = devices.first(where: { $0.path == path }) { return known.words }
        let name = path.split(separator: "/").last ?? ""
        return name.hasPrefix("dev_")
            ? name.dropFirst(4).split(separator: "_").joined(separator: ":") : path
    }
}

// MARK: - Reading

extension BlueZObjects {
    static let service = "org.bluez"
    static let question = BusMethod("org.freedesktop.DBus.ObjectManager", "GetManagedObjects")

    /// Asks bluetoothd once, without starting it. Blocks for five seconds at most.
    static func now() throws(BusFailure) -> BlueZObjects {
        let bus = try MessageBus()
        return try BlueZObjects(
            bus.ask(question, on: "/", of: service, within: 5, starts: false))
    }

    /// The properties that are read. Others change all the time: during a search, the strength of every signal
    /// does.
    private static let properties: Set<String> = [
        "Address", "Powered", "Discoverable", "Pairable", "UUIDs", "Adapter", "Name", "Paired",
        "Blocked", "Trusted",
    ]

    /// Whether a signal reports a change to what is read here. A signal that is not understood counts as one.
    static func areChanged(by signal: BusMessage) -> Bool {
        guard signal.member == "PropertiesChanged" else { return true }
        do throws(BusFailure) {
            var isRead = false
            _ = try signal.text()
            try signal.eachEntry("sv") { name throws(BusFailure) in
                if properties.contains(name) { isRead = true }
                try signal.skip("v")
            }
            // The properties that were invalidated.
            if isRead { return true }
            return try signal.texts().contains(where: properties.contains)
        } catch {
            return true
        }
    }

    /// The answer, `a{oa{sa{sv}}}`.
    init(_ message: BusMessage) throws(BusFailure) {
        var found = BlueZObjects()
        try message.eachEntry("oa{sa{sv}}") { path throws(BusFailure) in
            try message.eachEntry("sa{sv}") { interface throws(BusFailure) in
                switch interface {
                case "org.bluez.Adapter1":
                    found.adapters.append(try Adapter(path, message))
                case "org.bluez.Device1":
                    found.devices.append(try Device(path, message))
                default:
                    try message.skip("a{sv}")
                }
            }
        }
        // bluetoothd lists them in no particular order.
        found.adapters.sort { $0.path < $1.path }
        found.devices.sort { $0.path < $1.path }
        self = found
    }
}

extension BlueZObjects.Adapter {
    fileprivate init(_ path: String, _ message: BusMessage) throws(BusFailure) {
        var adapter = Self(path: path)
        try message.eachEntry("sv") { name throws(BusFailure) in
            switch name {
            case "Address": adapter.address = try message.variant("s", message.text) ?? ""
            case "Powered": adapter.isPowered = try message.variant("b", message.flag) ?? false
            case "Discoverable":
                adapter.isDiscoverable = try message.variant("b", message.flag) ?? false
            case "Pairable": adapter.isPairable = try message.variant("b", message.flag) ?? false
            case "UUIDs": adapter.services = try message.variant("as", message.texts) ?? []
            default: try message.skip("v")
            }
        }
        self = adapter
    }
}

extension BlueZObjects.Device {
    fileprivate init(_ path: String, _ message: BusMessage) throws(BusFailure) {
        var device = Self(path: path)
        try message.eachEntry("sv") { name throws(BusFailure) in
            switch name {
            case "Adapter": device.adapter = try message.variant("o", message.path) ?? ""
            case "Address": device.address = try message.variant("s", message.text) ?? ""
            case "Name": device.name = try message.variant("s", message.text).map(Self.printable)
            case "Paired": device.isPaired = try message.variant("b", message.flag) ?? false
            case "Blocked": device.isBlocked = try message.variant("b", message.flag) ?? false
            case "Trusted": device.isTrusted = try message.variant("b", message.flag) ?? false
            case "UUIDs": device.services = try message.variant("as", message.texts) ?? []
            default: try message.skip("v")
            }
        }
        self = device
    }
    /// A device chooses its name, up to 248 bytes; more characters than these add nothing.
    private static let nameCharacters = 64

    /// A name without the characters that a terminal or a log might obey.
    private static func printable(_ name: String) -> String {
        let clean = SystemFile.printable(name)
        return clean.count > nameCharacters ? clean.prefix(nameCharacters - 1) + "…" : clean
    }
}
