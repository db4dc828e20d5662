import ControlAPI
import Testing

@testable import AccessoryLinks
@testable import relayctl

@Suite struct USBCommandTests {
    private static let bulkPair: [USBDeviceDescription.Endpoint] = [
        .init(address: 0x82, kind: .bulk, packetBytes: 64),
        .init(address: 0x05, kind: .bulk, packetBytes: 64),
    ]

    private static func openXC(port: UInt8) -> USBDeviceDescription {
        USBDeviceDescription(
            bus: 1, number: 4 + port, ports: [port], vendor: 0x1BC4, product: 1,
            productName: "OpenXC \u{1B}[2JVehicle Interface",
            interfaces: [.init(number: 0, classCode: 0xFF, endpoints: bulkPair)])
    }

    private static let board = USBDeviceDescription(
        bus: 2, number: 3, ports: [4, 1], vendor: 0x2341, product: 0x43, serial: "B1",
        productName: "Board",
        interfaces: [.init(number: 1, classCode: 0x0A, endpoints: bulkPair, driver: "cdc_acm")])

    private static let mouse = USBDeviceDescription(
        bus: 1, number: 2, ports: [9], vendor: 0x046D, product: 0xC077, productName: "Mouse",
        interfaces: [.init(number: 0, classCode: 3, endpoints: [])])

    private static let rootHub = USBDeviceDescription(
        bus: 1, number: 1, ports: [], vendor: 0x1D6B, product: 2)

    private func survey(
        _ devices: [USBDeviceDescription], _ address: String? = nil, mayOpen: Bool = true
    ) throws -> USBSurvey {
        USBSurvey(
            devices: devices, selector: try address.map { try USBSelector(AccessoryAddress($0)) },
            mayOpen: { _ in mayOpen },
            rule: { USBAccessRule.line(vendor: $0.vendor, product: $0.product, group: "relayd") })
    }

    private func text(_ survey: USBSurvey) -> String {
        USBSurveyText(width: 200).render(survey)
    }

