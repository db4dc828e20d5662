import Testing

@testable import AccessoryLinks

@Suite("AccessoryAddress")
struct AccessoryAddressTests {
    @Test(
        "an address has a scheme, a path and options",
        arguments: [
            ("sim:", "sim", "", []),
            ("sim:?protocol=4&mtu=1024", "sim", "", ["protocol=4", "mtu=1024"]),
            ("tcp:192.168.0.5:12345", "tcp", "192.168.0.5:12345", []),
            ("tcp:[::1]:12345", "tcp", "[::1]:12345", []),
            (
                "serial:/dev/ttyUSB0?baud=3000000&flow=rtscts", "serial", "/dev/ttyUSB0",
                ["baud=3000000", "flow=rtscts"]
            ),
            ("SERIAL:/dev/ttyUSB0?BAUD=9600", "serial", "/dev/ttyUSB0", ["baud=9600"]),
            ("serial:/dev/a%20b%3Fc%25", "serial", "/dev/a b?c%", []),
            ("rfcomm:/dev/rfcomm0?", "rfcomm", "/dev/rfcomm0", []),
            ("x-y2:p?note=a%26b=c?d", "x-y2", "p", ["note=a&b=c?d"]),
            ("serial:/dev/käfer", "serial", "/dev/käfer", []),
        ])
    func parses(text: String, scheme: String, path: String, options: [String]) throws {
        let address = try AccessoryAddress(text)
        #expect(address.scheme == scheme)
        #expect(address.path == path)
        #expect(address.options.map { "\($0.name)=\($0.value)" } == options)
    }

    @Test(
        "the description reads back as the same address",
        arguments: [
            "sim:", "tcp:[::1]:12345", "serial:/dev/ttyUSB0?baud=9600&flow=rtscts",
            "serial:/dev/a%20b%3Fc%25%0A", "x:p?a=1%262%25&b==", "SIM:?A=B", "serial:/dev/käfer",
        ])
    func roundTrips(text: String) throws {
        let address = try AccessoryAddress(text)
        #expect(try AccessoryAddress(address.description) == address)
    }

    @Test(
        "a language before the transport is kept apart from it",
        arguments: [
            ("openxc+tcp:h:50001", AccessoryAddress.Language.openxc, "tcp"),
            ("OpenXC+Serial:/dev/ttyUSB0?baud=9600", .openxc, "serial"),
            ("openxc+usb:openxc", .openxc, "usb"), ("tcp:h:1", .sdl, "tcp"),
            ("usb:openxc", .openxc, "usb"), ("usb:1bc4:0001", .sdl, "usb"),
            ("openxc+usb:1bc4:0001", .openxc, "usb"),
            ("sim:openxc?speed=2", .openxc, "sim"), ("sim:", .sdl, "sim"),
            ("replay:/drive.json", .sdl, "replay"), ("serial:/dev/a+b:c", .sdl, "serial"),
        ])
    func language(text: String, language: AccessoryAddress.Language, scheme: String) throws {
        let address = try AccessoryAddress(text)
        #expect(address.language == language && address.scheme == scheme)
        #expect(try AccessoryAddress(address.description) == address)
    }

    @Test(
        "a language that is none is refused",
        arguments: [
            (
                "sdl+tcp:h:1",
                "\"sdl\" in \"sdl+tcp:h:1\" is not a known language; known: openxc, as in "
                    + "openxc+tcp:192.168.0.5:50001. SDL is spoken without one"
            ),
            (
                "openxc+sim:",
                "\"openxc+sim:\": openxc+ can only come before tcp:, serial:, bluetooth:, rfcomm:, usb:; sim:openxc "
                    + "and replay: of an OpenXC trace need none"
            ),
        ])
    func noLanguage(text: String, message: String) {
        #expect(throws: AddressError(message)) { try AccessoryAddress(text) }
    }

