// Devices for the tests of decisions about USB.

@testable import AccessoryLinks

typealias USBDevice = USBDeviceDescription

extension USBDeviceDescription.Endpoint {
    static func bulk(_ address: UInt8) -> Self {
        Self(address: address, kind: .bulk, packetBytes: 512)
    }
    static func interrupt(_ address: UInt8) -> Self {
        Self(address: address, kind: .interrupt, packetBytes: 64)
    }
}

extension USBDeviceDescription {
    /// An OpenXC vehicle interface as PIC32 firmware describes it: OUT first, then the log.
    static func openXC(port: UInt8 = 1, number: UInt8 = 5) -> Self {
        Self(
            bus: 1, number: number, ports: [port], vendor: 0x1BC4, product: 1,
            manufacturer: "Ford Motor Company", productName: "OpenXC Vehicle Interface",
            interfaces: [
                Interface(
                    number: 0, classCode: 0xFF, subclass: 0xFF, protocolCode: 0xFF,
                    endpoints: [.bulk(0x05), .bulk(0x8B), .bulk(0x82)])
            ])
    }

    /// A phone that offers its pictures and adb.
    static func phone(ports: [UInt8] = [2, 3], serial: String? = "PHONE1") -> Self {
        Self(
            bus: 1, number: 7, ports: ports, vendor: 0x04E8, product: 0x6860, serial: serial,
            productName: "Phone",
            interfaces: [
                Interface(
                    number: 0, classCode: 0x06, subclass: 1, protocolCode: 1,
                    endpoints: [.bulk(0x81), .bulk(0x01), .interrupt(0x82)]),
                Interface(
                    number: 1, classCode: 0xFF, subclass: 0x42, protocolCode: 1,
                    endpoints: [.bulk(0x83), .bulk(0x02)]),
            ])
    }

    /// The same phone in accessory mode with adb; adb comes first, which makes the choice harder.
    static func accessory(
        product: UInt16 = 0x2D01, ports: [UInt8] = [2, 3], serial: String? = "PHONE1"
    ) -> Self {
        Self(
            bus: 1, number: 8, ports: ports, vendor: 0x18D1, product: product, serial: serial,
            productName: "Phone",
            interfaces: [
                Interface(
                    number: 0, classCode: 0xFF, subclass: 0x42, protocolCode: 1,
                    endpoints: [.bulk(0x83), .bulk(0x03)]),
                Interface(
                    number: 1, classCode: 0xFF, subclass: 0xFF,
                    endpoints: [.bulk(0x81), .bulk(0x02)]),
            ])
    }

    /// A board with a serial interface, whose control interface comes first, and a mouse.
    static let board = Self(
        bus: 2, number: 3, ports: [4], vendor: 0x2341, product: 0x0043, serial: "B1",
        interfaces: [
            Interface(
                number: 0, classCode: 0x02, endpoints: [.interrupt(0x82)], driver: "cdc_acm"),
            Interface(
                number: 1, classCode: 0x0A, endpoints: [.bulk(0x04), .bulk(0x83)],
                driver: "cdc_acm"),
        ])
    static let mouse = Self(
        bus: 1, number: 2, ports: [9], vendor: 0x046D, product: 0xC077,
        interfaces: [Interface(number: 0, classCode: 3, endpoints: [.interrupt(0x81)])])

    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

func selector(_ text: String) throws -> USBSelector {
    try USBSelector(AccessoryAddress(text))
}
