import CShims
import Glibc
import Logging

/// The thread of one terminal: makes the pseudo-terminal, notices who opens it, and moves bytes between it and the
/// hub while a program has it open.
///
/// Never waits for a client: bytes that a client does not take stay in the socket pair, and the hub, which sees
/// that, can drop whole messages. While no program has the terminal open, the thread waits for inotify to report an
/// open; the master itself would report a hang-up again and again.
final class TerminalPump {
    private let place: TerminalPlace
    private let mailbox: TerminalMailbox
    private let logger: Logger
    private let serve: (CInt) -> Void
    private var link: TerminalLink
    private var terminal: OpenTerminal
    private var client: HubSocket?
    /// Bytes from the hub for the client.
    private var toClient = PendingBytes()
    /// Bytes from the client for the hub.
    private var toHub = PendingBytes()
    /// No program has the terminal open any more; bytes sent before still go to the hub.
    private var hasHungUp = false
    /// A program has the terminal open, but the system had no socket pair left for it.
    private var mustLookAgain = false
    private var hasToldOfEcho = false

    /// Milliseconds to wait before asking again for a resource that the system has run out of.
    private static let retryMilliseconds: CInt = 1000
    private static let pieceBytes = 4096
    /// Pieces read from a client before the thread checks for other work.
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

    // MARK: - Clients

    /// Checks whether a program has opened the terminal, or has written to it and left again.
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

    /// The client has left, and all that it sent has reached the hub.
    private func clientLeft() {
        client?.close()
        forget()
        terminal.clear()
    }

    /// The hub has closed the connection: the client sees a hang-up, and finds a new terminal under the name.
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
        // Until the hub has taken the bytes read before, nothing more is read, not even the end.
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
        // While no program has the terminal open, nothing reads what is written to it.
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

    /// A terminal that echoes sends back to relayd whatever relayd writes: the client's bytes and the vehicle's
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

/// Bytes to be passed on, and how many of them have already gone.
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
