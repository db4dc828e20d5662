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
        package var isDiscoverable = false

        /// `hci0`.
        package var name: String { String(path.split(separator: "/").last ?? "") }
    }

    package struct Device: Hashable, Sendable {
        /// `/org/bluez/hci0/dev_00_1A_7D_DA_71_13`.
        package var path: String
        package var adapter = ""
        package var address = ""
        package var name: String?
        package var isPaired = false
        package var isBlocked = false

        /// The way people know it: `SYNC (00:1A:7D:DA:71:13)`.
        var words: String { name.map { "\($0) (\(address))" } ?? address }
    }

    package var adapters: [Adapter] = []
    package var devices: [Device] = []

    package init(adapters: [Adapter] = [], devices: [Device] = []) {
        (self.adapters, self.devices) = (adapters, devices)
    }

    /// The device with this path, or what its path says of it.
    func words(device path: String) -> String {
        if let known = devices.first(where: { $0.path == path }) { return known.words }
        let name = path.split(separator: "/").last ?? ""
        return name.hasPrefix("dev_")
            ? name.dropFirst(4).split(separator: "_").joined(separator: ":") : path
    }
}

// MARK: - Reading

extension BlueZObjects {
    static let question = BusMethod("org.freedesktop.DBus.ObjectManager", "GetManagedObjects")

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
        // In whatever order bluetoothd has them.
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
            case "Name": device.name = try message.variant("s", message.text)
            case "Paired": device.isPaired = try message.variant("b", message.flag) ?? false
            case "Blocked": device.isBlocked = try message.variant("b", message.flag) ?? false
            default: try message.skip("v")
            }
        }
        self = device
    }
}
