import ControlAPI
import Dispatch
import Glibc
import MessageFilters
import Synchronization

/// A running `relayctl top`: passes news and keys to the model, and draws it.
final class TopSession {
    /// Why the session ended.
    enum Ending: Equatable {
        case quit
        case signal(Int32)
        /// The terminal is gone.
        case hungUp
    }

    private let feed: TopFeed
    private let screen: TopScreen
    private let style: Style
    private let input: TopInput
    private let wakes: AsyncStream<Void>
    private var model: TopModel
    private var tasks: [Task<Void, Never>] = []

    /// Time between two screens.
    private static let interval = Duration.milliseconds(100)

    /// Takes over the terminal.
    ///
    /// - Throws: `TopScreen.Problem`.
    init(
        client: ControlClient, style: Style, terminal: String, model: TopModel
    ) throws(TopScreen.Problem) {
        let (wakes, wake) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakes = wakes
        self.style = style
        self.model = model
        // Done before ncurses starts, which leaves alone any signal that is already caught.
        guard let signals = TopSignals.start() else {
            throw TopScreen.Problem(description: String(cString: strerror(errno)))
        }
        screen = try TopScreen(terminal: terminal)
        input = TopInput(signals: signals) { wake.yield() }
        let inbox = TopInbox { wake.yield() }
        feed = TopFeed(client: client, inbox: inbox, hasColours: style.isOn)
    }

    /// Returns when the session ends.
    func run() async -> Ending {
        let feed = feed
        let asking = Task { await feed.ask() }
        follow()
        defer {
            asking.cancel()
            for task in tasks { task.cancel() }
            screen.close()
        }
        let clock = ContinuousClock()
        var next = clock.now
        draw()
        for await _ in wakes {
            // News that arrives in the meantime is shown together.
            try? await clock.sleep(until: next)
            next = clock.now + Self.interval
            if let ending = takeInput() { return ending }
            for news in feed.inbox.take() { model.take(news) }
            draw()
        }
        return .quit
    }

    /// Handles signals, then keys.
    private func takeInput() -> Ending? {
        if let number = takeSignals() { return .signal(number) }
        for key in screen.keys() {
            for action in model.press(key) {
                if action == .quit { return .quit }
                perform(action)
            }
        }
        return input.goOn() ? nil : .hungUp
    }

    /// - Returns: A signal that ends the program.
    private func takeSignals() -> Int32? {
        for number in input.signals() {
            switch number {
            case SIGTSTP:
                if let ending = stop() { return ending }
            case SIGCONT: screen.resume()
            case SIGWINCH: screen.fitSize()
            default: return number
            }
        }
        return nil
    }

    /// Stops this process, as ^Z should, until it has the terminal again.
    ///
    /// - Returns: A signal received meanwhile that ends the program, as after 'kill %1'.
    private func stop() -> Int32? {
        screen.suspend()
        var reason = SIGTSTP
        repeat {
            TopSignals.stop(by: reason)
            let news = input.signals(waiting: TopSignals.isInBackground)
            if let ending = news.first(where: TopSignals.ending.contains) { return ending }
            // When continued in the background, it must not write to the terminal.
            reason = SIGTTOU
        } while TopSignals.isInBackground
        screen.resume()
        return nil
    }

    private func perform(_ action: TopModel.Action) {
        switch action {
        case .quit: break
        case .redraw: screen.forget()
        case .follow: follow()
        case .open(let number):
            let feed = feed
            Task { await feed.open(number) }
        }
    }

    private func follow() {
        for task in tasks { task.cancel() }
        let (feed, query, stream) = (feed, model.query, model.stream)
        tasks = [Task { await feed.follow(query, stream: stream) }]
        if model.isNarrowed { tasks.append(Task { await feed.followAnswers() }) }
    }

    private func draw() {
        let view = TopView(rows: screen.rows, columns: screen.columns, style: style)
        model.pageRows = max(1, screen.rows / 2)
        let frame = view.frame(model, now: .now)
        model.clampPage(to: frame.lastOffset)
        screen.draw(frame)
    }
}

/// Waits for keys and signals on a thread of its own, because waiting for a terminal blocks.
private final class TopInput: Sendable {
    private let signalPipe: Int32
    private let isHungUp = Atomic<Bool>(false)
    /// Signalled when the session has taken the input.
    private let taken = DispatchSemaphore(value: 0)
    private let isWaiting = Atomic<Bool>(false)

    init(signals: Int32, wake: @escaping @Sendable () -> Void) {
        signalPipe = signals
        DispatchQueue(label: "relayctl.top.input").async { [self] in watch(wake) }
    }

    private func watch(_ wake: () -> Void) {
        while true {
            var ends = [
                pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signalPipe, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&ends, nfds_t(ends.count), -1)
            if count < 0, errno == EINTR { continue }
            let gone = Int16(POLLHUP | POLLERR | POLLNVAL)
            if count < 0 || ends[0].revents & gone != 0 {
                isHungUp.store(true, ordering: .releasing)
            }
            isWaiting.store(true, ordering: .releasing)
            wake()
            taken.wait()
        }
    }

    /// Milliseconds within which signals sent together have all arrived.
    private static let together: Int32 = 200

    /// Numbers of the received signals.
    ///
    /// - Parameter isWaiting: Whether to wait for other signals sent together with one that has arrived.
    func signals(waiting isWaiting: Bool = false) -> [Int32] {
        if isWaiting { poll(nil, 0, Self.together) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(signalPipe, &bytes, bytes.count)
        return bytes.prefix(max(0, count)).map { Int32($0) }
    }

    /// To be called after keys and signals were taken; returns false when no more will arrive.
    func goOn() -> Bool {
        if isWaiting.exchange(false, ordering: .acquiringAndReleasing) { taken.signal() }
        return !isHungUp.load(ordering: .acquiring)
    }
}
