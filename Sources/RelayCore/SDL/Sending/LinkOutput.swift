// Output to the head unit: at once while the link takes everything, otherwise in the scheduler's order, no
// more at a time than the pacer allows, and no more of a session than the head unit tolerates.

import Logging
import NIOCore
import SDLProtocol

/// Decides which frames may go now, and writes them. One for all successive links of the hub; everything
/// here is called on the hub's loop.
///
/// In running order: the link comes and goes, a frame is forwarded, the kernel is asked what is still on
/// its way, waiting frames are written, sessions are held back for their rate, and sessions end.
final class LinkOutput {
    /// Unchecked: the check costs every frame two atomic operations. The hub owns this object, and pending
    /// timers keep the hub alive.
    private unowned(unsafe) let hub: Switchboard
    /// Unchecked too: it belongs to the hub, and owns this object. Apps refer to this object as well, but only the
    /// language calls it.
    private unowned(unsafe) let language: SDLLanguage
    private let logger: Logger
    private var link: LinkConnection?
    private var scheduler = LinkScheduler<SDLApp>()
    private var pacer = LinkPacer()
    private var pacing: SessionPacing
    /// Bytes written since the last flush.
    private(set) var unflushedBytes = 0
    private var isDraining = false
    /// The kernel has not taken all that was flushed; the channel tells when it has.
    private var isFull = false
    /// Sessions for which the router is to be told when none of their frames waits any more.
    private var draining = SessionSet()
    /// Fires when the kernel is next to be asked how much is on its way, while frames wait for it.
    private var pollTimer: Scheduled<Void>?
    /// Fires when the bytes that have left are next to be counted, while sessions are held or frames wait.
    private var slotTimer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?
    /// Frames written when the link was last found stalled.
    private var writtenWhenStalled: UInt64?

    init(_ language: SDLLanguage) {
        self.language = language
        hub = language.hub
        logger = hub.logger
        pacing = SessionPacing(limit: hub.configuration.framesPerSecond)
    }

    func reconfigure(_ configuration: RelayConfiguration) {
        pacing.limit = configuration.framesPerSecond
    }

    // MARK: - The link comes and goes

    func linkOpened(_ link: LinkConnection) {
        forget()
        self.link = link
    }

    /// Drops the waiting frames with the link; its sessions are over.
    func linkClosed() {
        link = nil
        stallTimer?.cancel()
        stallTimer = nil
        forget()
        for entry in scheduler.removeAll() { entry.app?.linkQueuedBytes = 0 }
        draining = SessionSet()
    }

    /// Forgets what was learnt about the link: the next one is learnt anew.
    private func forget() {
        pollTimer?.cancel()
        pollTimer = nil
        slotTimer?.cancel()
        slotTimer = nil
        pacing.linkClosed(at: hub.now)
        isFull = false
        unflushedBytes = 0
        pacer = LinkPacer()
    }

    // MARK: - A frame

    /// Writes the frame to the link, or queues it while the link is busy.
    func forward(_ frame: Frame, from origin: Origin<SDLApp>) {
        guard let link else { return }
        let bytes = frame.wire.readableBytes
        if unflushedBytes == 0 {
            noteWhetherFull(link)
            if pacer.isPollWelcome, !isFull { poll() }
        }
        if !scheduler.hasReady, !isFull, mayGo(frame, from: origin) {
            if bytes <= pacer.room { return write(frame, from: origin, to: link) }
            poll()
            if !isFull, bytes <= pacer.room, self.link === link {
                return write(frame, from: origin, to: link)
            }
        }
        // Polling flushes, and flushing may reveal that the link is gone: a frame queued now would go to
        // the next link, which has never heard of its session.
        guard self.link === link else { return }
        queue(frame, from: origin)
    }

    /// Whether the session's rate lets the frame go at once.
    ///
    /// The end of a session and relayd's own frames, a few at most, may exceed the limit unless something
    /// waits before them.
    @inline(__always)
    private func mayGo(_ frame: Frame, from origin: Origin<SDLApp>) -> Bool {
        if !pacing.isHeld(frame.sessionID) { return true }
        if frame.service.isStream { return true }
        return (origin.isRelay || frame.controlType == .endService)
            && !scheduler.isWaiting(frame.sessionID)
    }

    private func queue(_ frame: Frame, from origin: Origin<SDLApp>) {
        scheduler.enqueue(frame.keptCheaply, from: origin, at: hub.now)
        waitingHasChanged()
        guard let app = origin.app else { return }
        app.linkQueuedBytes += frame.wire.readableBytes
        if app.linkQueuedBytes >= hub.configuration.linkQueueBytes {
            app.connection.pause(.link)
            hub.countHit(of: .linkQueue)
        }
    }

    /// To be called when frames may have begun to wait for the link, or may have ceased to: they came or
    /// went, or their session was held, let go or ended.
    private func waitingHasChanged() {
        // Frames held back for their session's rate do not wait because of the link.
        guard scheduler.hasReady else {
            pacer.released()
            pollTimer?.cancel()
            pollTimer = nil
            return
        }
        pacer.held(at: hub.now)
        watchForStall()
        schedulePoll()
        watchWhatLeaves()
    }

