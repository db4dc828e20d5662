import Glibc
import NIOCore
import Synchronization

/// The interface to the one thread that speaks to libusb: asks it to open, to watch, to stop. The thread starts
/// with the first request and ends with this object. `USBTransport` has one.
final class USBPump: Sendable {
    private let mailbox = USBMailbox()
    private let details: LinkDetails
    private let isRunning = Mutex(false)

    /// - Parameter details: gets what becomes known about the links.
    init(_ details: LinkDetails) {
        self.details = details
    }

    deinit {
        mailbox.post(.stop)
    }

    /// Opens the device that the selector means, after switching it if need be.
    func open(
        _ selector: USBSelector, on loop: any EventLoop
    ) async throws(LinkProblem) -> USBOpened {
        try await start(on: loop)
        let ticket = USBMailbox.Ticket()
        let answer = USBAnswer<Result<USBOpened, LinkProblem>>(on: loop)
        mailbox.post(
            .open(
                .init(ticket: ticket, selector: selector, details: details) { result in
                    // The caller no longer waits for it, so the device is released again.
                    if !answer.give(result), case .success(let late) = result {
                        close(late.socket)
                    }
                }))
        let limit = loop.scheduleTask(in: Self.openLimit) {
            answer.give(.failure(Self.hangs("opening \(selector.address)", Self.openLimit)))
        }
        defer { limit.cancel() }
        let result = await withTaskCancellationHandler {
            await answer.value
        } onCancel: {
            mailbox.post(.cancel(ticket))
            // The thread answers when the device is free, unless it hangs in a driver.
            loop.scheduleTask(in: USBLinkHandler.closeLimit) {
                answer.give(
                    .failure(
                        LinkProblem(.closedHere, "relayd stopped opening \(selector.address)")))
            }
        }
        return try (result ?? .failure(Self.hangs("USB", Self.openLimit))).get()
    }

    /// A phone may take 5 s to come back in accessory mode, and a device that has stopped answering
    /// costs the kernel 5 s for each of several requests.
    private static let openLimit: TimeAmount = .seconds(30)

    /// Listing what is plugged in takes milliseconds.
    private static let listLimit: TimeAmount = .seconds(10)

    private static func hangs(_ what: String, _ limit: TimeAmount) -> LinkProblem {
        LinkProblem(
            .timedOut,
            "\(what) has not returned within \(limit.nanoseconds / 1_000_000_000) s: a USB driver "
                + "waits for a device, or hangs",
            remedy: "unplug the device; if that does not help, restart the machine")
    }

    /// Watches for devices; `onChange` is called on the pump's thread after each change.
    func watch(
        _ selector: USBSelector, on loop: any EventLoop, onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) -> USBPresence {
        try await start(on: loop)
        let answer = USBAnswer<LinkProblem?>(on: loop)
        mailbox.post(.enumerate { answer.give($0) })
        let limit = loop.scheduleTask(in: Self.listLimit) {
            answer.give(Self.hangs("listing USB devices", Self.listLimit))
        }
        defer { limit.cancel() }
        let problem = await withTaskCancellationHandler {
            await answer.value
        } onCancel: {
            answer.give(nil)
        }
        if let problem, let problem { throw problem }
        return USBPresence(selector, mailbox.board, onChange: onChange)
    }

    /// Starts the thread from the relay's loop: a thread inherits the nice value of the one that starts it, and the
    /// threads that open links also do decoding and logging, at a lower priority.
    private func start(on loop: any EventLoop) async throws(LinkProblem) {
        let error: CInt
        do {
            error = try await loop.submit { self.startOnce() }.get()
        } catch {
            throw .system("a thread for USB could not be started", errno: ECANCELED)
        }
        guard error == 0 else {
            throw .system("a thread for USB could not be started", errno: error)
        }
    }

    /// - Returns: an errno value, 0 when it runs.
    private func startOnce() -> CInt {
        isRunning.withLock { isRunning in
            guard !isRunning else { return 0 }
            let error = USBPumpThread.start(mailbox)
            isRunning = error == 0
            return error
        }
    }
}

/// The answer of the pump's thread to one question: only the first one counts.
private final class USBAnswer<Value: Sendable>: Sendable {
    private let promise: EventLoopPromise<Value>
    private let isGiven = Atomic(false)

    init(on loop: any EventLoop) {
        promise = loop.makePromise()
    }

