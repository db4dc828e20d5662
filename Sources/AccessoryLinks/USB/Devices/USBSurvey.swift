/// What is plugged in and what relayd would make of it: the USB part of `relayctl devices`, as values.
package struct USBSurvey: Sendable {
    package enum Use: Hashable, Sendable {
        /// relayd would open these pipes of the device.
        case opens(USBPipes)
        /// relayd would switch the device into accessory mode.
        case switches
        /// The device fits, but so does another one.
        case ambiguous
        /// Why relayd would not use it, as half a sentence.
        case no(String)
    }

    package struct Row: Sendable {
        package let device: USBDeviceDescription
        /// The shortest address that means this device and no other that is plugged in.
        package let address: String
        package let use: Use
        /// False when the permissions of its node keep this user out.
        package let mayOpen: Bool
        /// The line of a udev rule that would let it be opened; only when that would help.
        package let rule: String?
        /// A kernel driver has the interface, and the address does not ask to detach it.
        package let isHeldByDriver: Bool
        /// The tty that the driver made of it, under its permanent name if it has one.
        package let tty: String?
        /// The use that may be meant instead, as one sentence; only where no address was asked for.
        package let hint: String?
    }

    package let rows: [Row]
    /// The address that a running relayd is set to, and the port of the device that it means; nil for none.
    package let accessory: (address: String, port: String?)?
    /// Why the address that was asked for cannot be opened; nil when it can, or was not given.
    package let problem: LinkProblem?
    /// Whose rights decide what may be opened, worded for a sentence.
    package let user: String

    /// - Parameters:
    ///   - selector: nil to judge every device by an address of its own.
    ///   - accessory: the address that a running relayd is set to.
    ///   - user: whose rights `mayOpen` checks.
    ///   - mayOpen: asks the file system.
    ///   - rule: the udev rule for a device.
    ///   - tty: the node that a driver made of a device.
    package init(
        devices: [USBDeviceDescription], selector: USBSelector?, accessory: USBSelector? = nil,
        user: String = USBAccessRule.judgedUser,
        mayOpen: (USBDeviceDescription) -> Bool, rule: (USBDeviceDescription) -> String,
        tty: (USBDeviceDescription) -> String? = { _ in nil }
    ) {
        self.user = user
        // Root hubs belong to the computer itself.
        let devices = devices.filter { !$0.ports.isEmpty }
        var problem: LinkProblem?
        if let selector {
            do throws(LinkProblem) {
                _ = try selector.choose(among: devices)
            } catch {
                problem = error
            }
        }
        self.accessory = accessory.map { accessory in
            let choice = try? accessory.choose(among: devices)
            return (accessory.address, choice?.device.portPath)
        }
        let isAmbiguous = problem?.code == .ambiguous
        rows = devices.map { device in
            let address = Self.address(of: device, among: devices)
            let meant = selector ?? Self.selector(address)
            let use = Self.use(of: device, meant, isAmbiguous)
            var isHeld = false
            if case .opens(let pipes) = use {
                isHeld = pipes.driver != nil && meant?.detachesDriver != true
            }
            let mayOpen = mayOpen(device)
            let isOfUse = if case .no = use { false } else { true }
            return Row(
                device: device, address: address, use: use, mayOpen: mayOpen,
                rule: isOfUse && !mayOpen ? rule(device) : nil, isHeldByDriver: isHeld,
                tty: tty(device),
                hint: selector == nil ? Self.hint(device, address) : nil)
        }
        if problem == nil, selector != nil, let row = rows.first(where: { $0.rule != nil }) {
            problem = LinkProblem(
                .permissionDenied,
                "\(row.device.nodePath) may not be opened by \(user)",
                remedy: "use the udev rule above")
        }
        self.problem = problem
    }

    /// Whether relayd could open the address, if one was given.
    package var isReady: Bool { problem == nil }

    private static func use(
        of device: USBDeviceDescription, _ selector: USBSelector?, _ isAmbiguous: Bool
    ) -> Use {
        guard let selector else { return .no("it has no address") }
        switch selector.verdict(on: device) {
        case .opens(let pipes): return isAmbiguous ? .ambiguous : .opens(pipes)
        case .switches: return isAmbiguous ? .ambiguous : .switches
        case .unusable(let reason), .other(let reason): return .no(reason)
        }
    }

    private static func hint(_ device: USBDeviceDescription, _ address: String) -> String? {
        guard device.looksLikePhone else { return nil }
        let separator = address.contains("?") ? "&" : "?"
        return "if it is an Android phone, relayd switches it to accessory mode as "
            + "\(address)\(separator)aoa=switch"
    }

    private static func selector(_ address: String) -> USBSelector? {
        try? USBSelector(AccessoryAddress(address))
    }

    /// Devices with a name are addressed by it; several that are alike by a serial number, else by the port.
    static func address(
        of device: USBDeviceDescription, among devices: [USBDeviceDescription]
    ) -> String {
        let isAccessory = device.isInAccessoryMode
        let alike = devices.filter {
            isAccessory
                ? $0.isInAccessoryMode : $0.identifier == device.identifier
        }
        let name =
            isAccessory
            ? "aoa" : device.identifier == "1bc4:0001" ? "openxc" : device.identifier
        guard alike.count > 1 else { return "usb:\(name)" }
        if let serial = device.serial, alike.count(where: { $0.serial == serial }) == 1,
            serial.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x25 && $0 != 0x26 })
        {
            return "usb:\(name)?serial=\(serial)"
        }
        return "usb:\(name)?bus=\(device.portPath)"
    }
}