    /// Every frame to the head unit passes through here, in the order the head unit gets them.
    @inline(__always)
    private func write(_ frame: Frame, from origin: Origin<SDLApp>, to link: LinkConnection) {
        while let end = language.router.endOfExpiring(
            before: frame, at: hub.now, arrivingIn: pacing.epochs.delay)
        {
            writeBetween(end, to: link)
        }
        let last = hub.link.counters.bytesOut &+ UInt64(frame.wire.readableBytes)
        if let end = language.router.willWrite(frame, from: origin, upTo: last, at: hub.now) {
            writeBetween(end, to: link)
        }
        put(frame, to: link)
        if origin.isRelay || frame.type == .control { language.router.wrote(frame, at: hub.now) }
        if !frame.service.isStream { count(frame.sessionID) }
    }

    @inline(__always)
    private func put(_ frame: Frame, to link: LinkConnection) {
        let bytes = frame.wire.readableBytes
        hub.link.counters.sent(bytes)
        pacing.epochs.wrote(upTo: hub.link.counters.bytesOut, at: hub.now)
        pacer.wrote(bytes)
        link.write(frame.wire)
        unflushedBytes += bytes
    }

    /// Writes the end of a half message right before the frame that would continue or expire it.
    @inline(never)
    private func writeBetween(_ end: Frame, to link: LinkConnection) {
        hub.tap.record(end, .fromApp, app: nil, time: hub.time, fate: .byRelay)
        put(end, to: link)
        count(end.sessionID)
    }

    func flush() {
        guard unflushedBytes > 0, let link else { return }
        unflushedBytes = 0
        link.flush()
        noteWhetherFull(link)
    }

    @inline(__always)
    private func noteWhetherFull(_ link: LinkConnection) {
        isFull = !link.isWritable
        if isFull {
            pacing.epochs.linkIsFull()
        } else {
            pacing.epochs.linkTookAll(at: hub.loop.now)
        }
    }

    // MARK: - Asking what is on its way

    /// Asks the kernel, because more may have gone than is known.
    ///
    /// - Parameter wasFull: Whether the kernel took no more until just now.
    private func poll(wasFull: Bool = false) {
        // Bytes that the kernel has not been given yet would count as gone.
        flush()
        guard let link, !isFull else { return }
        pacer.polled(unsent: link.bytesInKernel, isFull: wasFull, at: hub.loop.now)
    }

    /// Starts a timer, which runs only while frames wait for bytes in the kernel.
    private func schedulePoll() {
        guard pollTimer == nil, !isFull else { return }
        pollTimer = schedule(at: hub.loop.now + pacer.nextPoll) {
            self.pollTimer = nil
            guard !self.isFull else { return }
            self.poll()
            self.drain(mayPoll: true)
        }
    }

    // MARK: - Writing what waits

    /// Called when the kernel has taken what was flushed.
    func kernelTookAll() {
        isFull = false
        pacing.epochs.linkTookAll(at: hub.loop.now)
        guard !isDraining, scheduler.hasReady else { return }
        poll(wasFull: true)
        drain(mayPoll: true)
    }

    /// Called at the end of a read: a frame that has just come may be more important than those that wait,
    /// or small enough for the room there is.
    @inline(__always)
    func drainIfReady() {
        if scheduler.hasReady, !isFull { drain(mayPoll: false) }
    }

    /// Writes waiting frames, the scheduler's choice first, as far as there is room.
    ///
    /// - Parameter mayPoll: Whether to ask the kernel when no room is known of. Otherwise it is asked only
    ///   when enough has been written for a poll to be due.
    private func drain(mayPoll: Bool) {
        guard !isDraining, let link, scheduler.hasReady else { return }
        isDraining = true
        hub.now = hub.loop.now
        var resumable: [SDLApp] = []
        var hasPolled = !mayPoll
        while !isFull, scheduler.hasReady {
            let bytes = writeBatch(to: link, &resumable)
            if bytes > 0 {
                hasPolled = !mayPoll
                flush()
            } else {
                guard !hasPolled || pacer.isPollDue else { break }
                hasPolled = true
                poll()
            }
        }
        isDraining = false
        waitingHasChanged()
        for app in resumable { app.connection.resume(.link) }
        language.settle()
    }

    /// - Returns: Bytes written.
    private func writeBatch(to link: LinkConnection, _ resumable: inout [SDLApp]) -> Int {
        var bytes = 0
        while bytes < pacer.batchBytes, let entry = scheduler.next(at: hub.now, upTo: pacer.room) {
            write(entry.frame, from: entry.origin, to: link)
            let size = entry.frame.wire.readableBytes
            bytes += size
            if !draining.isEmpty { tellIfDrained(entry.frame.sessionID) }
            guard let app = entry.app else { continue }
            app.linkQueuedBytes -= size
            if app.connection.isPaused, app.linkQueuedBytes <= hub.configuration.linkQueueBytes / 2
            {
                resumable.append(app)
            }
        }
        return bytes
    }

