import AccessoryLinks
import ControlAPI
import Testing

@testable import relayctl

@Suite struct DevicesTextTests {
    /// A TTY as SerialSurvey reports it.
    private static func tty(
        _ node: String, link: String? = nil, driver: String? = nil, name: String? = nil,
        reason: String? = nil
    ) throws -> SerialSurvey.Device {
        var fields = [
            #""node":"\#(node)""#, #""address":"serial:\#(link ?? node)""#,
            #""may_open":\#(reason == nil)"#,
        ]
        for (key, value) in [
            ("link", link), ("driver", driver), ("name", name), ("reason", reason),
        ] {
            if let value { fields.append(#""\#(key)":"\#(value)""#) }
        }
        if reason != nil { fields.append(#""remedy":"add the user to group dialout""#) }
        let json = "{" + fields.joined(separator: ",") + "}"
        return try APICoding.decode(SerialSurvey.Device.self, from: Array(json.utf8))
    }

    private static func ttys() throws -> [SerialSurvey.Device] {
        [
            try tty(
                "/dev/ttyUSB0", link: "/dev/serial/by-id/usb-FTDI-if00", driver: "ftdi_sio",
                name: "FT232R \\u001b[2JUART"),
            try tty(
                "/dev/ttyS0", driver: "serial8250", reason: "/dev/ttyS0 belongs to root:dialout"),
        ]
    }

    private static func found(
        _ asked: String? = nil, running: String? = nil, seen: DeviceList? = nil,
        ttys: [SerialSurvey.Device]
    ) throws -> DeviceFindings {
        var found = DeviceFindings(
            asked: try asked.map { try DeviceFindings.Asked(typed: $0) }, running: running,
            seen: seen)
        found.take(
            usb: USBSurvey(devices: [], selector: nil, mayOpen: { _ in true }, rule: { _ in "" }),
            serial: ttys)
        return found
    }

    private static func text(_ found: DeviceFindings, width: Int = 120) -> String {
        DevicesText(width: width).render(found)
    }

    @Test("USB, then serial lines with what keeps relayd out, then whose rights that are")
    func tables() throws {
        #expect(
            Self.text(try Self.found(ttys: Self.ttys())).hasPrefix(
                """
                No USB devices are plugged in.

                  Node          Driver      Device       Address                                 relayd
                  /dev/ttyUSB0  ftdi_sio    FT232R UART  serial:/dev/serial/by-id/usb-FTDI-if00  may open it
                  /dev/ttyS0    serial8250  –            serial:/dev/ttyS0                       may not open it

                /dev/ttyS0 belongs to root:dialout
                  → add the user to group dialout

                No relayd answers; what may be opened is judged by the rights of
                """))
        let none = Self.text(try Self.found(running: "sim:", seen: DeviceList(), ttys: []))
        #expect(
            none == """
                No USB devices are plugged in.

                No serial line has a device behind it.

                relayd is set to sim:.

                What may be opened is judged by the rights of the running relayd.

                """)
    }

    @Test("a running relayd's serial line is pointed out, by whichever of its names it is set to")
    func accessory() throws {
        for address in ["serial:/dev/ttyUSB0?baud=9600", "serial:/dev/serial/by-id/usb-FTDI-if00"] {
            let text = Self.text(
                try Self.found(running: address, seen: DeviceList(), ttys: Self.ttys()))
            #expect(text.contains("\nrelayd is set to \(address), which is /dev/ttyUSB0.\n"))
        }
    }

    @Test("an address is judged: the line it means, and whether it may be opened")
    func asked() throws {
        let good = try Self.found("serial:/dev/ttyUSB0?baud=9600", ttys: Self.ttys())
        #expect(good.problem == nil && good.list.problem == nil)
        #expect(Self.text(good).contains("serial:/dev/ttyUSB0?baud=9600 may be opened."))
        #expect(Self.text(good).contains("serial:/dev/ttyS0                       another device"))
        #expect(!Self.text(good).contains("USB devices"))
        let bad = try Self.found("/dev/ttyS0", ttys: Self.ttys())
        #expect(bad.list.problem == "/dev/ttyS0 belongs to root:dialout")
        #expect(Self.text(bad).contains("\n  → add the user to group dialout\n"))
        // No device stands behind this path, but it may be a pty's.
        #expect(try Self.found("/dev/null", ttys: []).problem == nil)
        #expect(
            try Self.found("serial:/dev", ttys: []).problem?.message
                == "/dev is a directory; expected a tty such as /dev/ttyUSB0")
    }

    @Test("lines fit the terminal", arguments: [40, 60, 80, 200]) func widths(width: Int) throws {
        let text = Self.text(
            try Self.found(running: "serial:/dev/ttyUSB0", ttys: Self.ttys()), width: width)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= max(width, 60) }, "\(text)")
        #expect(!text.contains("\u{1B}"))
    }

    @Test(
        "what is no device, or has a wrong option, is a usage error",
        arguments: [
            ("tcp:head-unit:12345", "is not a device"),
            ("serial:/dev/ttyUSB0?baud=fast", "baud=fast"),
            ("serial:ttyUSB0", "expected an absolute path"), ("opnxc", "is not a USB device"),
        ])
    func wrong(address: String, words: String) async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(["devices", address], output: recorder.output())
        #expect(code == 64)
        #expect(recorder.text(.error).contains(words), "\(recorder.text(.error))")
    }
}