extension USBSurvey {
    /// What is plugged in at this moment. Blocks, but opens no device.
    ///
    /// - Parameter seen: what a running relayd reported about its devices; its rights then decide.
    package static func now(
        selector: USBSelector? = nil, accessory: USBSelector? = nil,
        judgedBy seen: DeviceList? = nil
    ) throws(LinkProblem) -> USBSurvey {
        let ttys = SerialSurvey().devices
        return USBSurvey(
            devices: try USBContext().list(), selector: selector, accessory: accessory,
            user: seen == nil ? USBAccessRule.judgedUser : "the running relayd",
            mayOpen: { device in
                seen?.usb.first { $0.node == device.nodePath }?.mayOpen
                    ?? USBAccessRule.mayOpen(device)
            },
            rule: { USBAccessRule.line(vendor: $0.vendor, product: $0.product) },
            tty: { device in
                ttys.first { $0.usbPort == device.portPath }.map { $0.link ?? $0.node }
            })
    }
}

// MARK: - JSON

extension USBSurvey {
    /// The document of `relayctl usb --json`, an older name of `relayctl devices`, and part of the
    /// answer to `GET /v1/devices`; `API.md` has its fields, which are only ever added to.
    package struct Document: Codable, Sendable {
        package struct Device: Codable, Sendable {
            package let id: String
            package let port: String
            package let node: String
            package let name: String?
            package let manufacturer: String?
            package let serial: String?
            package let address: String
            /// `opens`, `switches`, `ambiguous` or `no`.
            package let use: String
            /// Why the device is not used.
            package let reason: String?
            package let interface: Int?
            package let alternate: Int?
            package let endpointIn: String?
            package let endpointOut: String?
            package let driver: String?
            package let mayOpen: Bool
            package let udevRule: String?
            package let hint: String?

            enum CodingKeys: String, CodingKey {
                case id, port, node, name, manufacturer, serial, address, use, reason
                case interface, alternate, driver, hint
                case endpointIn = "endpoint_in"
                case endpointOut = "endpoint_out"
                case mayOpen = "may_open"
                case udevRule = "udev_rule"
            }
        }

        /// Version of the JSON layout: 1.
        package let schema: Int
        package let devices: [Device]
        package let problem: String?
        package let remedy: String?
        /// The address that a running relayd is set to, and the port of its device.
        package let accessory: String?
        package let accessoryPort: String?

        enum CodingKeys: String, CodingKey {
            case schema, devices, problem, remedy, accessory
            case accessoryPort = "accessory_port"
        }
    }

    package var document: Document {
        Document(
            schema: 1, devices: rows.map { $0.json }, problem: problem?.message,
            remedy: problem?.remedy, accessory: accessory?.address, accessoryPort: accessory?.port)
    }
}

extension USBSurvey.Row {
    fileprivate var json: USBSurvey.Document.Device {
        var pipes: USBPipes?
        var reason: String?
        let word: String
        switch use {
        case .opens(let found): (word, pipes) = ("opens", found)
        case .switches: word = "switches"
        case .ambiguous: word = "ambiguous"
        case .no(let why): (word, reason) = ("no", why)
        }
        return .init(
            id: device.identifier, port: device.portPath, node: device.nodePath,
            name: device.productName, manufacturer: device.manufacturer, serial: device.serial,
            address: address, use: word, reason: reason, interface: pipes.map { Int($0.interface) },
            alternate: pipes.map { Int($0.alternate) },
            endpointIn: pipes.map { USBText.byte($0.endpointIn) },
            endpointOut: pipes.map { USBText.byte($0.endpointOut) }, driver: pipes?.driver,
            mayOpen: mayOpen, udevRule: rule, hint: hint)
    }
}