    // MARK: - The rate of a session

    /// Whether the head unit would tolerate one more frame of the session now.
    @inline(__always)
    func allows(_ session: UInt8) -> Bool { !pacing.isFull(session, at: hub.now) }

    @inline(__always)
    private func count(_ session: UInt8) {
        if pacing.wrote(session, at: hub.now) { hold(session) }
    }

    @inline(never)
    private func hold(_ session: UInt8) {
        scheduler.hold(session)
        watchWhatLeaves()
    }

    /// Asks the kernel in every slot of the rates while sessions are held or frames wait.
    private func watchWhatLeaves() {
        guard slotTimer == nil else { return }
        slotTimer = schedule(at: RateGuard.nextSlot(after: hub.now)) {
            self.slotTimer = nil
            self.slotIsOver()
        }
    }

    private func slotIsOver() {
        hub.beginRead()
        let left = hub.link.counters.bytesOut &- UInt64(clamping: bytesInFlight)
        pacing.epochs.polled(left: left, at: hub.now)
        language.router.linkPolled(left: left, at: hub.now)
        for session in pacing.release(at: hub.now) { scheduler.release(session) }
        if pacing.held.isEmpty, !scheduler.hasReady {
            pacing.epochs.stopWatching(at: hub.now)
            language.router.linkUnwatched()
        } else {
            watchWhatLeaves()
        }
        drain(mayPoll: true)
        hub.endRead()
    }

    // MARK: - Ends of sessions

    /// Tells the router when the session's waiting frames have gone.
    func drain(_ session: UInt8) {
        draining.insert(session)
        tellIfDrained(session)
    }

    private func tellIfDrained(_ session: UInt8) {
        guard draining.contains(session), !scheduler.isWaiting(session) else { return }
        draining.remove(session)
        language.router.drained(session, at: hub.now)
    }

    /// Drops, counts and shows the waiting frames of a session that is over. The next app with its number
    /// must not be taken for their sender.
    func purge(_ session: UInt8) {
        let removed = scheduler.remove(session)
        for entry in removed {
            hub.tap.record(
                entry.frame, .fromApp, app: entry.app?.id, time: hub.time,
                fate: .dropped(.sessionOver(session)))
            guard let app = entry.app else { continue }
            app.linkQueuedBytes -= entry.frame.wire.readableBytes
            app.connection.refusals += 1
        }
        waitingHasChanged()
        // Whoever waited for these frames knows; the next app with the number has not asked yet.
        draining.remove(session)
        guard let app = removed.lazy.compactMap(\.app).first else { return }
        app.connection.lastProblem =
            "\(removed.count) frames dropped: session \(session) ended while they waited for the link"
        logger.info(
            "frames dropped: their session ended while they waited for the link",
            metadata: [
                "app": "\(app.id)", "session": "\(session)", "frames": "\(removed.count)",
            ])
        app.connection.resume(.link)
    }

    // MARK: - A head unit that takes nothing

    /// Reports a head unit that takes nothing while frames wait for it, once until it takes some.
    private func watchForStall() {
        let frames = hub.link.counters.framesOut
        guard stallTimer == nil, writtenWhenStalled != frames else { return }
        stallTimer = schedule(at: hub.loop.now + hub.configuration.stallTimeout) {
            self.stallTimer = nil
            guard !self.scheduler.isEmpty, self.link != nil else { return }
            guard self.hub.link.counters.framesOut == frames else {
                return self.watchForStall()
            }
            self.writtenWhenStalled = frames
            self.language.reporter.linkStalled(queuedBytes: self.scheduler.waitingBytes)
        }
    }
}

// MARK: - Time

extension LinkOutput {
    /// Runs `body` at the deadline, and keeps the hub alive until then, unless the timer is cancelled.
    private func schedule(
        at deadline: NIODeadline, _ body: @escaping () -> Void
    ) -> Scheduled<Void> {
        hub.loop.assumeIsolated().scheduleTask(deadline: deadline) { [hub] in
            withExtendedLifetime(hub) { body() }
        }
    }
}

// MARK: - For status and tests

extension LinkOutput {
    /// Bytes that wait for the link.
    var waitingBytes: Int { scheduler.waitingBytes }
    var waitingFrames: Int { scheduler.frames.count }
    /// The frames that wait for the link, in the order they came; a test measures the memory they keep alive.
    var allWaiting: [Frame] { scheduler.frames.entries.map(\.frame) }
    /// Bytes written that have not left for the head unit, as far as the kernel can tell.
    var bytesInFlight: Int { link.map { $0.bytesInChannel + $0.bytesInKernel } ?? 0 }
    /// How fast the link takes bytes, per second; nil until frames had to wait for it.
    var drainRate: Double? { pacer.rate }
    var heldSessions: SessionSet { pacing.held }
    /// Whether neither the poll timer nor the slot timer runs.
    var isTimeless: Bool { pollTimer == nil && slotTimer == nil }
}