    @Test("every device has the address that opens it, or why it cannot be opened")
    func lists() throws {
        let devices = [Self.rootHub, Self.openXC(port: 1), Self.mouse, Self.board]
        #expect(
            text(try survey(devices)) == """
                  Port   ID         Device                    Serial  Address        relayd
                  1-1    1bc4:0001  OpenXC Vehicle Interface  –       usb:openxc     opens interface \
                0, in 0x82, out 0x05
                  1-9    046d:c077  Mouse                     –       usb:046d:c077  none of its \
                interfaces has a bulk endpoint each way (interface 0 class 0x03)
                  2-4.1  2341:0043  Board                     B1      usb:2341:0043  interface 1 \
                is held by cdc_acm

                Port 2-4.1: the kernel's cdc_acm driver has interface 1; open it as \
                serial:/dev/ttyACM0 or the like, or add ?detach=yes to take it from the driver

                """)
    }

    @Test(
        "a device that a serial driver has is named by its tty, unless it is taken from the driver")
    func heldByDriver() throws {
        func shown(_ address: String?) throws -> String {
            text(
                USBSurvey(
                    devices: [Self.board],
                    selector: try address.map { try USBSelector(AccessoryAddress($0)) },
                    mayOpen: { _ in true }, rule: { _ in "" },
                    tty: { _ in "/dev/serial/by-id/usb-Board" }))
        }
        #expect(
            try shown(nil).contains(
                "open it as serial:/dev/serial/by-id/usb-Board, or add ?detach=yes"))
        let taken = try shown("usb:2341:0043?detach=yes")
        #expect(taken.contains("opens interface 1"))
        #expect(!taken.contains("the kernel's cdc_acm driver has"))
    }

    @Test("two alike have addresses that tell them apart; asked for without, both are shown")
    func alike() throws {
        let two = [Self.openXC(port: 1), Self.openXC(port: 2)]
        #expect(
            try survey(two).rows.map(\.address) == ["usb:openxc?bus=1-1", "usb:openxc?bus=1-2"])
        let asked = try survey(two, "usb:openxc")
        #expect(!asked.isReady)
        #expect(asked.rows.map(\.use) == [.ambiguous, .ambiguous])
        #expect(text(asked).contains("2 USB devices fit 1bc4:0001 (OpenXC): at port 1-1"))
        let one = try survey(two, "usb:openxc?bus=1-2")
        #expect(one.isReady)
        #expect(one.rows[0].use == .no("it is at port 1-1"))
    }

    @Test("a device that may not be opened has the udev rule that would allow it")
    func accessRule() throws {
        let refused = try survey([Self.openXC(port: 1), Self.mouse], "usb:openxc", mayOpen: false)
        #expect(!refused.isReady)
        #expect(
            text(refused).contains(
                """

                SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", ATTR{idVendor}=="1bc4", \
                ATTR{idProduct}=="0001", MODE="0660", GROUP="relayd", TAG+="uaccess", \
                ENV{ID_MM_DEVICE_IGNORE}="1"

                """))
        #expect(text(refused).contains("\n/etc/udev/rules.d/71-relayd-local.rules, run "))
        // A rule is useless for a device that would not be opened anyway.
        #expect(refused.rows[1].rule == nil)
    }

    @Test("a phone is told how it is switched, and a memory stick is not offered")
    func hints() throws {
        let phone = USBDeviceDescription(
            bus: 1, number: 7, ports: [2], vendor: 0x04E8, product: 0x6860,
            interfaces: [
                .init(number: 0, classCode: 6, subclass: 1, endpoints: Self.bulkPair)
            ])
        let stick = USBDeviceDescription(
            bus: 1, number: 8, ports: [3], vendor: 0x0781, product: 0x5567,
            interfaces: [
                .init(number: 0, classCode: 8, endpoints: Self.bulkPair, driver: "usb-storage")
            ])
        let all = try survey([phone, stick])
        #expect(
            text(all).hasSuffix(
                """

                Port 1-2: if it is an Android phone, relayd switches it to accessory mode as \
                usb:04e8:6860?aoa=switch

                """))
        #expect(
            all.rows.map(\.use) == [
                .no(
                    "interface 0 is pictures and files (PTP or MTP); "
                        + "interface=0 would open it all the same"),
                .no("interface 0 is mass storage; interface=0 would open it all the same"),
            ])
        let named = text(try survey([phone, stick], "usb:0781:5567?interface=0"))
        #expect(
            named.contains(
                "driver has interface 0; add ?detach=yes to take it from the driver\n"))
        #expect(try survey([phone], "usb:04e8:6860?aoa=switch").rows.map(\.hint) == [nil])
    }

    @Test("a running relayd's accessory is pointed out")
    func configured() throws {
        func survey(_ devices: [USBDeviceDescription]) throws -> USBSurvey {
            USBSurvey(
                devices: devices, selector: nil,
                accessory: try USBSelector(AccessoryAddress("usb:openxc")),
                mayOpen: { _ in true }, rule: { _ in "" })
        }
        #expect(
            text(try survey([Self.mouse, Self.openXC(port: 3)])).hasSuffix(
                "\n\nrelayd is set to usb:openxc, which is the device at port 1-3.\n"))
        #expect(
            text(try survey([Self.mouse])).hasSuffix(
                "\n\nrelayd is set to usb:openxc, which none of these is; "
                    + "relayctl devices 'usb:openxc' says why not.\n"))
        #expect(try survey([Self.mouse]).isReady)
    }

    @Test("JSON has every field under its documented name")
    func json() throws {
        let bytes = try APICoding.encode(survey([Self.board], "usb:openxc").document)
        let json = String(decoding: bytes, as: UTF8.self)
        for line in [
            #""address" : "usb:2341:0043""#, #""use" : "no""#, #""port" : "2-4.1""#,
            #""node" : "/dev/bus/usb/002/003""#, #""may_open" : true"#,
            #""reason" : "another device than 1bc4:0001""#,
            #""problem" : "no USB device 1bc4:0001 (OpenXC) is plugged in""#,
        ] {
            #expect(json.contains(line), "\(json)")
        }
    }

    @Test("a wrong address is a usage error that says what to type")
    func wrongAddress() async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(["usb", "opnxc"], output: recorder.output())
        #expect(code == 64)
        #expect(recorder.text(.error).contains("\"opnxc\" in \"usb:opnxc\" is not a USB device"))
    }
}
