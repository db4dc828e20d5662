import CShims
import Glibc
package import NIOCore

/// A Bluetooth serial port that BlueZ's `rfcomm` tool made: `rfcomm:/dev/rfcomm0`.
///
/// After `rfcomm listen` or `watch` the node appears with the connection and is opened then; after
/// `rfcomm bind` the node is always there and opening it starts connecting to the peer.
package struct RFCOMMTransport: AccessoryTransport {
    package static let scheme = "rfcomm"
    package static let usage = "rfcomm:/dev/rfcomm0"
    package static let summary = "a Bluetooth serial port made by the rfcomm tool"

    /// The kernel gives up on an unanswered page after 5 s and on RFCOMM itself after 30 s, and hangs up then; this
    /// limit only catches cases that it misses.
    static let connectLimit: Duration = .seconds(40)

    /// How often the state is polled while connecting: the kernel has no event for it.
    static let connectInterval: CInt = 100

    /// Time for connecting, and for the driver itself.
    static let openLimit: TimeAmount = .seconds(50)

    let path: String
    /// Tests replace it.
    var calls = DeviceCalls.shared

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: [])
        path = try address.devicePath(example: "/dev/rfcomm0")
    }

    package var deviceNode: String? { path }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let tty: TTY
        do throws(LinkProblem) {
            tty = try await TTY.open(
                path, calls, on: loop, within: Self.openLimit,
                explain: { [path] error in Self.problem(path, opening: error) },
                prepare: { [path] tty throws(LinkProblem) in
                    try tty.setRaw(baud: nil, rtsCts: false)
                    try Self.waitUntilConnected(tty, path)
                })
        } catch  where error.code == .vanished && DeviceNode(path).exists {
            // The peer refused before the tty was set up.
            throw Self.refused(path)
        }
        return try await tty.makeChannel(
            on: loop,
            hangUp: LinkProblem(
                .closedByPeer,
                "\(path) hung up: the Bluetooth peer disconnected, or is out of range"),
            configure: configure)
    }

    /// Runs on the device's thread. Before the connection is up, a read gives 0 and a write EIO, which would pass
    /// for a hang-up.
    private static func waitUntilConnected(
        _ tty: TTY, _ path: String
    ) throws(LinkProblem) {
        let deadline = ContinuousClock.now + connectLimit
        let device = deviceNumber(of: path)
        while true {
            if tty.hangsUp(withinMilliseconds: 0) { throw refused(path) }
            if isConnected(device: device, carrier: tty.carrier) { return }
            guard !tty.isAbandoned else {
                throw LinkProblem(.closedHere, "relayd stopped waiting for \(path)")
            }
            guard ContinuousClock.now < deadline else { throw unanswered(path) }
            if tty.hangsUp(withinMilliseconds: connectInterval) { throw refused(path) }
        }
    }

    /// The kernel's own answer if it has one, else carrier detect, which Bluetooth stacks map to the "data valid"
    /// signal; a tty that has neither (a pty) is connected.
    private static func isConnected(device: CInt?, carrier: Bool?) -> Bool {
        var connected = false
        if let device, relay_rfcomm_is_connected(device, &connected) == 0 { return connected }
        return carrier ?? true
    }

    /// 3 for /dev/rfcomm3, or for a symbolic link to it.
    static func deviceNumber(of path: String) -> CInt? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        let name = String(cString: resolved).split(separator: "/").last ?? ""
        guard name.hasPrefix("rfcomm") else { return nil }
        return CInt(name.dropFirst("rfcomm".count))
    }
}

// MARK: - Problems

extension RFCOMMTransport {
    private static func refused(_ path: String) -> LinkProblem {
        LinkProblem(
            .refused, "the Bluetooth peer of \(path) did not accept the connection",
            remedy: "check that the head unit is on, paired, and offers this channel")
    }

    private static func unanswered(_ path: String) -> LinkProblem {
        LinkProblem(
            .timedOut, "the Bluetooth peer of \(path) did not answer",
            remedy: "check that the head unit is on and in range")
    }

    /// Opening an RFCOMM tty starts connecting, and fails with the error codes of Bluetooth sockets.
    static func problem(_ path: String, opening error: CInt) -> LinkProblem? {
        switch error {
        case EHOSTUNREACH, ENETDOWN, ENETUNREACH:
            LinkProblem(
                .unreachable,
                "no Bluetooth adapter can reach the peer of \(path): there is none, or it is off",
                remedy: "switch it on with: bluetoothctl power on (if that fails, first: "
                    + "rfkill unblock bluetooth)")
        case ECONNREFUSED, ECONNRESET, ECONNABORTED:
            refused(path)
        case EHOSTDOWN, ETIMEDOUT:
            unanswered(path)
        case ENODEV, ENXIO:
            LinkProblem(
                .vanished, "\(path) exists but is bound to no Bluetooth peer",
                remedy: "bind it again, for example with: rfcomm bind \(path) ADDRESS CHANNEL")
        default: nil
        }
    }
}
