import Testing

@testable import AccessoryLinks

@Suite("GadgetOptions")
struct GadgetOptionsTests {
    private func options(_ text: String) throws -> GadgetOptions {
        try GadgetOptions(AccessoryAddress(text))
    }

    @Test("alone it is a phone of its own on the only controller there is")
    func defaults() throws {
        let options = try options("gadget:")
        #expect(options.controller == nil)
        #expect(options.phone.vendor == 0x18D1)
        #expect(options.phone.product == 0x4EE1)
        #expect(options.phone.serial == nil)
        #expect(!options.startsAsAccessory)
        #expect(options.accessoryProduct == 0x2D00)
        #expect(options.protocolVersion == 2)
    }

    @Test("every option is read")
    func all() throws {
        let options = try options(
            "gadget:?udc=fe980000.usb&vid=04E8&pid=0x6860&manufacturer=SAMSUNG&product=Galaxy%20S&"
                + "serial=42&start=accessory&adb=yes&aoa=1")
        #expect(options.controller == "fe980000.usb")
        #expect(options.phone.vendor == 0x04E8)
        #expect(options.phone.product == 0x6860)
        #expect(options.phone.manufacturer == "SAMSUNG")
        #expect(options.phone.name == "Galaxy S")
        #expect(options.phone.serial == "42")
        #expect(options.startsAsAccessory)
        #expect(options.accessoryProduct == 0x2D01)
        #expect(options.protocolVersion == 1)
    }

    @Test(
        "what it cannot be says what to type",
        arguments: [
            (
                "gadget:fe980000.usb",
                "\"gadget:fe980000.usb\" has \"fe980000.usb\" after gadget:; expected \"gadget:\" "
                    + "alone or with options, as in \"gadget:?udc=NAME\""
            ),
            (
                "gadget:?upc=x",
                "unknown option \"upc\" in \"gadget:?upc=x\"; known: udc, vid, pid, manufacturer, "
                    + "product, serial, start, adb, aoa; did you mean \"udc\"?"
            ),
            (
                "gadget:?udc=../../etc",
                "udc=../../etc in \"gadget:?udc=../../etc\": expected the name of a USB device "
                    + "controller, as ls /sys/class/udc prints it, for example udc=fe980000.usb"
            ),
            (
                "gadget:?vid=0",
                "vid=0 in \"gadget:?vid=0\": expected one to four hexadecimal digits that are not "
                    + "all 0, for example vid=04e8"
            ),
            (
                "gadget:?pid=12345",
                "pid=12345 in \"gadget:?pid=12345\": expected one to four hexadecimal digits that "
                    + "are not all 0, for example pid=6860"
            ),
            (
                "gadget:?pid=2d00",
                "pid=2d00 in \"gadget:?pid=2d00\" is a phone in accessory mode; for one that begins "
                    + "so, use start=accessory"
            ),
            (
                "gadget:?product=a%0Ab",
                "product= in \"gadget:?product=a%0Ab\": expected 1 to 126 characters on one line, "
                    + "as a USB device can have"
            ),
            (
                "gadget:?start=now",
                "start=now in \"gadget:?start=now\": expected start=phone or start=accessory"
            ),
            ("gadget:?adb=1", "adb=1 in \"gadget:?adb=1\": expected adb=no or adb=yes"),
            ("gadget:?aoa=3", "aoa=3 in \"gadget:?aoa=3\": expected aoa=1 or aoa=2"),
        ])
    func refuses(text: String, message: String) throws {
        let address = try AccessoryAddress(text)
        #expect(throws: AddressError(message)) { try GadgetOptions(address) }
    }

    @Test("names of 126 characters fit, of 127 do not")
    func longNames() throws {
        let long = String(repeating: "ä", count: 126)
        #expect(try options("gadget:?serial=\(long)").phone.serial == long)
        let address = try AccessoryAddress("gadget:?serial=\(long)ä")
        #expect(throws: AddressError.self) { try GadgetOptions(address) }
    }

    @Test(
        "a machine's serial number is always the same, another one's is another, and neither is its ID"
    )
    func serial() {
        let one = PhoneIdentity.serial(machineID: "0123456789abcdef0123456789abcdef")
        #expect(one == PhoneIdentity.serial(machineID: "0123456789abcdef0123456789abcdef"))
        #expect(one != PhoneIdentity.serial(machineID: "1123456789abcdef0123456789abcdef"))
        #expect(one.count == 16)
        #expect(one.allSatisfy { $0.isHexDigit && !$0.isLowercase })
    }
}
