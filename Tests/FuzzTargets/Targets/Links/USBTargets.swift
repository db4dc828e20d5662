// Fuzz targets: what USB devices report about themselves.

@testable import AccessoryLinks

extension FuzzTarget {
    static let usb = FuzzTarget(
        name: "usb",
        about: "what USB devices say of themselves, and which of them an address means",
        promise: "a device that is chosen is one that was there",
        maximumBytes: 1024,
        words: { ["usb:1bc4:0001", "?aoa=switch", "&serial=", "&bus=1-2", "openxc"] },
        run: { bytes in
            var bytes = FuzzBytes(Array(bytes))
            let addresses = [
                "usb:1bc4:0001", "usb:openxc", "usb:aoa", "usb:04e8:6860?aoa=switch",
                "usb:1bc4:0001?interface=1&in=0x82&out=0x05", "usb:openxc?serial=a",
                "usb:openxc?bus=1-2",
                "usb:" + bytes.text(Int(bytes.byte() & 0x1F)),
            ]
            guard let address = try? AccessoryAddress(bytes.one(of: addresses)),
                let selector = try? USBSelector(address)
            else { return }
            var devices: [USBDeviceDescription] = []
            while !bytes.isEmpty, devices.count < 6 { devices.append(device(&bytes)) }
            var claims = AccessoryClaims(among: devices)
            if let first = devices.first { claims.switches(first) }
            if let last = devices.last { claims.appeared(last) }
            do throws(LinkProblem) {
                let choice = try selector.choose(among: devices, claims)
                guard devices.contains(choice.device) else {
                    throw LinkProblem(.absent, "chose a device that is not there", remedy: "")
                }
            } catch {
                if error.message == "chose a device that is not there" {
                    throw BrokenPromise(error.message)
                }
            }
            let survey = USBSurvey(
                devices: devices, selector: selector, accessory: selector,
                mayOpen: { $0.bus & 1 == 0 },
                rule: { $0.identifier })
            try ensure(survey.rows.count <= devices.count, "\(survey.rows.count) rows")
        })

    private static func device(_ bytes: inout FuzzBytes) -> USBDeviceDescription {
        let vendor = bytes.one(of: [UInt16(0x1BC4), 0x18D1, 0x04E8, UInt16(bytes.byte())])
        let product = bytes.one(of: [UInt16(1), 0x2D00, 0x2D01, 0x6860, UInt16(bytes.byte())])
        let flags = bytes.byte()
        var interfaces: [USBDeviceDescription.Interface] = []
        for _ in 0..<flags & 3 {
            let (number, alternate, code) = (bytes.byte() % 4, bytes.byte() % 3, bytes.byte())
            let endpoints = (0..<bytes.byte() % 5).map { _ in
                USBDeviceDescription.Endpoint(
                    address: bytes.one(of: [0x81, 0x02, 0x82, 0x05, 0x8B, bytes.byte()]),
                    kind: bytes.one(of: [.bulk, .control, .interrupt, .isochronous]),
                    packetBytes: Int(bytes.byte()) << 3)
            }
            interfaces.append(
                USBDeviceDescription.Interface(
                    number: number, alternate: alternate, classCode: code,
                    subclass: bytes.byte(), endpoints: endpoints,
                    driver: flags & 4 == 0 ? nil : bytes.text(3), name: bytes.text(4)))
        }
        return USBDeviceDescription(
            bus: bytes.byte() % 3, number: bytes.byte(), ports: bytes.bytes(Int(flags >> 3 & 3)),
            vendor: vendor, product: product, serial: flags & 32 == 0 ? nil : bytes.text(2),
            manufacturer: flags & 64 == 0 ? nil : bytes.text(5), productName: bytes.text(5),
            isConfigured: flags & 128 == 0, interfaces: interfaces)
    }

    static let openXC = FuzzTarget(
        name: "openxc", about: "what an OpenXC interface answers when it is asked who it is",
        promise: "version and device ID are printable and at most 127 bytes long",
        isScript: true,
        words: {
            [
                "{\"command_response\":\"version\",\"message\":\"8.2.1\",\"status\":true}",
                "\"command_response\":", "\"device_id\"", "\"message\":", "}\0",
            ]
        },
        run: { bytes in
            var inquiry = OpenXCInquiry(endpointIn: bytes.first ?? 0)
            _ = inquiry.start()
            for step in FuzzScript(bytes) {
                switch step.kind & 3 {
                case 0: _ = inquiry.ended(.done(step.bytes))
                case 1: _ = inquiry.deadlinePassed()
                default: _ = step.bytes.withUnsafeBytes { inquiry.received($0) }
                }
            }
            for text in [inquiry.identity.version, inquiry.identity.deviceID].compactMap({ $0 }) {
                try ensure(
                    text.utf8.count <= 127 && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) },
                    "an identity of \(text.debugDescription)")
            }
        })
}