    /// - Returns: Whether it was the first.
    @discardableResult
    func give(_ value: Value) -> Bool {
        guard !isGiven.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        promise.succeed(value)
        return true
    }

    /// Nil only when the loop has ended.
    var value: Value? {
        get async { try? await promise.futureResult.get() }
    }
}

/// An opened device: the hub's end of its socket pair, which the receiver owns, and how the link ends.
struct USBOpened: Sendable {
    let socket: CInt
    let end: USBLinkEnd
}

/// Requests to the pump's thread, which polls one end of a socket pair for them.
final class USBMailbox: Sendable {
    /// Tells one request from another.
    final class Ticket: Sendable {}

    struct OpenRequest: Sendable {
        let ticket: Ticket
        let selector: USBSelector
        /// Gets what becomes known about the link.
        let details: LinkDetails
        let reply: @Sendable (Result<USBOpened, LinkProblem>) -> Void
    }

    enum Request: Sendable {
        case open(OpenRequest)
        /// The request is no longer waited for.
        case cancel(Ticket)
        /// Answers when `board` shows all that is plugged in, or why it cannot.
        case enumerate(@Sendable (LinkProblem?) -> Void)
        case stop
    }

    let board = USBBoard()
    let wakeUp: CInt
    private let wake: CInt
    private let requests = Mutex<[Request]>([])

    init() {
        var ends: [CInt] = [-1, -1]
        // Without the pair (no descriptors left) the thread cannot be reached, which `start` reports. Not a
        // pipe(2): a program that is being started would inherit it.
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        _ = socketpair(AF_UNIX, CInt(kind), 0, &ends)
        (wakeUp, wake) = (ends[0], ends[1])
    }

    deinit {
        if wakeUp >= 0 { close(wakeUp) }
        if wake >= 0 { close(wake) }
    }

    func post(_ request: Request) {
        requests.withLock { $0.append(request) }
        var byte: UInt8 = 0
        // A full socket wakes the thread just as well.
        _ = write(wake, &byte, 1)
    }

    func take() -> [Request] {
        var bytes: UInt64 = 0
        while read(wakeUp, &bytes, 8) == 8 {}
        return requests.withLock { requests in
            defer { requests.removeAll() }
            return requests
        }
    }
}

/// What is plugged in, as the pump's thread last saw it, for all who watch.
final class USBBoard: Sendable {
    struct State {
        var devices: [USBDeviceDescription] = []
        /// Ports whose phone cannot be switched, and why; until it is unplugged.
        var refusals: [String: LinkProblem] = [:]
        var claims = AccessoryClaims()
        var watchers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    func publish(
        _ devices: [USBDeviceDescription], refusals: [String: LinkProblem],
        claims: AccessoryClaims
    ) {
        let watchers = state.withLock { state in
            state.devices = devices
            state.refusals = refusals
            state.claims = claims
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher() }
    }

    /// Why opening is not worth a try; nil when it is.
    func obstacle(_ selector: USBSelector) -> LinkProblem? {
        let (devices, refusals, claims) = state.withLock { ($0.devices, $0.refusals, $0.claims) }
        do throws(LinkProblem) {
            let choice = try selector.choose(among: devices, claims)
            if case .switchToAccessory(let phone) = choice {
                return refusals[phone.portPath]
            }
            return nil
        } catch {
            return error
        }
    }

    fileprivate func add(_ presence: USBPresence, _ onChange: @escaping @Sendable () -> Void) {
        state.withLock { $0.watchers[ObjectIdentifier(presence)] = onChange }
    }

    fileprivate func remove(_ presence: USBPresence) {
        state.withLock { $0.watchers[ObjectIdentifier(presence)] = nil }
    }
}

/// Whether the named device is plugged in, is the only one of its kind, and can be used.
final class USBPresence: DevicePresence {
    private let selector: USBSelector
    private let board: USBBoard

    fileprivate init(
        _ selector: USBSelector, _ board: USBBoard, onChange: @escaping @Sendable () -> Void
    ) {
        self.selector = selector
        self.board = board
        board.add(self, onChange)
    }

    var isWorthTrying: Bool { board.obstacle(selector) == nil }

    var absence: LinkProblem {
        board.obstacle(selector)
            ?? LinkProblem(.absent, "\(selector.address) is being plugged in")
    }

    var failure: LinkProblem? { nil }

    func stop() { board.remove(self) }
}
