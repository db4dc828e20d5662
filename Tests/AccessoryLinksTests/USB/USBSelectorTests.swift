import Testing

@testable import AccessoryLinks

@Suite("USBSelector")
struct USBSelectorTests {
    @Test("a device is named by its numbers, as lsusb prints them")
    func identifier() throws {
        for text in ["usb:1bc4:0001", "USB:1BC4:1", "usb:0x1bc4:0x0001"] {
            #expect(try selector(text).device == .identifier(vendor: 0x1BC4, product: 1))
        }
    }

    @Test("openxc has the endpoints of its firmware, which options may change")
    func openXC() throws {
        let plain = try selector("usb:openxc")
        #expect(plain.device == .openXC)
        #expect(plain.endpoints(of: .openXC()) == (0x82, 0x05))
        let firmware5 = USBDevice.openXC().with {
            $0.interfaces[0].endpoints = [.bulk(0x81), .bulk(0x02)]
        }
        #expect(plain.endpoints(of: firmware5) == (0x81, 0x02))
        let pipes = try USBPipes.choose(of: firmware5, for: plain)
        #expect(pipes.endpointIn == 0x81 && pipes.endpointOut == 0x02)
        let named = try selector("usb:openxc?in=0x8b")
        #expect(named.endpoints(of: .openXC()) == (0x8B, 0x05))
        #expect(try selector("usb:1bc4:0001").endpoints(of: .openXC()) == (nil, nil))
    }

    @Test("options say which device, which interface and how to speak to it")
    func options() throws {
        let all = try selector(
            "usb:04e8:6860?serial=A%26B&bus=1-2.3&interface=1&alt=2&in=0x82&out=0x05"
                + "&detach=yes&zlp=no&aoa=switch&model=Bench&aoa-serial=7")
        #expect(all.serial == "A&B" && all.portPath == "1-2.3")
        #expect(all.interface == 1 && all.alternate == 2)
        #expect(all.endpointIn == 0x82 && all.endpointOut == 0x05)
        #expect(all.detachesDriver && all.switchesToAccessory)
        #expect(!all.sendsZeroLengthPackets)
        #expect(
            all.identity.strings == [
                "SDL", "Bench", "SmartDeviceLink Core Component USB", "1.0",
                "http://www.smartdevicelink.org", "7",
            ])
    }

    @Test("empty packets are for accessories unless said otherwise")
    func zeroLengthPackets() throws {
        #expect(try selector("usb:aoa").sendsZeroLengthPackets)
        #expect(try selector("usb:04e8:6860?aoa=switch").sendsZeroLengthPackets)
        #expect(try !selector("usb:04e8:6860").sendsZeroLengthPackets)
        #expect(try !selector("usb:openxc").sendsZeroLengthPackets)
        #expect(try selector("usb:openxc?zlp=yes").sendsZeroLengthPackets)
        #expect(try !selector("usb:aoa?zlp=no").sendsZeroLengthPackets)
    }

    @Test(
        "a wrong address says what was found and what to type",
        arguments: [
            (
                "usb:",
                "\"usb:\" names no device; expected usb:VID:PID as lsusb prints it, usb:openxc or "
                    + "usb:aoa, for example \"usb:1bc4:0001\"; "
                    + "relayctl devices lists what is plugged in"
            ),
            (
                "usb:opnxc",
                "\"opnxc\" in \"usb:opnxc\" is not a USB device; expected VID:PID, four hexadecimal "
                    + "digits each, as in \"usb:1bc4:0001\", or usb:openxc or usb:aoa"
            ),
            (
                "usb:1bc4:00011",
                "\"1bc4:00011\" in \"usb:1bc4:00011\" is not a USB device; expected VID:PID, four "
                    + "hexadecimal digits each, as in \"usb:1bc4:0001\", or usb:openxc or usb:aoa"
            ),
            (
                "usb:aoa?bus=1",
                "bus=1 in \"usb:aoa?bus=1\": expected a bus and the ports on the way, as in "
                    + "bus=1-2.3; relayctl devices shows them"
            ),
            (
                "usb:aoa?bus=1-2.",
                "bus=1-2. in \"usb:aoa?bus=1-2.\": expected a bus and the ports on the way, as in "
                    + "bus=1-2.3; relayctl devices shows them"
            ),
            (
                "usb:aoa?interface=256",
                "interface=256 in \"usb:aoa?interface=256\": "
                    + "expected a whole number from 0 to 255"
            ),
            (
                "usb:aoa?in=0x02",
                "in=0x02 in \"usb:aoa?in=0x02\" is an OUT endpoint; did you mean in=0x82?"
            ),
            (
                "usb:aoa?out=0x85",
                "out=0x85 in \"usb:aoa?out=0x85\" is an IN endpoint; did you mean out=0x05?"
            ),
            (
                "usb:aoa?in=0x80",
                "in=0x80 in \"usb:aoa?in=0x80\": expected the address of an endpoint, "
                    + "as in in=0x82"
            ),
            (
                "usb:aoa?detach=on",
                "detach=on in \"usb:aoa?detach=on\": expected detach=yes or detach=no"
            ),
            (
                "usb:1:1?aoa=yes",
                "aoa=yes in \"usb:1:1?aoa=yes\": expected aoa=switch"
            ),
            (
                "usb:aoa?aoa=switch",
                "aoa=switch in \"usb:aoa?aoa=switch\" needs the phone's own VID:PID, as in "
                    + "\"usb:04e8:6860?aoa=switch\"; no other phone is touched"
            ),
            (
                "usb:1:1?model=Core",
                "model= in \"usb:1:1?model=Core\" is only for a phone that is switched to "
                    + "accessory mode; add aoa=switch, or leave it out"
            ),
            (
                "usb:1:1?aoa=switch&uri=",
                "uri= in \"usb:1:1?aoa=switch&uri=\" has 0 bytes; expected 1 to 255"
            ),
        ])
    func refuses(text: String, message: String) throws {
        let address = try AccessoryAddress(text)
        #expect(throws: AddressError(message)) { try USBSelector(address) }
    }
}