    @Test("a serial line has the rate and the flow control of its language")
    func serialDefaults() throws {
        let vehicle = try SerialTransport(AccessoryAddress("openxc+serial:/dev/ttyUSB0"))
        #expect(vehicle.baud == 230_400 && vehicle.flow == .rtscts)
        let chosen = try SerialTransport(
            AccessoryAddress("openxc+serial:/dev/ttyUSB0?baud=9600&flow=none"))
        #expect(chosen.baud == 9600 && chosen.flow == .none)
        let headUnit = try SerialTransport(AccessoryAddress("serial:/dev/ttyUSB0"))
        #expect(headUnit.baud == 115_200 && headUnit.flow == .none)
    }

    @Test("a plain address is described as it was typed")
    func describesPlainly() throws {
        for text in ["sim:", "tcp:h:1", "serial:/dev/serial/by-id/usb-FTDI_x:1.0?baud=9600"] {
            #expect(try AccessoryAddress(text).description == text)
        }
    }

    @Test(
        "a malformed address says what was found and what to type",
        arguments: [
            (
                "",
                "the head unit's address is empty; expected SCHEME:PATH, for example \"sim:\""
            ),
            (
                "/dev/ttyUSB0",
                "\"/dev/ttyUSB0\" does not say which transport; "
                    + "did you mean \"serial:/dev/ttyUSB0\"?"
            ),
            (
                "/dev/rfcomm0",
                "\"/dev/rfcomm0\" does not say which transport; "
                    + "did you mean \"rfcomm:/dev/rfcomm0\"?"
            ),
            ("sim", "\"sim\" names no transport; did you mean \"sim:\"?"),
            (
                "headunit",
                "\"headunit\" names no transport; expected SCHEME:PATH, "
                    + "for example \"sim:\" or \"serial:/dev/ttyUSB0\""
            ),
            (
                "192.168.0.5:12345",
                "\"192.168.0.5:12345\" does not say which transport; "
                    + "did you mean \"tcp:192.168.0.5:12345\"?"
            ),
            (
                "localhost:12345",
                "\"localhost:12345\" does not say which transport; "
                    + "did you mean \"tcp:localhost:12345\"?"
            ),
            (
                "a b:c",
                "\"a b\" in \"a b:c\" is not the name of a transport; "
                    + "known: sim, replay, tcp, serial, bluetooth, rfcomm, usb, gadget"
            ),
            (
                "serial:/dev/x?baud",
                "option \"baud\" in \"serial:/dev/x?baud\" has no value; expected NAME=VALUE"
            ),
            (
                "serial:/dev/x?baud=1&Baud=2",
                "option \"baud\" is given twice in \"serial:/dev/x?baud=1&Baud=2\"; keep one"
            ),
            (
                "serial:/dev/%zz",
                "a \"%\" in \"serial:/dev/%zz\" is not followed by two hexadecimal digits; "
                    + "write %25 for a percent sign"
            ),
            (
                "serial:/dev/%00",
                "a \"%\" in \"serial:/dev/%00\" is not followed by two hexadecimal digits; "
                    + "write %25 for a percent sign"
            ),
            (
                "serial:/dev/\0x",
                "the head unit's address has a NUL byte, which no path and no name has"
            ),
            ("x:%31", "\"x:%31\" does not say which transport; did you mean \"tcp:x:%31\"?"),
            (
                "serial:/dev/%ff",
                "the percent-encoded bytes in \"serial:/dev/%ff\" are not UTF-8"
            ),
        ])
    func refuses(text: String, message: String) {
        #expect(throws: AddressError(message)) { try AccessoryAddress(text) }
    }

    @Test("an address of more than 4096 bytes is refused without being repeated")
    func refusesLong() {
        let text = "serial:/" + String(repeating: "x", count: 5000)
        #expect(
            throws: AddressError(
                "the head unit's address is 5008 bytes long; expected at most 4096")
        ) { try AccessoryAddress(text) }
    }
}
