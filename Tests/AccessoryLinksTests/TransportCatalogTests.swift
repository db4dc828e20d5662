import Testing

@testable import AccessoryLinks

@Suite("TransportCatalog")
struct TransportCatalogTests {
    @Test("every transport has a unique scheme, a summary, and a usage line that works")
    func walksTheList() throws {
        #expect(Set(TransportCatalog.schemes).count == TransportCatalog.all.count)
        for kind in TransportCatalog.all {
            #expect(!kind.summary.isEmpty)
            let address = try AccessoryAddress(kind.usage)
            #expect(address.scheme == kind.scheme)
            let transport = try TransportCatalog.transport(for: address)
            #expect(type(of: transport) == kind)
        }
    }

    @Test(
        "a wrong scheme, path or option says what to type",
        arguments: [
            (
                "usv:x",
                "unknown transport \"usv\"; known: sim, replay, tcp, serial, bluetooth, rfcomm, usb, gadget; "
                    + "did you mean \"usb\"?"
            ),
            (
                "seriel:/dev/x",
                "unknown transport \"seriel\"; known: sim, replay, tcp, serial, bluetooth, rfcomm, usb, gadget; "
                    + "did you mean \"serial\"?"
            ),
            (
                "tpc:h:1",
                "unknown transport \"tpc\"; known: sim, replay, tcp, serial, bluetooth, rfcomm, usb, gadget; "
                    + "did you mean \"tcp\"?"
            ),
            (
                "serial:/dev/x?buad=9600",
                "unknown option \"buad\" in \"serial:/dev/x?buad=9600\"; "
                    + "known: baud, flow, dtr; did you mean \"baud\"?"
            ),
            (
                "rfcomm:/dev/rfcomm0?baud=9600",
                "unknown option \"baud\" in \"rfcomm:/dev/rfcomm0?baud=9600\"; "
                    + "rfcomm: takes no options"
            ),
            (
                "serial:",
                "\"serial:\" names no device; expected an absolute path, "
                    + "for example \"serial:/dev/ttyUSB0\""
            ),
            (
                "serial:ttyACM3",
                "\"serial:ttyACM3\" has \"ttyACM3\" as its device; expected an absolute path, "
                    + "for example \"serial:/dev/ttyACM3\""
            ),
            (
                "serial:/dev/x?baud=fast",
                "baud=fast in \"serial:/dev/x?baud=fast\": expected a whole number from "
                    + "50 to 20000000, for example baud=115200"
            ),
            (
                "serial:/dev/x?baud=0",
                "baud=0 in \"serial:/dev/x?baud=0\": expected a whole number from "
                    + "50 to 20000000, for example baud=115200"
            ),
            (
                "serial:/dev/x?flow=hard",
                "flow=hard in \"serial:/dev/x?flow=hard\": expected flow=none or flow=rtscts"
            ),
            (
                "serial:/dev/x?flow=xonxoff",
                "flow=xonxoff in \"serial:/dev/x?flow=xonxoff\" cannot carry SDL, whose frames "
                    + "contain the bytes 0x11 and 0x13; expected flow=none or flow=rtscts"
            ),
            (
                "serial:/dev/x?dtr=yes",
                "dtr=yes in \"serial:/dev/x?dtr=yes\": expected dtr=on or dtr=off"
            ),
            (
                "tcp:",
                "\"tcp:\" names no host; expected tcp:HOST:PORT, "
                    + "for example \"tcp:127.0.0.1:12345\""
            ),
            (
                "tcp:host",
                "\"tcp:host\" has no port; expected tcp:HOST:PORT (sdl_core listens on 12345)"
            ),
            (
                "tcp://host:12345",
                "\"tcp://host:12345\" has slashes; did you mean \"tcp:host:12345\"?"
            ),
            (
                "tcp:::1:12345",
                "\"tcp:::1:12345\" looks like an IPv6 address without brackets; "
                    + "expected tcp:[ADDRESS]:PORT, for example \"tcp:[::1]:12345\""
            ),
            (
                "tcp:fe80::1:12345",
                "\"tcp:fe80::1:12345\" looks like an IPv6 address without brackets; "
                    + "expected tcp:[ADDRESS]:PORT, for example \"tcp:[::1]:12345\""
            ),
            (
                "tcp:[::1:12345",
                "\"tcp:[::1:12345\" opens a bracket without closing it"
            ),
            (
                "tcp:h:70000",
                "port \"70000\" in \"tcp:h:70000\" is not a number from 1 to 65535"
            ),
            (
                "sim:ulator",
                "\"sim:ulator\" has \"ulator\" after sim:; expected \"sim:\" or \"sim:openxc\", "
                    + "alone or with options, as in \"sim:?NAME=VALUE\""
            ),
        ])
    func refuses(text: String, message: String) throws {
        let address = try AccessoryAddress(text)
        #expect(throws: AddressError(message)) {
            try TransportCatalog.transport(for: address)
        }
    }

    @Test("ttys have a node to watch, sockets have none")
    func describesItself() throws {
        let serial = try TransportCatalog.transport(for: AccessoryAddress("serial:/dev/x"))
        #expect(serial.deviceNode == "/dev/x")
        let tcp = try TransportCatalog.transport(for: AccessoryAddress("tcp:[::1]:12345"))
        #expect(tcp.deviceNode == nil)
        #expect((tcp as? TCPTransport)?.host == "::1")
        #expect((tcp as? TCPTransport)?.port == 12345)
    }
}
