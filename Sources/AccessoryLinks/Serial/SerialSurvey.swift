import Glibc

/// The ttys that have a device behind them, as values: part of the answer to `GET /v1/devices`. None is opened: the
/// facts come from /sys and from the modes of the nodes.
package struct SerialSurvey: Sendable {
    package struct Device: Codable, Hashable, Sendable {
        /// The node, such as "/dev/ttyUSB0"; it can change each time the device is plugged in.
        package let node: String
        /// The name that udev made for it, which does not change.
        package let link: String?
        package let address: String
        /// The kernel's driver.
        package let driver: String?
        /// For a USB device: the name that it gives itself, its vendor and product, and its port.
        package let name: String?
        package let usbID: String?
        package let usbPort: String?
        /// Whether this process may open it.
        package let mayOpen: Bool
        /// Why not, and what to do.
        package let reason: String?
        package let remedy: String?

        enum CodingKeys: String, CodingKey {
            case node, link, address, driver, name
            case usbID = "usb_id"
            case usbPort = "usb_port"
            case mayOpen = "may_open"
            case reason, remedy
        }
    }

    package let devices: [Device]

    /// Surveys the machine.
    ///
    /// - Parameters:
    ///   - root: where the file system begins; tests use their own.
    ///   - asService: whether root, who may open everything, asks on behalf of relayd's service, if there is one.
    package init(in root: String = "", asService: Bool = false) {
        let links = Self.links(in: root)
        devices = DeviceNode.entries(of: root + "/sys/class/tty").sorted().compactMap { name in
            Self.device(name, links, in: root, asService)
        }
    }

    /// Why the tty at `path` may not be opened, by relayd's service when root asks; nil when it may. The tty is not
    /// opened.
    package static func problem(opening path: String) -> LinkProblem? {
        let node = DeviceNode(path)
        return node.problemOfAccess(asService: true)
            ?? (node.isCharacterDevice ? nil : node.notATerminal())
    }

    /// The adapters that are plugged in, as "/dev/ttyACM0 (FTDI FT232R)": only what the kernel reports in /sys, and
    /// nothing that may take time.
    ///
    /// - Parameter root: As for `init`.
    static func plugged(in root: String = "") -> [String] {
        DeviceNode.entries(of: root + "/sys/class/tty").sorted().compactMap { name in
            let folder = "\(root)/sys/class/tty/\(name)/device"
            guard let usb = FilePath.resolved(folder).flatMap(usbDevice) else { return nil }
            // A device can give itself any name.
            let words = ["manufacturer", "product"].compactMap { SystemFile.line("\(usb)/\($0)") }
            let called = String(words.joined(separator: " ").filter(\.isPlain).prefix(60))
            return "/dev/" + name.split(separator: "!").joined(separator: "/")
                + (called.isEmpty ? "" : " (\(called))")
        }
    }

    private static func device(
        _ name: String, _ links: [String: String], in root: String, _ asService: Bool
    ) -> Device? {
        let folder = "\(root)/sys/class/tty/\(name)"
        let isBluetooth = name.hasPrefix("rfcomm")
        let hardware = FilePath.resolved("\(folder)/device")
        // Consoles, and UARTs that the kernel only makes room for (type 0: PORT_UNKNOWN).
        guard hardware != nil || isBluetooth, SystemFile.line("\(folder)/type") != "0" else {
            return nil
        }
        // A "!" in /sys stands for a "/" in the node's name.
        let node = "/dev/" + name.split(separator: "!").joined(separator: "/")
        let link = FilePath.resolved(root + node).flatMap { links[$0] }
        let usb = hardware.flatMap { usbDevice(above: $0) }
        let problem = DeviceNode(root + node).problemOfAccess(asService: asService)
        return Device(
            node: node, link: link, address: "\(isBluetooth ? "rfcomm" : "serial"):\(link ?? node)",
            driver: SystemFile.linkName("\(folder)/device/driver"),
            name: usb.flatMap { SystemFile.line("\($0)/product") },
            usbID: usb.flatMap { folder in
                SystemFile.line("\(folder)/idVendor").flatMap { vendor in
                    SystemFile.line("\(folder)/idProduct").map { "\(vendor):\($0)" }
                }
            },
            usbPort: usb.flatMap { $0.split(separator: "/").last.map { String($0) } },
            mayOpen: problem == nil, reason: problem?.message, remedy: problem?.remedy)
    }

    /// Names under /dev/serial/by-id, by the node they lead to.
    private static func links(in root: String) -> [String: String] {
        var links: [String: String] = [:]
        for name in DeviceNode.entries(of: root + "/dev/serial/by-id").sorted() {
            // Names with characters that an address cannot contain as they are.
            let isPlain = name.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && ![0x23, 0x25, 0x26, 0x3F].contains($0)
            }
            let path = "/dev/serial/by-id/\(name)"
            guard isPlain, let node = FilePath.resolved(root + path), links[node] == nil else {
                continue
            }
            links[node] = path
        }
        return links
    }

    /// A USB tty lies some levels below its device: tty, port of the adapter, interface, device.
    private static func usbDevice(above path: String) -> String? {
        var parts = path.split(separator: "/")
        for _ in 0..<levelsToUSBDevice {
            let folder = "/" + parts.joined(separator: "/")
            if SystemFile.line("\(folder)/idVendor") != nil { return folder }
            guard parts.popLast() != nil else { return nil }
        }
        return nil
    }

    private static let levelsToUSBDevice = 4
}

extension Character {
    /// An ASCII letter, digit or sign, or a blank.
    fileprivate var isPlain: Bool { asciiValue.map { (0x20..<0x7F).contains($0) } ?? false }
}

/// Paths as the file system sees them.
private enum FilePath {
    /// The path without symbolic links; nil when nothing exists there.
    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