@Suite("USBSelector's choice")
struct USBChoiceTests {
    private let bench: [USBDevice] = [.mouse, .openXC(), .board, .phone()]

    @Test("the named device is found among others, wherever it is plugged in")
    func finds() throws {
        for port in 1...3 as ClosedRange<UInt8> {
            let device = USBDevice.openXC(port: port, number: 40 + port)
            let choice = try selector("usb:openxc").choose(among: [.mouse, .board, device])
            guard case .open(let found, let pipes) = choice else {
                Issue.record("\(choice)")
                continue
            }
            #expect(found == device)
            // Not the log interface, which comes first.
            #expect(pipes.endpointIn == 0x82 && pipes.endpointOut == 0x05)
        }
    }

    @Test("two alike need a port path, when they have no serial numbers, and say so")
    func ambiguousByPort() throws {
        let two = [USBDevice.openXC(port: 1), .openXC(port: 2, number: 6)]
        let problem = #expect(throws: LinkProblem.self) {
            try selector("usb:openxc").choose(among: two)
        }
        #expect(
            problem?.description
                == "2 USB devices fit 1bc4:0001 (OpenXC): at port 1-1 with no serial number, "
                + "at port 1-2 with no serial number; "
                + "add ?bus=1-1 (or the other's) to the head unit's address")
        #expect(problem?.code == .ambiguous)
        let choice = try selector("usb:openxc?bus=1-2").choose(among: two)
        guard case .open(let found, _) = choice else { throw LinkProblem(.other, "\(choice)") }
        #expect(found.number == 6)
    }

    @Test("two alike with serial numbers are told apart by them")
    func ambiguousBySerial() throws {
        let two = [USBDevice.phone(), .phone(ports: [4], serial: "PHONE2")]
        let problem = #expect(throws: LinkProblem.self) {
            try selector("usb:04e8:6860?interface=1").choose(among: two)
        }
        #expect(
            problem?.remedy == "add &serial=PHONE1 (or the other's) to the head unit's address")
        let choice = try selector("usb:04e8:6860?serial=PHONE2&interface=1").choose(among: two)
        guard case .open(let found, _) = choice else { throw LinkProblem(.other, "\(choice)") }
        #expect(found.ports == [4])
    }

    @Test("a device that is not there is told from one that is another of its kind")
    func absent() throws {
        let none = #expect(throws: LinkProblem.self) {
            try selector("usb:1bc4:0001").choose(among: [.mouse])
        }
        #expect(
            none?.description == "no USB device 1bc4:0001 is plugged in; "
                + "plug it in; relayd opens it as soon as it appears")
        let other = #expect(throws: LinkProblem.self) {
            try selector("usb:04e8:6860?serial=X&bus=1-9").choose(among: bench)
        }
        #expect(other?.code == .absent)
        #expect(
            other?.message == "no USB device 04e8:6860 with serial=X and bus=1-9 is plugged in; "
                + "one is at port 1-2.3 with serial number PHONE1")
    }

    @Test("a phone is switched; once it is an accessory it is opened")
    func switches() throws {
        let named = try selector("usb:04e8:6860?aoa=switch")
        #expect(try named.choose(among: bench) == .switchToAccessory(.phone()))
        guard case .open(let device, let pipes) = try named.choose(among: [.mouse, .accessory()])
        else { throw LinkProblem(.other, "not opened") }
        #expect(device == .accessory())
        #expect(pipes.interface == 1)
        // A phone in accessory mode beside the named phone belongs to somebody else.
        let both = try named.choose(among: [.accessory(ports: [5]), .phone()])
        #expect(both == .switchToAccessory(.phone()))
    }

    @Test("usb:aoa takes each product with an accessory interface, and not the audio ones")
    func accessoryProducts() throws {
        let aoa = try selector("usb:aoa")
        for product in [0x2D00, 0x2D01, 0x2D04, 0x2D05] as [UInt16] {
            guard case .open = try aoa.choose(among: [.mouse, .accessory(product: product)]) else {
                throw LinkProblem(.other, "not opened")
            }
        }
        for product in [0x2D02, 0x2D03] as [UInt16] {
            let audio = USBDevice.accessory(product: product)
            #expect(aoa.verdict(on: audio) == .other("in accessory mode for audio only"))
            #expect(throws: LinkProblem.self) { try aoa.choose(among: [audio]) }
        }
    }

    @Test("every device that is not chosen has its reason")
    func verdicts() throws {
        let named = try selector("usb:04e8:6860?bus=1-2.3&serial=PHONE1")
        #expect(named.verdict(on: .mouse) == .other("another device than 04e8:6860"))
        #expect(named.verdict(on: .phone(ports: [4])) == .other("it is at port 1-4"))
        #expect(
            named.verdict(on: .phone(serial: "PHONE2"))
                == .other("its serial number is PHONE2"))
        #expect(named.verdict(on: .phone(serial: nil)) == .other("it has no serial number"))
        #expect(
            try selector("usb:046d:c077").verdict(on: .mouse)
                == .unusable(
                    "none of its interfaces has a bulk endpoint each way (interface 0 class 0x03)"
                ))
    }

    @Test("the same port stays the same while the device number changes")
    func portPaths() {
        #expect(USBDevice.phone().portPath == "1-2.3")
        #expect(USBDevice.phone(ports: []).portPath == "usb1")
        #expect(USBDevice.phone().nodePath == "/dev/bus/usb/001/007")
    }
}

