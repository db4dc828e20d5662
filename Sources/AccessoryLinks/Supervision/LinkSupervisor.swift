import Glibc
package import Logging
package import NIOCore
import Synchronization

/// Keeps one link open: opens it, hands the channel to the hub, awaits its end, waits, opens again.
///
/// `Daemon` makes one per accessory and runs it as a task. Everything that happens (an attempt ended, the channel
/// closed, the node changed, a timer fired, a reopen was requested) arrives in one mailbox, which `run()` reads;
/// `ReconnectPolicy` decides what follows. Attempts run beside it, one at a time.
package final class LinkSupervisor: Sendable {
    fileprivate enum Event: Sendable {
        case listening(at: String, attempt: Int)
        case attemptEnded(attempt: Int)
        case channelClosed(generation: Int)
        case nodeChanged
        case timerFired(generation: Int)
        case reopenRequested(at: ContinuousClock.Instant)
    }

    /// The longest that closing a link of any kind takes when the device or its driver does not answer.
    package static let closeLimit = max(
        USBLinkHandler.closeLimit, TTYLinkHandler.drainLimit + DeviceCalls.closeLimit)

    private let transport: any AccessoryTransport
    private let address: AccessoryAddress
    private let loop: any EventLoop
    private let executor: (any TaskExecutor)?
    private let logger: Logger
    private let configure: ChannelSetup
    private let onStateChange: @Sendable (ConnectionState) -> Void
    private let beforeClose: @Sendable (String) async -> Void
    private let endReason = Mutex("relayd stops")
    private let mailbox: AsyncStream<Event>
    private let events: AsyncStream<Event>.Continuation

    /// - Parameters:
    ///   - loop: where every channel of this link lives.
    ///   - executor: where attempts to open the link run; the system's thread pool, when not given.
    ///   - configure: adds the hub's handlers; runs on the loop once per link.
    ///   - onStateChange: gets every change, in order, from the task that runs `run()`.
    ///   - beforeClose: gets the reason why an open link is about to be closed here.
    package init(
        transport: any AccessoryTransport, address: AccessoryAddress, loop: any EventLoop,
        executor: (any TaskExecutor)? = nil, logger: Logger, configure: @escaping ChannelSetup,
        onStateChange: @escaping @Sendable (ConnectionState) -> Void,
        beforeClose: @escaping @Sendable (String) async -> Void = { _ in }
    ) {
        self.transport = transport
        self.address = address
        self.loop = loop
        self.executor = executor
        self.logger = logger
        self.configure = configure
        self.onStateChange = onStateChange
        self.beforeClose = beforeClose
        (mailbox, events) = AsyncStream.makeStream()
    }

    /// Closes the link if it is open, or stops listening, and opens it again, without waiting.
    ///
    /// - Parameter moment: When the reopen was requested; a link opened since then stays.
    package func reopen(askedAt moment: ContinuousClock.Instant = .now) {
        events.yield(.reopenRequested(at: moment))
    }

    /// Sets the reason to give when `run()` ends with an open link.
    package func willEnd(because reason: String) {
        endReason.withLock { $0 = reason }
    }

    /// Keeps the link until the task is cancelled; then closes it and returns. To be called once.
    package func run() async {
        var run = Run(supervisor: self)
        if !Task.isCancelled { await run.open(reportOpening: true) }
        for await event in mailbox {
            // Events from before the cancellation must not open anything any more.
            guard !Task.isCancelled else { break }
            await run.receive(event)
        }
        await run.end()
    }
}

// MARK: - One attempt

extension LinkSupervisor {
    fileprivate enum Outcome: Sendable {
        case opened(any Channel, LinkEndRecorder)
        case failed(LinkProblem)
    }

    /// Opens the accessory once, beside the mailbox, since a transport that listens may take for ever. The attempt
    /// has a task of its own, because it must end with the supervisor and not with one event.
    fileprivate func attempt(_ number: Int) -> Task<Outcome, Never> {
        Task(executorPreference: executor) { [transport, loop, configure, events] in
            defer { events.yield(.attemptEnded(attempt: number)) }
            let recorder = LinkEndRecorder()
            do throws(LinkProblem) {
                let channel = try await transport.open(on: loop) { channel in
                    recorder.configure(channel, around: configure)
                } listening: { place in
                    events.yield(.listening(at: place, attempt: number))
                }
                return .opened(channel, recorder)
            } catch {
                return .failed(error)
            }
        }
    }
}

