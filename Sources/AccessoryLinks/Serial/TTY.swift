import CShims
import Glibc
import NIOCore

/// A device node opened as a raw tty, ready to become a channel. `SerialTransport` and
/// `RFCOMMTransport` open one per link; it is closed unless `makeChannel` takes it over.
struct TTY: ~Copyable {
    let path: String
    private let descriptor: OwnedDescriptor
    /// Lets the device go, on whatever path.
    private let hold: TTYHold

    /// Opens the node, proves that it is a tty and locks other programs out.
    ///
    /// O_NONBLOCK: a tty without carrier, or an RFCOMM peer that refuses, would block for up to a
    /// minute. O_NOCTTY: the device must not become our controlling terminal and send us SIGHUP.
    init(path: String) throws(LinkProblem) {
        let opened = Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { throw DeviceNode(path).problem(opening: errno) }
        let owned = OwnedDescriptor(opened)
        guard isatty(opened) == 1 else { throw DeviceNode(path).notATerminal() }
        let hold = try Self.lock(owned, path)
        self.path = path
        self.hold = hold
        descriptor = owned
    }

    /// TIOCEXCL does not bind root, and cannot be asked for atomically: flock decides between two
    /// relayds, TIOCEXCL keeps everybody else out from here on.
    private static func lock(
        _ descriptor: borrowing OwnedDescriptor, _ path: String
    ) throws(LinkProblem) -> TTYHold {
        guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            throw DeviceNode(path).problem(opening: errno == EWOULDBLOCK ? EBUSY : errno)
        }
        let hold = TTYHold(try descriptor.duplicate())
        let error = relay_tty_set_exclusive(descriptor.rawValue, true)
        guard error == 0 else {
            throw .system("\(path) could not be opened exclusively", errno: error)
        }
        return hold
    }

    /// Raw mode, 8N1; `baud` nil leaves the rate alone. What was asked for and what the driver
    /// made of it are compared, because drivers round or ignore silently.
    func setRaw(baud: UInt32?, rtsCts: Bool) throws(LinkProblem) {
        let failed = relay_tty_set_raw(descriptor.rawValue, baud ?? 0, rtsCts)
        guard failed == 0 else {
            throw LinkProblem(
                .unsupported,
                "the driver of \(path) refused "
                    + (baud.map { "\($0) baud" } ?? "raw mode")
                    + ": \(systemMessage(failed))",
                remedy: baud.map { _ in "choose another baud= in the accessory address" })
        }
        var realBaud: UInt32 = 0
        var realRTSCTS = false
        let unreadable = relay_tty_get_settings(
            descriptor.rawValue, &realBaud, &realRTSCTS, nil)
        guard unreadable == 0 else {
            throw .system("the settings of \(path) could not be read back", errno: unreadable)
        }
        if let baud, !Self.isCloseEnough(realBaud, to: baud) {
            throw LinkProblem(
                .unsupported,
                "the driver of \(path) runs at \(realBaud) baud instead of \(baud)",
                remedy: "set baud=\(realBaud) on both sides, or use another adapter")
        }
        if rtsCts && !realRTSCTS {
            throw LinkProblem(
                .unsupported, "the driver of \(path) has no RTS/CTS flow control",
                remedy: "use flow=none in the accessory address")
        }
    }

    /// A UART samples the tenth bit of a character half a bit late at 5 % difference between both
    /// ends; each end may use up half of that, and the other end has its own error: 2.5 %.
    static func isCloseEnough(_ real: UInt32, to wanted: UInt32) -> Bool {
        let difference = UInt64(max(real, wanted) - min(real, wanted))
        return difference * 1000 <= UInt64(wanted) * 25
    }

    /// Raises or drops DTR. Ptys have no modem lines (ENOTTY) and some drivers say EINVAL: fine,
    /// then nobody waits for them either.
    func setDTR(_ on: Bool) throws(LinkProblem) {
        let error = relay_tty_set_dtr(descriptor.rawValue, on)
        guard error == 0 || error == ENOTTY || error == EINVAL else {
            throw .system("DTR of \(path) could not be set", errno: error)
        }
    }

    /// Forgets bytes that arrived before we listened: the tail of somebody else's conversation.
    func flush() {
        _ = relay_tty_flush(descriptor.rawValue)
    }

    /// Carrier detect; nil on a tty without modem lines.
    var carrier: Bool? {
        var carrier = false
        return relay_tty_get_carrier(descriptor.rawValue, &carrier) == 0 ? carrier : nil
    }

    /// Whether the driver has hung up (unplugged, or the RFCOMM peer refused).
    var isHungUp: Bool {
        var events = pollfd(fd: descriptor.rawValue, events: 0, revents: 0)
        return poll(&events, 1, 0) == 1 && events.revents & Int16(POLLHUP | POLLERR) != 0
    }

    /// The link's channel. Its pipeline starts with a handler that lets the driver send what it
    /// still has before a close that we asked for.
    consuming func makeChannel(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let hold = hold
        do {
            return try await DescriptorChannel.open(descriptor, on: loop) { channel in
                channel.closeFuture.whenComplete { _ in hold.end() }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TTYDrainHandler(hold: hold))
                }.flatMap { configure(channel) }
            }
        } catch {
            hold.end()
            throw error
        }
    }
}
