import CShims
import Glibc
import NIOCore
import Synchronization

/// An open tty, from open(2) to the return of its last close(2), both of which run on the device's own thread.
/// `SerialTransport` and `RFCOMMTransport` open one per link.
///
/// The channel gets two duplicates of the descriptor, and closes them on its loop; the descriptor here is closed
/// after them. Only the last close of a tty reaches its driver, which may block it.
final class TTY: Sendable {
    let path: String
    private let use: DeviceUse
    private let calls: DeviceCalls
    private let descriptor: Mutex<OwnedDescriptor?>

    /// Takes over an open tty, and the use that ends with it.
    init(
        _ descriptor: consuming OwnedDescriptor, _ use: DeviceUse, _ calls: DeviceCalls
    ) {
        self.descriptor = Mutex(descriptor)
        self.use = use
        self.calls = calls
        path = use.path
    }

    deinit { end() }

    // MARK: Opening

    /// How long opening and setting up may take. A USB adapter that has stopped answering costs its
    /// driver 5 s for each of several requests.
    static let openLimit: TimeAmount = .seconds(10)

    /// Opens the node, proves that it is a tty, locks other programs out and prepares it.
    ///
    /// - Parameters:
    ///   - explain: gives the problem for a failed open(2), by errno; nil for the usual one.
    ///   - prepare: runs on the device's thread, where it may block.
    static func open(
        _ path: String, _ calls: DeviceCalls = .shared, on loop: any EventLoop,
        within limit: TimeAmount = openLimit,
        explain: @escaping @Sendable (CInt) -> LinkProblem? = { _ in nil },
        prepare: @escaping @Sendable (TTY) throws(LinkProblem) -> Void
    ) async throws(LinkProblem) -> TTY {
        let use = try await calls.begin(path, on: loop)
        let opened = await use.perform("opening", within: limit) {
            openAndPrepare(use, calls, explain, prepare)
        }
        guard let opened else {
            if Task.isCancelled {
                throw LinkProblem(.closedHere, "relayd stopped opening \(path)")
            }
            throw LinkProblem(
                .timedOut,
                "opening \(path) has not returned within \(limit.nanoseconds / 1_000_000_000) s: "
                    + "its driver waits for the device, or hangs",
                remedy: "unplug the device; if that does not help, restart the machine")
        }
        return try opened.get()
    }

    /// O_NONBLOCK: a tty without carrier, or an RFCOMM peer that refuses, would block for up to a
    /// minute. O_NOCTTY: the device must not become our controlling terminal and send us SIGHUP.
    private static func openAndPrepare(
        _ use: DeviceUse, _ calls: DeviceCalls, _ explain: (CInt) -> LinkProblem?,
        _ prepare: (TTY) throws(LinkProblem) -> Void
    ) -> Result<TTY, LinkProblem> {
        let opened = Glibc.open(use.path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else {
            let error = errno
            use.end()
            return .failure(
                explain(error)
                    ?? DeviceNode(use.path).problem(
                        opening: error, others: SerialSurvey.plugged()))
        }
        let tty = TTY(OwnedDescriptor(opened), use, calls)
        do throws(LinkProblem) {
            try tty.proveTerminal()
            try tty.lock()
            try prepare(tty)
            return .success(tty)
        } catch {
            // On this thread, where it may block, so that the next attempt finds the device free.
            tty.letGo()
            return .failure(error)
        }
    }

    private func proveTerminal() throws(LinkProblem) {
        let error = relay_tty_get_settings(raw, nil, nil, nil)
        guard error != 0 else { return }
        throw error == ENOTTY || error == EINVAL
            ? DeviceNode(path).notATerminal()
            : problem("\(path) does not answer", errno: error)
    }

    /// TIOCEXCL does not bind root, and cannot be requested atomically: flock decides between two relayds, TIOCEXCL
    /// keeps all other programs out from here on.
    private func lock() throws(LinkProblem) {
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            throw DeviceNode(path).problem(opening: errno == EWOULDBLOCK ? EBUSY : errno)
        }
        isLocked.store(true, ordering: .releasing)
        let error = relay_tty_set_exclusive(raw, true)
        guard error == 0 else {
            throw problem("\(path) could not be opened exclusively", errno: error)
        }
    }

    /// Whether the exclusive flag may be ours to clear.
    private let isLocked = Atomic(false)

    /// Every request to a tty that has hung up fails with EIO; one whose device is gone may say
    /// ENODEV.
    private func problem(_ what: String, errno error: CInt) -> LinkProblem {
        error == EIO || error == ENODEV || error == ENXIO
            ? LinkProblem(
                .vanished, "\(path) hung up while it was being opened",
                remedy: "plug the device in again, and check its cable")
            : .system(what, errno: error)
    }

    /// Valid until `end`; a negative one makes every call fail with EBADF.
    private var raw: CInt { descriptor.withLock { $0?.rawValue ?? -1 } }
}

// MARK: - Settings