extension LinkSupervisor {
    /// The state of one call of `run()`.
    private struct Run {
        let supervisor: LinkSupervisor
        var policy = ReconnectPolicy(startingAt: .now)
        var report: LinkReport
        /// The open link; its recorder knows why it ended.
        var link: (channel: any Channel, recorder: LinkEndRecorder, since: ContinuousClock.Instant)?
        /// The attempt that is under way.
        var attempt: Attempt?
        /// Counts attempts, so that events of an earlier one are recognised.
        var attempts = 0
        /// Counts links, so that events of an earlier one are recognised.
        var linkGeneration = 0
        var timer: Scheduled<Void>?
        var timerGeneration = 0
        var watcher: (any DevicePresence)?
        /// The obstacle when the link's end or a failed attempt was reported.
        var knownObstacle: LinkProblem?

        struct Attempt {
            let number: Int
            let task: Task<Outcome, Never>
            var isListening = false
            /// A reopen was asked for meanwhile.
            var isReopenWanted = false
            /// The device's node has changed meanwhile.
            var hasNodeNews = false
        }

        init(supervisor: LinkSupervisor) {
            self.supervisor = supervisor
            report = LinkReport(
                address: supervisor.address, logger: supervisor.logger,
                onStateChange: supervisor.onStateChange)
        }

        private var node: DeviceNode? { supervisor.transport.deviceNode.map { DeviceNode($0) } }

        /// Nil when only an attempt can tell: there is nothing to watch, or no watcher.
        private var nodeExists: Bool? { watcher?.isWorthTrying }

        private var obstacle: LinkProblem? {
            watcher.flatMap { $0.isWorthTrying ? nil : $0.absence }
        }

        mutating func receive(_ event: Event) async {
            switch event {
            case .listening(let place, let number):
                guard number == attempt?.number else { return }
                attempt?.isListening = true
                policy.listens()
                // The transport listens anew, which is all that was asked for, unless it has been told to stop.
                if attempt?.task.isCancelled == false { attempt?.isReopenWanted = false }
                report.listening(at: place)
            case .attemptEnded(let number):
                if number == attempt?.number { await attemptEnded() }
            case .channelClosed(let generation):
                if generation == linkGeneration { await linkEnded() }
            case .timerFired(let generation):
                if generation == timerGeneration { await open() }
            case .nodeChanged:
                await nodeChanged()
            case .reopenRequested(let moment):
                await reopen(askedAt: moment)
            }
        }

        private mutating func nodeChanged() async {
            guard attempt == nil else {
                attempt?.hasNodeNews = true
                return
            }
            guard let watcher else { return }
            if watcher.failure != nil {
                // The watcher has failed; an attempt finds out what is there, and sets a timer.
                stopWatching()
                await open()
            } else if let step = policy.nodeChanged(exists: watcher.isWorthTrying, at: .now) {
                if step == .awaitNode {
                    report.waiting(watcher.absence, attempts: policy.attempts)
                }
                await follow(step)
            } else if let news = obstacle, news != knownObstacle {
                // Still not worth a try, but for another reason: two devices instead of none.
                knownObstacle = news
                report.waiting(news, attempts: policy.attempts)
            }
        }

        // MARK: Opening

        mutating func open(reportOpening: Bool = false) async {
            cancelTimer()
            policy.attemptStarts(at: .now)
            if reportOpening { report.opening() }
            // Armed before the attempt: a device that appears during it must not be missed.
            await startWatching()
            attempts += 1
            attempt = Attempt(number: attempts, task: supervisor.attempt(attempts))
        }

        private mutating func attemptEnded() async {
            guard let ended = attempt else { return }
            attempt = nil
            switch await ended.task.value {
            case .opened(let channel, let recorder):
                opened(channel, recorder)
            case .failed where ended.isReopenWanted:
                report.restart()
                await open(reportOpening: true)
            case .failed(let problem):
                await failed(problem)
                if ended.hasNodeNews { await nodeChanged() }
            }
        }

        private mutating func failed(_ problem: LinkProblem) async {
            let pace = supervisor.transport.pace(after: problem)
            let step = policy.openFailed(nodeExists: nodeExists, pace: pace, at: .now)
            if step == .awaitNode, supervisor.transport.deviceNode != nil, let obstacle {
                // The missing node explains any other error. If a USB device went away while it was being opened,
                // the attempt itself knows more.
                report.waiting(obstacle, attempts: policy.attempts)
            } else if problem.code == .permissionDenied, policy.isNodeSettling(at: .now) {
                report.settling(problem, attempts: policy.attempts)
            } else {
                report.waiting(problem, attempts: policy.attempts, isQuick: pace == .quick)
            }
            await follow(step)
        }