@Suite("USBPipes")
struct USBPipesTests {
    private func pipes(_ device: USBDevice, _ options: String = "") throws -> USBPipes {
        try USBPipes.choose(of: device, for: selector("usb:1:1\(options)"))
    }

    @Test("the pair is bulk and within one interface")
    func oneInterface() throws {
        // Interface 0 has only an interrupt endpoint towards the host.
        let board = try pipes(.board)
        #expect(board.interface == 1)
        #expect(board.endpointIn == 0x83 && board.endpointOut == 0x04)
        #expect(board.driver == "cdc_acm" && !board.choosesAlternate)
    }

    @Test("vendor-specific interfaces go first, an accessory's before adb")
    func preference() throws {
        #expect(try pipes(.accessory()).interface == 1)
        let both = USBDevice.board.with {
            $0.interfaces.append(
                .init(number: 2, classCode: 0xFF, endpoints: [.bulk(0x86), .bulk(0x06)]))
        }
        #expect(try pipes(both).interface == 2)
    }

    @Test("what is something else is opened only when the address names it")
    func otherPurposes() throws {
        let stick = USBDevice.mouse.with {
            $0.interfaces = [
                .init(
                    number: 0, classCode: 8, subclass: 6, protocolCode: 0x50,
                    endpoints: [.bulk(0x81), .bulk(0x02)], driver: "usb-storage")
            ]
        }
        #expect(
            throws: USBPipes.Missing(
                reason: "interface 0 is mass storage; interface=0 would open it all the same")
        ) {
            try pipes(stick)
        }
        #expect(try pipes(stick, "?interface=0").endpointIn == 0x81)
        #expect(try pipes(stick, "?out=2").endpointIn == 0x81)
        // Neither its picture interface nor adb will do.
        #expect(throws: USBPipes.Missing.self) { try pipes(.phone()) }
        #expect(try pipes(.phone(), "?interface=0").endpointIn == 0x81)
        let oldMTP = USBDevice.accessory().with { $0.interfaces[1].name = "MTP" }
        #expect(throws: USBPipes.Missing.self) { try pipes(oldMTP) }
    }

    @Test("a phone that is not to be switched is told how it would be")
    func phoneAsItIs() throws {
        let problem = #expect(throws: LinkProblem.self) {
            try selector("usb:04e8:6860?bus=1-2.3").choose(among: [.phone()])
        }
        #expect(problem?.code == .unsupported)
        #expect(
            problem?.remedy
                == "if it is an Android phone, add &aoa=switch to the head unit's address")
        #expect(USBDevice.phone().looksLikePhone && !USBDevice.accessory().looksLikePhone)
        #expect(!USBDevice.board.looksLikePhone && !USBDevice.openXC().looksLikePhone)
    }

    @Test("an interface that has its endpoints in another setting is put into that setting")
    func alternates() throws {
        let device = USBDevice.mouse.with {
            $0.interfaces = [
                .init(number: 2, classCode: 0xFF, endpoints: []),
                .init(
                    number: 2, alternate: 1, classCode: 0xFF,
                    endpoints: [.bulk(0x81), .bulk(0x01)]),
                .init(
                    number: 2, alternate: 2, classCode: 0xFF,
                    endpoints: [.bulk(0x82), .bulk(0x02)]),
            ]
        }
        let first = try pipes(device)
        #expect(first.alternate == 1 && first.choosesAlternate)
        #expect(try pipes(device, "?alt=2").endpointIn == 0x82)
    }

    @Test("endpoints that are named are taken, if they fit together")
    func named() throws {
        let openXC = try pipes(.openXC(), "?in=0x8b")
        #expect(openXC.endpointIn == 0x8B && openXC.endpointOut == 0x05)
        for (options, reason) in [
            ("?in=0x84", "it has no endpoint 0x84; it has 0x05, 0x8b, 0x82"),
            ("?interface=3", "it has no interface 3; it has interface 0"),
            ("?alt=1&interface=0", "it has no interface 0 alt 1; it has interface 0"),
        ] {
            #expect(throws: USBPipes.Missing(reason: reason)) {
                try pipes(.openXC(), options)
            }
        }
        #expect(
            throws: USBPipes.Missing(reason: "endpoint 0x82 is interrupt; expected bulk")
        ) {
            try pipes(.phone(), "?in=0x82")
        }
        #expect(
            throws: USBPipes.Missing(
                reason: "endpoints 0x83 and 0x01 belong to different interfaces; "
                    + "expected one interface with both")
        ) {
            try pipes(.phone(), "?in=0x83&out=1")
        }
    }

    @Test("a device nobody has configured has no pipes")
    func unconfigured() {
        let device = USBDevice.openXC().with {
            $0.isConfigured = false
            $0.interfaces = []
        }
        #expect(throws: USBPipes.Missing(reason: "it has no active configuration")) {
            try pipes(device)
        }
    }
}
