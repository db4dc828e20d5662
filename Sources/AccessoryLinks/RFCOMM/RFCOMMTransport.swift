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

    /// The kernel gives up on an unanswered page after 5 s and on RFCOMM itself after 30 s, and
    /// hangs up then; this only catches what it forgets.
    static let connectLimit: Duration = .seconds(40)

    /// How often the state is asked for while connecting: the kernel has no event for it.
    static let connectInterval: Duration = .milliseconds(100)

    let path: String

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: [])
        path = try address.devicePath(example: "/dev/rfcomm0")
    }

    package var deviceNode: String? { path }

    /// RFCOMM is checked and flow-controlled, but the node may have been opened in the middle of a
    /// stream.
    package var losesBytes: Bool { true }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let tty = try TTY(path: path)
        try tty.setRaw(baud: nil, rtsCts: false)
        try await waitUntilConnected(tty, loop)
        return try await tty.makeChannel(on: loop, configure: configure)
    }

    /// Until then a read gives 0 and a write EIO, which would pass for a hang-up.
    private func waitUntilConnected(
        _ tty: borrowing TTY, _ loop: any EventLoop
    ) async throws(LinkProblem) {
        let deadline = ContinuousClock.now + Self.connectLimit
        let device = Self.deviceNumber(of: path)
        while true {
            if tty.isHungUp {
                throw LinkProblem(
                    .refused, "the Bluetooth peer of \(path) did not accept the connection",
                    remedy: "check that the head unit is on, paired, and offers this channel")
            }
            if Self.isConnected(device: device, carrier: tty.carrier) { return }
            guard ContinuousClock.now < deadline else {
                throw LinkProblem(
                    .timedOut, "the Bluetooth peer of \(path) did not answer",
                    remedy: "check that the head unit is on and in range")
            }
            // Not `Task.sleep`: it would start libdispatch's pool, which wakes once a second for ever.
            try? await loop.scheduleTask(in: TimeAmount(Self.connectInterval)) {}.futureResult.get()
            guard !Task.isCancelled else {
                throw LinkProblem(.closedHere, "relayd stopped waiting for \(path)")
            }
        }
    }

    /// The kernel's own word if it has one, else carrier detect, which Bluetooth stacks map to the
    /// "data valid" signal; a tty that has neither (a pty) is connected.
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
