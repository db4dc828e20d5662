import SDLProtocol

/// What a `gadget:` address asks for: which controller, and what kind of phone the machine appears as.
package struct GadgetOptions: Hashable, Sendable {
    package static let names = [
        "udc", "vid", "pid", "manufacturer", "product", "serial", "start", "adb", "aoa",
    ]

    /// The address as typed, for messages.
    package let address: String
    /// A name in /sys/class/udc; nil for the only one there is.
    package private(set) var controller: String?
    package private(set) var phone = PhoneIdentity()
    /// In accessory mode from the beginning, without being asked.
    package private(set) var startsAsAccessory = false
    /// The accessory has a second interface, for debugging.
    package private(set) var hasADB = false
    /// The version of AOA that is reported to the head unit.
    package private(set) var protocolVersion: UInt16 = 2

    /// A string descriptor has one byte for its length, and two bytes for each UTF-16 unit after the two in front
    /// (USB 2.0, 9.6.7).
    package static let maximumStringUnits = 126

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: Self.names)
        guard address.path.isEmpty else {
            throw AddressError(
                "\"\(address)\" has \"\(address.path)\" after gadget:; expected \"gadget:\" alone or "
                    + "with options, as in \"gadget:?udc=NAME\"")
        }
        self.address = address.description
        controller = try Self.controller(address)
        phone.vendor = try Self.identifier(address, "vid") ?? phone.vendor
        phone.product = try Self.identifier(address, "pid") ?? phone.product
        guard phone.vendor != AndroidAccessory.vendor || phone.product & 0xFFF8 != 0x2D00
        else {
            throw AddressError(
                "pid=\(phone.product.hexDigits) in \"\(address)\" is a phone in accessory mode; for one "
                    + "that begins so, use start=accessory")
        }
        phone.manufacturer = try Self.text(address, "manufacturer") ?? phone.manufacturer
        phone.name = try Self.text(address, "product") ?? phone.name
        phone.serial = try Self.text(address, "serial")
        startsAsAccessory =
            try Self.choice(address, "start", ["phone": false, "accessory": true]) ?? false
        hasADB = try Self.choice(address, "adb", ["no": false, "yes": true]) ?? false
        protocolVersion = try Self.choice(address, "aoa", ["1": 1, "2": 2]) ?? 2
    }

    /// 18d1:2d00, or 2d01 with adb.
    package var accessoryProduct: UInt16 {
        AndroidAccessory.products[hasADB ? 1 : 0]
    }

    private static func controller(_ address: AccessoryAddress) throws(AddressError) -> String? {
        guard let name = address[option: "udc"] else { return nil }
        guard !name.isEmpty, !name.contains("/"), name != ".", name != "..", isPlain(name) else {
            throw AddressError(
                "udc=\(name) in \"\(address)\": expected the name of a USB device controller, as "
                    + "ls /sys/class/udc prints it, for example udc=fe980000.usb")
        }
        return name
    }

    private static func identifier(
        _ address: AccessoryAddress, _ option: String
    ) throws(AddressError) -> UInt16? {
        guard let text = address[option: option] else { return nil }
        guard let number = USBSelector.hexadecimal(text[...]), number != 0 else {
            throw AddressError(
                "\(option)=\(text) in \"\(address)\": expected one to four hexadecimal digits that are "
                    + "not all 0, for example \(option)=\(option == "vid" ? "04e8" : "6860")")
        }
        return number
    }

    private static func text(
        _ address: AccessoryAddress, _ option: String
    ) throws(AddressError) -> String? {
        guard let text = address[option: option] else { return nil }
        guard (1...maximumStringUnits).contains(text.utf16.count), isPlain(text) else {
            throw AddressError(
                "\(option)= in \"\(address)\": expected 1 to \(maximumStringUnits) characters on one "
                    + "line, as a USB device can have")
        }
        return text
    }

    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }

    private static func choice<Value>(
        _ address: AccessoryAddress, _ option: String, _ values: KeyValuePairs<String, Value>
    ) throws(AddressError) -> Value? {
        guard let text = address[option: option] else { return nil }
        guard let value = values.first(where: { $0.key == text })?.value else {
            let expected = values.map { "\(option)=\($0.key)" }.joined(separator: " or ")
            throw AddressError("\(option)=\(text) in \"\(address)\": expected \(expected)")
        }
        return value
    }
}

/// The phone that the machine appears as before it is an accessory.
package struct PhoneIdentity: Hashable, Sendable {
    /// Those of Google's Android phones, which every head unit has met.
    package var vendor: UInt16 = 0x18D1
    package var product: UInt16 = 0x4EE1
    package var manufacturer = "Android"
    package var name = "relayd"
    /// Nil for one derived from the machine's own identity.
    package var serial: String?

    package init() {}

    /// The serial number of this machine: head units tell phones apart by it. The same at every start, without
    /// revealing the machine's identity (machine-id(5) must not be shown): FNV-1a, 64 bits.
    package static func serial(machineID: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in Array("relayd phone ".utf8) + Array(machineID.utf8) {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return hash.hexDigits.uppercased()
    }
}