        private mutating func opened(_ channel: any Channel, _ recorder: LinkEndRecorder) {
            stopWatching()
            let now = ContinuousClock.now
            policy.opened(at: now)
            link = (channel, recorder, now)
            linkGeneration += 1
            report.opened(at: now)
            channel.closeFuture.whenComplete { [events = supervisor.events, linkGeneration] _ in
                events.yield(.channelClosed(generation: linkGeneration))
            }
        }

        // MARK: Waiting

        private mutating func linkEnded() async {
            guard let (_, recorder, _) = link else { return }
            link = nil
            await startWatching()
            let problem = LinkProblem.linkEnded(
                recorder.recorded, address: supervisor.address, node: node)
            let now = ContinuousClock.now
            let stable = policy.isStable(at: now)
            let step = policy.closed(nodeExists: nodeExists, at: now)
            report.ended(problem, attempts: policy.attempts, wasStable: stable)
            // The link ended for another reason, and now the device is missing too.
            if step == .awaitNode, problem.code != .vanished, let obstacle {
                report.waiting(obstacle, attempts: policy.attempts)
            }
            await follow(step)
        }

        private mutating func follow(_ step: ReconnectPolicy.Step) async {
            cancelTimer()
            knownObstacle = obstacle
            switch step {
            case .openNow:
                await open()
            case .openAfter(let delay):
                timer = supervisor.loop.scheduleTask(in: TimeAmount(delay)) {
                    [events = supervisor.events, timerGeneration] in
                    _ = events.yield(.timerFired(generation: timerGeneration))
                }
            case .awaitNode:
                break
            }
        }

        private mutating func cancelTimer() {
            timer?.cancel()
            timer = nil
            timerGeneration += 1
        }

        private mutating func startWatching() async {
            guard watcher == nil else { return }
            let events = supervisor.events
            do throws(LinkProblem) {
                watcher = try await supervisor.transport.watch(on: supervisor.loop) {
                    events.yield(.nodeChanged)
                }
                if let failure = watcher?.failure { throw failure }
            } catch {
                stopWatching()
                // Then the timer alone has to do.
                report.cannotWatch(error)
            }
        }

        private mutating func stopWatching() {
            watcher?.stop()
            watcher = nil
        }

        // MARK: Requests from outside

        private mutating func reopen(askedAt moment: ContinuousClock.Instant) async {
            guard attempt == nil else {
                // An attempt to connect ends by itself, and its link is new enough. An attempt that listens would
                // go on waiting.
                policy.restart()
                attempt?.isReopenWanted = true
                if attempt?.isListening == true { attempt?.task.cancel() }
                return
            }
            if let (_, _, since) = link, since > moment { return }
            policy.restart()
            if let (channel, _, _) = link {
                link = nil
                linkGeneration += 1
                await supervisor.beforeClose("reopened")
                try? await channel.close()
            }
            report.restart()
            await open(reportOpening: true)
        }

        mutating func end() async {
            cancelTimer()
            attempt?.task.cancel()
            if case .opened(let channel, let recorder)? = await attempt?.task.value {
                link = (channel, recorder, .now)
            }
            stopWatching()
            if let (channel, _, _) = link {
                link = nil
                await supervisor.beforeClose(supervisor.endReason.withLock { $0 })
                try? await channel.close()
            }
            report.closed()
        }
    }
}

extension LinkProblem {
    /// Why an open link ended, from what its recorder saw.
    fileprivate static func linkEnded(
        _ end: LinkEndRecorder.End, address: AccessoryAddress, node: DeviceNode?
    ) -> LinkProblem {
        if let node, !node.exists {
            return LinkProblem(
                .vanished, "\(node.path) went away",
                remedy: "plug the device in again; relayd opens it as soon as it appears")
        }
        switch end {
        case .peer:
            let name = address.language == .openxc ? "vehicle interface" : "head unit"
            return LinkProblem(.closedByPeer, "the \(name) at \(address) closed the link")
        case .ourselves:
            return LinkProblem(.closedHere, "relayd closed the link to \(address)")
        case .failed(let problem as LinkProblem):
            return problem
        case .failed(let error as IOError):
            let words = systemMessage(error.errnoCode)
            return LinkProblem(
                code(errno: error.errnoCode), "the link to \(address) failed: \(words)")
        case .failed(let error):
            return LinkProblem(.other, "the link to \(address) failed: \(error)")
        }
    }

    /// EIO means that a tty has hung up; ETIMEDOUT comes from keepalive.
    private static func code(errno error: CInt) -> Code {
        switch error {
        case ECONNRESET, EPIPE, EIO: .closedByPeer
        case ETIMEDOUT: .timedOut
        case EHOSTUNREACH, ENETUNREACH: .unreachable
        default: .other
        }
    }
}
