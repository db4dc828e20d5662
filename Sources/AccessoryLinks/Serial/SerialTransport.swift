package import NIOCore

/// A UART, a USB serial adapter or a CDC-ACM board: `serial:/dev/ttyUSB0?baud=115200`.
package struct SerialTransport: AccessoryTransport {
    package static let scheme = "serial"
    package static let usage = "serial:/dev/ttyUSB0?baud=3000000&flow=rtscts"
    package static let summary = "a tty: UART, USB serial adapter, CDC-ACM board"

    /// The rate that every adapter and every boot loader supports. CDC-ACM boards ignore it.
    package static let defaultBaud: UInt32 = 115_200

    /// The rate of an OpenXC vehicle interface's serial line; the interface sends only while CTS allows it.
    static let openXCBaud: UInt32 = 230_400

    /// A rate below the slowest standard one is a typing error; so is one above that of any UART made.
    package static let baudRange: ClosedRange<UInt32> = 50...20_000_000

    package enum FlowControl: String, CaseIterable, Sendable {
        /// The default, because with `rtscts` and a cable that lacks the CTS wire nothing is ever sent, which looks
        /// like a dead device; without flow control the worst case is a resynchronised stream.
        case none
        case rtscts
    }

    let path: String
    let baud: UInt32
    let flow: FlowControl
    let dtr: Bool
    /// Tests replace it.
    var calls = DeviceCalls.shared

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: ["baud", "flow", "dtr"])
        path = try address.devicePath(example: "/dev/ttyUSB0")
        baud = try Self.parseBaud(address)
        flow = try Self.parseFlow(address)
        switch address[option: "dtr"] {
        // Opening a tty switches DTR on anyway; some CDC-ACM boards wait for it before they send. "off" takes
        // effect a moment later: the kernel raises DTR and RTS in open(2) regardless (tty_port_block_til_ready), so
        // a board that resets on DTR still resets.
        case nil, "on": dtr = true
        case "off": dtr = false
        case .some(let value):
            throw AddressError("dtr=\(value) in \"\(address)\": expected dtr=on or dtr=off")
        }
    }

    private static func parseBaud(_ address: AccessoryAddress) throws(AddressError) -> UInt32 {
        guard let text = address[option: "baud"] else {
            return address.language == .openxc ? openXCBaud : defaultBaud
        }
        guard let baud = UInt32(text), baudRange.contains(baud) else {
            throw AddressError(
                "baud=\(text) in \"\(address)\": expected a whole number from "
                    + "\(baudRange.lowerBound) to \(baudRange.upperBound), "
                    + "for example baud=\(defaultBaud)")
        }
        return baud
    }

    private static func parseFlow(_ address: AccessoryAddress) throws(AddressError) -> FlowControl {
        guard let text = address[option: "flow"] else {
            return address.language == .openxc ? .rtscts : .none
        }
        if let flow = FlowControl(rawValue: text) { return flow }
        if text == "xonxoff" {
            throw AddressError(
                "flow=xonxoff in \"\(address)\" cannot carry SDL, whose frames contain the bytes "
                    + "0x11 and 0x13; expected flow=none or flow=rtscts")
        }
        throw AddressError("flow=\(text) in \"\(address)\": expected flow=none or flow=rtscts")
    }

    package var deviceNode: String? { path }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let tty = try await TTY.open(path, calls, on: loop) {
            [baud, flow, dtr] tty throws(LinkProblem) in
            try tty.setRaw(baud: baud, rtsCts: flow == .rtscts)
            // Before DTR: bytes that a board sends because of DTR must not be discarded.
            tty.flush()
            try tty.setDTR(dtr)
        }
        return try await tty.makeChannel(
            on: loop,
            hangUp: LinkProblem(
                .closedByPeer, "\(path) hung up: unplugged, or let go by its driver",
                remedy: "check the cable"),
            configure: configure)
    }
}

extension AccessoryAddress {
    /// The path as the absolute path of a device node.
    func devicePath(example: String) throws(AddressError) -> String {
        guard path.hasPrefix("/"), !path.hasSuffix("/") else {
            let found = path.isEmpty ? "names no device" : "has \"\(path)\" as its device"
            let hint = path.hasPrefix("tty") || path.hasPrefix("rfcomm") ? "/dev/\(path)" : example
            throw AddressError(
                "\"\(self)\" \(found); expected an absolute path, "
                    + "for example \"\(scheme):\(hint)\"")
        }
        return path
    }
}
