import CShims
import Glibc
import HostNames
import NIOCore
import Synchronization

/// The interface to the gadget's thread, which starts with the first request and ends with this object.
/// `GadgetTransport` has one.
final class GadgetPump: Sendable {
    private let mailbox: GadgetMailbox
    private let makeThread: @Sendable (GadgetMailbox) -> GadgetThread
    private let loop = Mutex<(any EventLoop)?>(nil)

    init(_ details: LinkDetails, makeThread: @escaping @Sendable (GadgetMailbox) -> GadgetThread) {
        mailbox = GadgetMailbox(details)
        self.makeThread = makeThread
    }

    deinit {
        mailbox.stop()
        if let loop = loop.withLock({ $0 }) { Self.interrupt(mailbox, on: loop) }
    }

    /// Waits for the head unit, as long as it takes.
    func open(
        on loop: any EventLoop, listening: @escaping @Sendable (String) -> Void
    ) async throws(LinkProblem) -> USBOpened {
        try await start(on: loop)
        let ticket = USBMailbox.Ticket()
        let promise = loop.makePromise(of: Result<USBOpened, LinkProblem>.self)
        let isGiven = Atomic(false)
        mailbox.post(
            .open(
                GadgetMailbox.OpenRequest(ticket: ticket, listening: listening) { result in
                    if !isGiven.exchange(true, ordering: .acquiringAndReleasing) {
                        promise.succeed(result)
                    } else if case .success(let late) = result {
                        close(late.socket)
                    }
                }))
        let result = await withTaskCancellationHandler {
            await promise.futureResult.outcome()
        } onCancel: {
            mailbox.post(.cancel(ticket))
            // The thread answers when the gadget is off the bus, unless its driver hangs.
            loop.scheduleTask(in: USBLinkHandler.closeLimit) {
                guard !isGiven.exchange(true, ordering: .acquiringAndReleasing) else { return }
                promise.succeed(
                    .failure(
                        LinkProblem(.closedHere, "relayd stopped waiting for the head unit")))
            }
        }
        return try result.linkValue("the gadget could not be opened").get()
    }

    /// Starts the thread from the relay's loop: a thread inherits the nice value of the one that starts it.
    private func start(on loop: any EventLoop) async throws(LinkProblem) {
        let error = await loop.submit { self.startOnce(on: loop) }.outcome()
        let code = try error.linkValue("a thread for the gadget could not be started")
        guard code == 0 else {
            throw .system("a thread for the gadget could not be started", errno: code)
        }
    }

    private func startOnce(on loop: any EventLoop) -> CInt {
        self.loop.withLock { known in
            guard known == nil else { return 0 }
            var error = relay_interrupt_prepare()
            if error == 0 {
                error = DetachedThread.run { [mailbox, makeThread] in
                    let thread = pthread_self()
                    mailbox.begins(thread)
                    makeThread(mailbox).run()
                    mailbox.ends()
                }
            }
            if error == 0 { known = loop }
            return error
        }
    }

    /// The thread may be waiting for bytes that a host has announced and does not send.
    private static func interrupt(_ mailbox: GadgetMailbox, on loop: any EventLoop) {
        loop.scheduleTask(in: DeviceCalls.interruptDelay) {
            if mailbox.interrupt() { interrupt(mailbox, on: loop) }
        }
    }
}

/// Requests to the gadget's thread, which polls one end of a socket pair for them.
final class GadgetMailbox: Sendable {
    struct OpenRequest: Sendable {
        let ticket: USBMailbox.Ticket
        let listening: @Sendable (String) -> Void
        let reply: @Sendable (Result<USBOpened, LinkProblem>) -> Void
    }

    enum Message: Sendable {
        case open(OpenRequest)
        /// The request is no longer waited for.
        case cancel(USBMailbox.Ticket)
        case link(USBMailbox.Ticket, GadgetLink.News)
    }

    private struct State {
        var messages: [Message] = []
        var mustStop = false
        var thread: pthread_t?
    }

    /// Gets what becomes known about the links.
    let details: LinkDetails
    let wakeUp: CInt
    private let wake: CInt
    private let state = Mutex(State())

    init(_ details: LinkDetails) {
        self.details = details
        var ends: [CInt] = [-1, -1]
        // Not a pipe(2): a program that is being started would inherit it. Without the pair (no descriptors left)
        // the thread cannot be reached, and opens nothing.
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        _ = socketpair(AF_UNIX, CInt(kind), 0, &ends)
        (wakeUp, wake) = (ends[0], ends[1])
    }

    deinit {
        if wakeUp >= 0 { close(wakeUp) }
        if wake >= 0 { close(wake) }
    }

    var mustStop: Bool { state.withLock { $0.mustStop } }

    func post(_ message: Message) {
        state.withLock { $0.messages.append(message) }
        ring()
    }

    /// Tells the thread to end.
    func stop() {
        state.withLock { $0.mustStop = true }
        ring()
    }

    private func ring() {
        var byte: UInt8 = 0
        // A full socket wakes the thread just as well.
        _ = write(wake, &byte, 1)
    }

    func take() -> [Message] {
        var bytes: UInt64 = 0
        while read(wakeUp, &bytes, 8) > 0 {}
        return state.withLock { state in
            defer { state.messages.removeAll() }
            return state.messages
        }
    }

    func begins(_ thread: pthread_t) { state.withLock { $0.thread = thread } }
    func ends() { state.withLock { $0.thread = nil } }

    /// - Returns: Whether there is a thread to interrupt.
    func interrupt() -> Bool {
        state.withLock { state in
            guard let thread = state.thread else { return false }
            _ = relay_thread_interrupt(thread)
            return true
        }
    }
}
