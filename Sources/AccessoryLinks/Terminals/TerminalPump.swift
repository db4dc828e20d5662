import CShims
import Glibc
import Logging

/// The thread of one terminal: makes the pseudo-terminal, notices who opens it, and moves bytes between it
/// and the hub while somebody has it open.
///
/// Never waits for a client: what a client does not take stays in the socket pair, and the hub, which sees
/// that, has whole messages to drop. While nobody has the terminal open, it waits for inotify to say that
/// somebody opens it; the master itself would report a hang-up again and again.
final class TerminalPump {
    private let place: TerminalPlace
    private let mailbox: TerminalMailbox
    private let logger: Logger
    private let serve: (CInt) -> Void
    private var link: TerminalLink
    private var terminal: OpenTerminal
    private var client: HubSocket?
    /// From the hub, for the client.
    private var toClient = PendingBytes()
    /// From the client, for the hub.
    private var toHub = PendingBytes()
    /// Nobody has it open any more; what was said before still goes to the hub.
    private var hasHungUp = false
    /// Somebody has it open, and the system had no socket pair for them.
    private var mustLookAgain = false
    private var hasToldOfEcho = false

    /// Until the next attempt to get what the system has no more of, in milliseconds.
    private static let retryMilliseconds: CInt = 1000
    private static let pieceBytes = 4096
    /// Read from a client before it is looked what else there is to do.
    private static let piecesInRow = 16

    /// - Parameter serve: takes the hub's end of a new client's socket pair.
    init(
        _ place: TerminalPlace, mailbox: TerminalMailbox, logger: Logger,
        serve: @escaping (CInt) -> Void
    ) throws(TerminalProblem) {
        self.place = place
        self.mailbox = mailbox
        self.logger = logger
        self.serve = serve
        var link = try TerminalLink(path: place.path)
        do throws(TerminalProblem) {
            terminal = try OpenTerminal(place)
            try link.point(at: terminal.path)
        } catch {
            link.remove()
            throw error
        }
        self.link = link
    }

    func run() {
        _ = relay_thread_set_name("terminal")
        while !mailbox.mustStop {
            if client == nil { look() }
            wait()
            advance()
        }
        end()
    }

    func end() {
        client?.close()
        client = nil
        link.remove()
        terminal.close()
    }

    // MARK: - Who is there

    /// Whether somebody has opened it, or has said something and left again.
    private func look() {
        mustLookAgain = false
        guard terminal.isInUse else { return }
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            mustLookAgain = true
            return
        }
        client = HubSocket(OwnedDescriptor(ends[0]))
        serve(ends[1])
    }

    /// The client has left, and all it said is with the hub.
    private func clientLeft() {
        client?.close()
        forget()
        terminal.clear()
    }

    /// The hub has closed the connection: the client hears a hang-up, and finds a new terminal under the name.
    private func hubLeft() {
        terminal.write(&toClient)
        client?.close()
        forget()
        terminal.close()
        renew()
    }

    private func forget() {
        client = nil
        toClient = PendingBytes()
        toHub = PendingBytes()
        hasHungUp = false
    }

    private func renew() {
        do throws(TerminalProblem) {
            terminal = try OpenTerminal(place)
            try link.point(at: terminal.path)
        } catch {
            terminal.close()
            logger.warning("no client can open a terminal at the moment: \(error)")
        }
    }

    // MARK: - Bytes

    /// Sleeps until something happens.
    private func wait() {
        var polled = [pollfd](repeating: pollfd(fd: -1, events: 0, revents: 0), count: 4)
        polled[0] = pollfd(fd: mailbox.wakeUp, events: Int16(POLLIN), revents: 0)
        if client == nil {
            polled[1] = pollfd(fd: terminal.watch, events: Int16(POLLIN), revents: 0)
        } else {
            // A hang-up is reported whether it is asked for or not.
            if let events = masterInterest {
                polled[2] = pollfd(fd: terminal.master, events: events, revents: 0)
            }
            if let events = client?.interest(hasBytes: !toHub.isEmpty, hasRoom: toClient.isEmpty) {
                polled[3] = pollfd(fd: client?.descriptor ?? -1, events: events, revents: 0)
            }
        }
        let timeout = terminal.isOpen && !mustLookAgain ? -1 : Self.retryMilliseconds
        guard poll(&polled, nfds_t(polled.count), timeout) > 0 else {
            if !terminal.isOpen { renew() }
            return
        }
        if polled[1].revents != 0 { terminal.forgetEvents() }
        if polled[3].revents != 0 { client?.polled(polled[3].revents) }
    }

    private var masterInterest: Int16? {
        // Until the hub has taken what was read, nothing more is, the end included.
        if hasHungUp || !toHub.isEmpty {
            return toClient.isEmpty || hasHungUp ? nil : Int16(POLLOUT)
        }
        return Int16(POLLIN) | (toClient.isEmpty ? 0 : Int16(POLLOUT))
    }

    private func advance() {
        guard client != nil else { return }
        sendToHub()
        var pieces = 0
        while toHub.isEmpty, pieces < Self.piecesInRow {
            pieces += 1
            switch terminal.read(&toHub, atMost: Self.pieceBytes) {
            case .some:
                hasHungUp = false
                refuseEcho()
                sendToHub()
            case .none:
                hasHungUp = false
                pieces = Self.piecesInRow
            case .hungUp: return clientLeft()
            }
        }
        // Nobody reads what is written to a terminal that nobody has open.
        if !toHub.isEmpty, !terminal.isInUse {
            hasHungUp = true
            toClient = PendingBytes()
        }
        if client?.hubIsGone == true, !toHub.isEmpty { toHub = PendingBytes() }
        takeFromHub()
    }

    private func sendToHub() {
        guard !toHub.isEmpty, client != nil else { return }
        let sent = toHub.rest { client?.send($0) ?? 0 }
        toHub.drop(sent)
    }

    private func takeFromHub() {
        terminal.write(&toClient)
        while toClient.isEmpty, client?.isDrained == false {
            var room = [UInt8](repeating: 0, count: Self.pieceBytes)
            let count = room.withUnsafeMutableBytes {
                client?.receive($0.baseAddress, atMost: $0.count) ?? 0
            }
            guard count > 0 else { break }
            if hasHungUp { continue }
            toClient = PendingBytes(room.prefix(count))
            terminal.write(&toClient)
        }
        guard client?.hubHasFinished == true, client?.isDrained == true || !toClient.isEmpty else {
            return
        }
        if hasHungUp { clientLeft() } else { hubLeft() }
    }

    /// A terminal that echoes says to relayd whatever relayd says to it: the client's words and the vehicle's
    /// cannot be told apart then.
    private func refuseEcho() {
        guard terminal.stopEcho() else { return }
        toHub = PendingBytes()
        guard !hasToldOfEcho else { return }
        hasToldOfEcho = true
        logger.warning(
            """
            \(place.path): the client has switched its terminal's echo on; relayd switches it off and \
            discards what came. Open the terminal in raw mode
            """)
    }
}

/// Bytes on their way, and how many of them have gone.
struct PendingBytes {
    private var bytes: [UInt8] = []
    private var head = 0

    init() {}
    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    var isEmpty: Bool { head == bytes.count }

    func rest<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[head...])) }
    }

    mutating func drop(_ count: Int) { head = min(head + count, bytes.count) }
}
