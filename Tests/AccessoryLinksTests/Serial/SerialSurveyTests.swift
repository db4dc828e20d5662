import Foundation
import RelayTesting
import Testing

@testable import AccessoryLinks

@Suite("What ttys have a device behind them")
struct SerialSurveyTests {
    /// Runs `body` on a file system with a USB adapter, a built-in UART, a UART that is not present, a console
    /// and an RFCOMM node.
    private func run(_ body: (String) throws -> Void) throws {
        let files = FileManager.default
        let root = files.temporaryDirectory.appending(path: "ttys-\(UUID().uuidString)").path
        defer { try? files.removeItem(atPath: root) }
        func write(_ text: String, _ path: String) throws {
            let place = URL(filePath: root + path)
            try files.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: place, atomically: true, encoding: .utf8)
        }
        func link(_ path: String, to target: String) throws {
            try files.createDirectory(
                at: URL(filePath: root + path).deletingLastPathComponent(),
                withIntermediateDirectories: true)
            try files.createSymbolicLink(atPath: root + path, withDestinationPath: target)
        }
        let adapter = "/sys/devices/usb1/1-2"
        try write("0403\n", "\(adapter)/idVendor")
        try write("6001\n", "\(adapter)/idProduct")
        try write("FTDI\n", "\(adapter)/manufacturer")
        try write("FT232R USB UART\n", "\(adapter)/product")
        try write("", "\(adapter)/1-2:1.0/ttyUSB0/uevent")
        try link("\(adapter)/1-2:1.0/ttyUSB0/driver", to: root + "/sys/drivers/ftdi_sio")
        try link("/sys/class/tty/ttyUSB0/device", to: root + "\(adapter)/1-2:1.0/ttyUSB0")
        try write("", "/dev/ttyUSB0")
        try link("/dev/serial/by-id/usb-FTDI_FT232R-if00-port0", to: "../../ttyUSB0")
        try link("/dev/serial/by-id/usb-odd?name", to: "../../ttyUSB0")
        for (name, type) in [("ttyS0", "4\n"), ("ttyS1", "0\n")] {
            try write("", "/sys/devices/\(name)/uevent")
            try write(type, "/sys/class/tty/\(name)/type")
            try link("/sys/class/tty/\(name)/device", to: root + "/sys/devices/\(name)")
        }
        try write("", "/dev/ttyS1")
        try write("", "/sys/class/tty/console/active")
        try write("", "/dev/console")
        try write("", "/sys/class/tty/rfcomm0/dev")
        try write("", "/dev/rfcomm0")
        try body(root)
    }

    @Test("a USB adapter is told with its lasting name, its driver and the device it is part of")
    func adapter() throws {
        try run { root in
            let found = try #require(
                SerialSurvey(in: root).devices.first { $0.node == "/dev/ttyUSB0" })
            #expect(found.link == "/dev/serial/by-id/usb-FTDI_FT232R-if00-port0")
            #expect(found.address == "serial:/dev/serial/by-id/usb-FTDI_FT232R-if00-port0")
            #expect(found.driver == "ftdi_sio" && found.name == "FT232R USB UART")
            #expect(found.usbID == "0403:6001" && found.usbPort == "1-2")
            #expect(found.mayOpen && found.reason == nil && found.remedy == nil)
        }
    }

    @Test("an absent node is told with the adapters that are there") func others() throws {
        let node = DeviceNode("/dev/ttyUSB9")
        try run { root in
            // Built-in UARTs and RFCOMM nodes are not mistaken for a plugged-in adapter.
            #expect(SerialSurvey.plugged(in: root) == ["/dev/ttyUSB0 (FTDI FT232R USB UART)"])
            #expect(
                node.absent(others: SerialSurvey.plugged(in: root)).message
                    == "/dev/ttyUSB9 does not exist; there is /dev/ttyUSB0 (FTDI FT232R USB UART)")
        }
        for (others, words) in [
            ([], ""), (["a", "b"], "; there are a and b"),
            (["a", "b", "c"], "; there are a, b and c"),
            (["a", "b", "c", "d", "e"], "; there are a, b, c and 2 more"),
        ] {
            #expect(node.absent(others: others).message == "/dev/ttyUSB9 does not exist" + words)
        }
    }

    @Test("consoles and UARTs without hardware are left out; RFCOMM has its own kind of address")
    func leftOut() throws {
        try run { root in
            let found = SerialSurvey(in: root).devices
            #expect(found.map(\.node) == ["/dev/rfcomm0", "/dev/ttyS0", "/dev/ttyUSB0"])
            #expect(found[0].address == "rfcomm:/dev/rfcomm0")
            #expect(found[1].address == "serial:/dev/ttyS0" && found[1].usbID == nil)
        }
    }

    @Test("what cannot be opened has the reason and the remedy") func reason() throws {
        try run { root in
            // The kernel knows the device, but no node has been made for it.
            let found = SerialSurvey(in: root).devices[1]
            #expect(!found.mayOpen && found.reason?.hasSuffix("/dev/ttyS0 does not exist") == true)
            #expect(found.remedy?.isEmpty == false)
        }
    }

    @Test("where there is nothing, nothing is found") func nothing() {
        #expect(SerialSurvey(in: "/nowhere").devices.isEmpty)
    }
}