extension TTY {
    /// Sets raw mode, 8N1; a nil `baud` leaves the rate alone. The settings that the driver made are compared with
    /// those requested, because drivers round or ignore silently.
    func setRaw(baud: UInt32?, rtsCts: Bool) throws(LinkProblem) {
        let failed = relay_tty_set_raw(raw, baud ?? 0, rtsCts)
        guard failed == 0 else {
            let refused = problem("\(path) could not be set up", errno: failed)
            if refused.code == .vanished { throw refused }
            throw LinkProblem(
                .unsupported,
                "the driver of \(path) refused "
                    + (baud.map { "\($0) baud" } ?? "raw mode")
                    + ": \(systemMessage(failed))",
                remedy: baud.map { _ in "choose another baud= in the head unit's address" })
        }
        var realBaud: UInt32 = 0
        var realRTSCTS = false
        let unreadable = relay_tty_get_settings(raw, &realBaud, &realRTSCTS, nil)
        guard unreadable == 0 else {
            throw problem("the settings of \(path) could not be read back", errno: unreadable)
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
                remedy: "use flow=none in the head unit's address")
        }
    }

    /// A UART samples the tenth bit of a character half a bit late at 5 % difference between both
    /// ends; each end may use up half of that, and the other end has its own error: 2.5 %.
    static func isCloseEnough(_ real: UInt32, to wanted: UInt32) -> Bool {
        let difference = UInt64(max(real, wanted) - min(real, wanted))
        return difference * 1000 <= UInt64(wanted) * 25
    }

    /// Raises or drops DTR. Ptys have no modem lines (ENOTTY) and some drivers return EINVAL; that is fine, since
    /// nothing waits for the lines then.
    func setDTR(_ on: Bool) throws(LinkProblem) {
        let error = relay_tty_set_dtr(raw, on)
        guard error == 0 || error == ENOTTY || error == EINVAL else {
            throw problem("DTR of \(path) could not be set", errno: error)
        }
    }

    /// Discards bytes that arrived before we listened: the tail of an earlier conversation.
    func flush() {
        _ = relay_tty_flush(raw)
    }

    /// Carrier detect; nil on a tty without modem lines.
    var carrier: Bool? {
        var carrier = false
        return relay_tty_get_carrier(raw, &carrier) == 0 ? carrier : nil
    }

    /// Waits until the driver hangs up (unplugged, or the RFCOMM peer refused).
    ///
    /// - Returns: Whether the driver hung up within the time.
    func hangsUp(withinMilliseconds limit: CInt) -> Bool {
        var events = pollfd(fd: raw, events: 0, revents: 0)
        return poll(&events, 1, limit) == 1 && events.revents & Int16(POLLHUP | POLLERR) != 0
    }

    /// The device is no longer waited for.
    var isAbandoned: Bool { use.isAbandoned }

    /// Reads after what is in the buffer, without waiting. The end of the tty and errors are left to the channel,
    /// which finds them again.
    ///
    /// - Returns: How many bytes were read; 0 when there are none.
    func readMore(into buffer: inout ByteBuffer, upTo size: Int) -> Int {
        descriptor.withLock { descriptor in
            guard let fd = descriptor?.rawValue, buffer.writerIndex < size else { return 0 }
            let wanted = size - buffer.writerIndex
            return buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { room in
                max(0, Glibc.read(fd, room.baseAddress, wanted))
            }
        }
    }

    /// Bytes the driver has not sent; 0 when it cannot tell. Does not wait.
    var queuedBytes: Int {
        descriptor.withLock { descriptor in
            var bytes: CInt = 0
            guard let fd = descriptor?.rawValue else { return 0 }
            return relay_tty_output_queue(fd, &bytes) == 0 ? Int(bytes) : 0
        }
    }
}

// MARK: - The link

extension TTY {
    /// The link's channel. Its pipeline starts with a handler that lets the driver send its remaining bytes before
    /// a close that we asked for, and that reports why the tty hung up.
    ///
    /// - Parameter hangUp: what a hang-up means.
    func makeChannel(
        on loop: any EventLoop, hangUp: LinkProblem, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let copy = descriptor.withLock { descriptor in
            guard let fd = descriptor?.rawValue else { return -1 as CInt }
            return fcntl(fd, F_DUPFD_CLOEXEC, 0)
        }
        guard copy >= 0 else { throw .system("\(path) could not be duplicated", errno: errno) }
        do {
            return try await DescriptorChannel.open(OwnedDescriptor(copy), on: loop) { channel in
                channel.closeFuture.whenComplete { _ in self.end() }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        TTYLinkHandler(tty: self, hangUp: hangUp))
                }.flatMap { configure(channel) }
            }
        } catch {
            // The failure is thrown only once the device is free again, or releasing it has taken too long.
            _ = await end().outcome()
            throw error
        }
    }

    /// Releases the tty, on the device's thread. Further calls do nothing.
    ///
    /// Output that the device has not taken is discarded; not every driver does that when asked, so a close that
    /// waits for it is interrupted. The exclusive flag belongs to the tty and not to our descriptors, and another
    /// program may have opened the tty before us, so the flag is cleared. So is the lock, which belongs to the open
    /// file: a program that is just being started has a copy of every descriptor until it executes, and would keep
    /// the device locked for that long.
    ///
    /// - Returns: Succeeds when the device is free again, or when it has taken too long.
    @discardableResult
    func end() -> EventLoopFuture<Void> {
        guard let fd = taken() else { return use.freed }
        // Also called by `deinit`: the closure must not keep this object alive.
        use.close { [calls, wasLocked = isLocked.load(ordering: .acquiring)] in
            Self.close(fd, wasLocked: wasLocked, calls)
        }
        return use.freed
    }

    /// The same at once, for a caller on the device's thread.
    private func letGo() {
        guard let fd = taken() else { return }
        Self.close(fd, wasLocked: isLocked.load(ordering: .acquiring), calls)
        use.end()
    }

    private func taken() -> CInt? { descriptor.withLock { $0.take()?.release() } }

    private static func close(_ fd: CInt, wasLocked: Bool, _ calls: DeviceCalls) {
        // A tty that another program has locked is left as it is.
        if wasLocked {
            _ = relay_tty_flush(fd)
            _ = relay_tty_set_exclusive(fd, false)
            _ = flock(fd, LOCK_UN)
        }
        calls.close(fd)
    }
}
