/// What a `usb:` address asks for: which device, which of its interfaces and endpoints, and how to speak to it.
/// Read from the address here; `USBSelector+Choice` finds the device.
package struct USBSelector: Hashable, Sendable {
    package enum Device: Hashable, Sendable {
        /// `usb:VID:PID`
        case identifier(vendor: UInt16, product: UInt16)
        /// `usb:openxc`: an OpenXC vehicle interface.
        case openXC
        /// `usb:aoa`: a phone that is already in accessory mode.
        case accessoryMode
    }

    package static let optionNames =
        [
            "serial", "bus", "interface", "alt", "in", "out", "aoa", "detach", "zlp",
        ] + identityOptionNames

    /// AOA's six strings; the last one is not the phone's own serial number.
    private static let identityOptionNames = [
        "manufacturer", "model", "description", "version", "uri", "aoa-serial",
    ]

    package let device: Device
    /// The address as typed, for messages.
    package let address: String
    package private(set) var serial: String?
    /// `1-2.3`; the option is called "bus".
    package private(set) var portPath: String?
    package private(set) var interface: UInt8?
    package private(set) var alternate: UInt8?
    package private(set) var endpointIn: UInt8?
    package private(set) var endpointOut: UInt8?
    /// The device is a phone to be switched into accessory mode.
    package private(set) var switchesToAccessory = false
    package private(set) var identity = AndroidAccessory.Identity()
    /// A kernel driver that has the interface is detached, and reattached afterwards.
    package private(set) var detachesDriver = false
    private var zeroLengthPackets: Bool?

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: Self.optionNames)
        self.address = address.description
        device = try Self.parseDevice(address)
        serial = address[option: "serial"]
        portPath = try Self.parsePortPath(address)
        interface = try Self.number(address, "interface")
        alternate = try Self.number(address, "alt")
        endpointIn = try Self.endpoint(address, "in", isIn: true)
        endpointOut = try Self.endpoint(address, "out", isIn: false)
        detachesDriver = try Self.flag(address, "detach") ?? false
        zeroLengthPackets = try Self.flag(address, "zlp")
        try readAccessoryOptions(address)
    }

    /// Whether a transfer that fills its last packet is followed by an empty one. An accessory's
    /// driver waits for more when the last packet was full, so phones get them; other devices
    /// rarely expect an empty packet.
    package var sendsZeroLengthPackets: Bool {
        zeroLengthPackets ?? (device == .accessoryMode || switchesToAccessory)
    }

    /// Vendor and product, if the address means exactly one pair.
    package var identifier: (vendor: UInt16, product: UInt16)? {
        switch device {
        case .identifier(let vendor, let product): (vendor, product)
        case .openXC: (Self.openXC.vendor, Self.openXC.product)
        case .accessoryMode: nil
        }
    }

    /// OpenXC firmware 6 and later (OpenXC firmware documentation, "USB"). The third endpoint,
    /// 0x8b, is a debugging log and must not be taken for the messages.
    private static let openXC = (
        vendor: UInt16(0x1BC4), product: UInt16(0x0001), in: UInt8(0x82), out: UInt8(0x05)
    )

    /// OpenXC firmware up to 5.
    static let oldOpenXC = (in: UInt8(0x81), out: UInt8(0x02))

    /// The endpoints that are meant on this device: those of the address, and for `usb:openxc` those of its
    /// firmware. Nil for any.
    package func endpoints(of found: USBDeviceDescription) -> (in: UInt8?, out: UInt8?) {
        guard device == .openXC else { return (endpointIn, endpointOut) }
        let offered = Set(
            found.interfaces.flatMap(\.endpoints).filter { $0.kind == .bulk }.map(\.address))
        let isOld =
            !offered.contains(Self.openXC.in) && offered.contains(Self.oldOpenXC.in)
            && offered.contains(Self.oldOpenXC.out)
        return (
            endpointIn ?? (isOld ? Self.oldOpenXC.in : Self.openXC.in),
            endpointOut ?? (isOld ? Self.oldOpenXC.out : Self.openXC.out)
        )
    }
}

// MARK: - Reading

