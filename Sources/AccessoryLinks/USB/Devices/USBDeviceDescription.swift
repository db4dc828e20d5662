import SDLProtocol

/// A USB device's own description, in plain values: `USBContext` makes it from what the kernel keeps; everything
/// that decides, and `relayctl devices`, looks at it. No device is opened for it.
package struct USBDeviceDescription: Hashable, Sendable {
    /// One setting of one interface.
    package struct Interface: Hashable, Sendable {
        package var number: UInt8
        package var alternate: UInt8 = 0
        /// bInterfaceClass; 0xFF is "vendor specific".
        package var classCode: UInt8
        package var subclass: UInt8 = 0
        package var protocolCode: UInt8 = 0
        package var endpoints: [Endpoint]
        /// The kernel driver that holds the interface, such as `cdc_acm`.
        package var driver: String?
        /// iInterface as the kernel read it, such as `MTP`.
        package var name: String?
    }

    package struct Endpoint: Hashable, Sendable {
        /// Transfer type, the lowest two bits of bmAttributes (USB 2.0, table 9-13).
        package enum Kind: UInt8, Sendable {
            case control, isochronous, bulk, interrupt
        }

        /// bEndpointAddress: bit 7 set means towards the host.
        package var address: UInt8
        package var kind: Kind
        /// wMaxPacketSize without its upper bits, in bytes.
        package var packetBytes: Int

        package var isIn: Bool { address & 0x80 != 0 }
    }

    package var bus: UInt8
    /// The device number on its bus, which changes each time it is plugged in.
    package var number: UInt8
    /// Ports from the root hub down; empty for a root hub itself.
    package var ports: [UInt8]
    package var vendor: UInt16
    package var product: UInt16
    /// iSerialNumber, iManufacturer and iProduct as the kernel read them.
    package var serial: String?
    package var manufacturer: String?
    package var productName: String?
    /// False until a configuration has been chosen; then there are no interfaces.
    package var isConfigured: Bool = true
    /// Every setting of every interface of the active configuration, in descriptor order.
    package var interfaces: [Interface] = []

    /// `18d1:2d00`, as lsusb prints it.
    package var identifier: String { USBText.identifier(vendor, product) }

    /// Where it is plugged in, as the kernel names it: `1-2.3`. Stays the same as long as it is plugged into the
    /// same socket.
    package var portPath: String {
        guard !ports.isEmpty else { return "usb\(bus)" }
        return "\(bus)-" + ports.map { "\($0)" }.joined(separator: ".")
    }

    /// The node in /dev through which the device is opened.
    package var nodePath: String {
        "/dev/bus/usb/\(USBText.threeDigits(bus))/\(USBText.threeDigits(number))"
    }

    /// A name for people, with its place: `OpenXC Vehicle Interface at port 1-2`.
    package var placeAndName: String { "\(productName ?? identifier) at port \(portPath)" }
}

/// Numbers in the usual notation for USB.
package enum USBText {
    package static func identifier(_ vendor: UInt16, _ product: UInt16) -> String {
        "\(vendor.hexDigits):\(product.hexDigits)"
    }

    /// `0x82`, an endpoint or a class.
    package static func byte(_ value: UInt8) -> String { "0x\(value.hexDigits)" }

    package static func threeDigits(_ value: UInt8) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, 3 - text.count)) + text
    }
}