extension USBSelector {
    private static func parseDevice(_ address: AccessoryAddress) throws(AddressError) -> Device {
        switch address.path.lowercased() {
        case "openxc": return .openXC
        case "aoa": return .accessoryMode
        case "":
            throw AddressError(
                "\"\(address)\" names no device; expected usb:VID:PID as lsusb prints it, "
                    + "usb:openxc or usb:aoa, for example \"usb:1bc4:0001\"; "
                    + "relayctl devices lists what is plugged in")
        default: break
        }
        let parts = address.path.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let vendor = hexadecimal(parts[0]),
            let product = hexadecimal(parts[1])
        else {
            throw AddressError(
                "\"\(address.path)\" in \"\(address)\" is not a USB device; expected VID:PID, four "
                    + "hexadecimal digits each, as in \"usb:1bc4:0001\", or usb:openxc or usb:aoa")
        }
        return .identifier(vendor: vendor, product: product)
    }

    static func hexadecimal(_ text: Substring) -> UInt16? {
        let digits = text.lowercased().hasPrefix("0x") ? text.dropFirst(2) : text
        guard (1...4).contains(digits.utf8.count), !digits.hasPrefix("+"), !digits.hasPrefix("-")
        else { return nil }
        return UInt16(digits, radix: 16)
    }

    private static func parsePortPath(_ address: AccessoryAddress) throws(AddressError) -> String? {
        guard let text = address[option: "bus"] else { return nil }
        let halves = text.split(separator: "-", omittingEmptySubsequences: false)
        let ports = halves.last?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard halves.count == 2, UInt8(halves[0]) != nil,
            ports.allSatisfy({ UInt8($0) != nil })
        else {
            throw AddressError(
                "bus=\(text) in \"\(address)\": expected a bus and the ports on the way, "
                    + "as in bus=1-2.3; relayctl devices shows them")
        }
        return text
    }

    private static func number(
        _ address: AccessoryAddress, _ option: String
    ) throws(AddressError) -> UInt8? {
        guard let text = address[option: option] else { return nil }
        guard let number = UInt8(text) else {
            throw AddressError(
                "\(option)=\(text) in \"\(address)\": expected a whole number from 0 to 255")
        }
        return number
    }

    private static func endpoint(
        _ address: AccessoryAddress, _ option: String, isIn: Bool
    ) throws(AddressError) -> UInt8? {
        guard let text = address[option: option] else { return nil }
        let isHex = text.lowercased().hasPrefix("0x")
        let number = isHex ? UInt8(text.dropFirst(2), radix: 16) : UInt8(text)
        let example = isIn ? "0x82" : "0x05"
        guard let number, (1...15).contains(number & 0x7F) else {
            throw AddressError(
                "\(option)=\(text) in \"\(address)\": expected the address of an endpoint, "
                    + "as in \(option)=\(example)")
        }
        guard (number & 0x80 != 0) == isIn else {
            throw AddressError(
                "\(option)=\(text) in \"\(address)\" is an \(isIn ? "OUT" : "IN") endpoint; "
                    + "did you mean \(option)=\(USBText.byte(number ^ 0x80))?")
        }
        return number
    }

    private static func flag(
        _ address: AccessoryAddress, _ option: String
    ) throws(AddressError) -> Bool? {
        switch address[option: option] {
        case nil: return nil
        case "yes": return true
        case "no": return false
        case .some(let text):
            throw AddressError(
                "\(option)=\(text) in \"\(address)\": expected \(option)=yes or \(option)=no")
        }
    }

    private mutating func readAccessoryOptions(_ address: AccessoryAddress) throws(AddressError) {
        if let text = address[option: "aoa"] {
            guard text == "switch" else {
                throw AddressError("aoa=\(text) in \"\(address)\": expected aoa=switch")
            }
            guard case .identifier = device else {
                throw AddressError(
                    "aoa=switch in \"\(address)\" needs the phone's own VID:PID, "
                        + "as in \"usb:04e8:6860?aoa=switch\"; no other phone is touched")
            }
            switchesToAccessory = true
        }
        for option in Self.identityOptionNames {
            guard let text = address[option: option] else { continue }
            guard switchesToAccessory else {
                throw AddressError(
                    "\(option)= in \"\(address)\" is only for a phone that is switched to accessory "
                        + "mode; add aoa=switch, or leave it out")
            }
            guard text.utf8.count < AndroidAccessory.maximumStringBytes, !text.isEmpty else {
                throw AddressError(
                    "\(option)= in \"\(address)\" has \(text.utf8.count) bytes; expected 1 to "
                        + "\(AndroidAccessory.maximumStringBytes - 1)")
            }
            switch option {
            case "manufacturer": identity.manufacturer = text
            case "model": identity.model = text
            case "description": identity.description = text
            case "version": identity.version = text
            case "uri": identity.uri = text
            default: identity.serial = text
            }
        }
    }
}
