// The app end of the hub: one per TCP connection, bytes ⇄ frames.

import NIOCore
import SDLProtocol

/// One app's connection. Lives on the link's event loop; owned by its channel and the switchboard.
///
/// Cuts whole frames, so that two apps can never interleave halves, and holds its socket's reads
/// while the link is busy, so that back pressure reaches the app's own TCP window.
final class AppHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: AppID
    let peer: String
    let connectedAt: WallTime
    private(set) var counters = TrafficCounters()
    var refusedFrames: UInt64 = 0
    /// Messages that relayd ended in its place.
    var endedMessages: UInt64 = 0
    /// Heartbeats of the head unit that relayd answered in its place.
    var answeredHeartbeats: UInt64 = 0
    /// Frames dropped behind its end, and their bytes.
    var unsaid = FrameSum()
    /// Why its latest frame was refused, if nothing else has gone wrong since. Put into words when
    /// somebody asks: an app may send thousands of such frames a second.
    var latestRefusal: DropReason?
    private var problem: String?
    /// Frames sent since the last flush.
    var needsFlush = false
    /// Those that have not been written yet.
    private var run = FrameRun()
    /// Bytes of this app that wait in the link's scheduler.
    var linkQueuedBytes = 0
    /// When its developer was last told that it is paced.
    var pacedNoticeAt: NIODeadline?
    private(set) var closeReason: CloseReason?

    private unowned let switchboard: Switchboard
    private var decoder: FrameDecoder
    private var rateGuard: RateGuard
    private let stallWatch: StallWatch<AppHandler>
    private let lingering: LingeringClose
    private var pauses: Pauses = []
    /// Runs until the first whole frame has come.
    private var silence: Scheduled<Void>?
    private var isReadHeld = false
    private var isPumping = false
    /// Its socket did not take all of what was flushed last.
    private var isBehind = false
    /// The connection is closed, or about to be; frames that came before are still passed on.
    private var hasEnded = false
    /// Until when its last words are paced after it has gone.
    private var lastWordsUntil: NIODeadline?
    private var context: ChannelHandlerContext?

    /// Why the app is not read at the moment.
    struct Pauses: OptionSet {
        var rawValue: UInt8
        /// Too many of its bytes wait for the link.
        static let link = Self(rawValue: 1)
        /// It nears the rate at which head units end a session.
        static let rate = Self(rawValue: 2)
    }

    init(id: AppID, peer: String, connectedAt: WallTime, switchboard: Switchboard) {
        self.id = id
        self.peer = peer
        self.connectedAt = connectedAt
        self.switchboard = switchboard
        let configuration = switchboard.configuration
        lingering = LingeringClose(patience: configuration.lingerPatience)
        decoder = FrameDecoder(
            rules: .fromApp(maximumPayloadBytes: configuration.maximumPayloadBytes),
            recovery: .fail)
        rateGuard = RateGuard(limit: configuration.framesPerSecond)
        stallWatch = StallWatch(timeout: configuration.stallTimeout) {
            $0.unfinishedFrame
        } stalled: {
            $0.switchboard.reporter.stalled($1, app: $0)
        }
    }

    /// The last thing that went wrong for this app, in a sentence.
    var lastProblem: String? {
        get { latestRefusal.map { "frame refused: \($0)" } ?? problem }
        set {
            problem = newValue
            latestRefusal = nil
        }
    }

    // MARK: Life

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        let timeout = switchboard.configuration.silentTimeout
        if timeout > .zero {
            silence = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
                self.silence = nil
                self.switchboard.silent(self)
            }
        }
        switchboard.appConnected(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        lingering.cancel()
        stopWaiting()
        // Whole frames that arrived before the end are still the app's word, as fast as the head
        // unit takes them: it would end the session for a flood, and not hear them at all.
        switchboard.beginRead()
        lastWordsUntil = switchboard.now + Self.lastWordsPatience
        pump(now: switchboard.now)
        leave()
        switchboard.endRead()
        // Nobody waits for it to read any more.
        if self.context != nil { switchboard.appDrained(self) }
    }

    /// How long the last words of an app that sent too fast may take. Its session stays as long, and
    /// its app ID with it; libraries come back after a second or more.
    ///
    /// No option: it follows from the libraries' own wait, and what it bounds is bounded by
    /// `apps.frames_per_second` already: two seconds of frames that came in one burst.
    static let lastWordsPatience: TimeAmount = .seconds(2)

    private func stopWaiting() {
        hasEnded = true
        pauses = []
        stallWatch.cancel()
        silence?.cancel()
        silence = nil
    }

    /// After the last frame; the end itself may come while frames are being passed on.
    private func leave() {
        guard hasEnded, !isPumping, pauses.isEmpty, context != nil else { return }
        context = nil
        switchboard.appDisconnected(self, reason: closeReason ?? .byApp)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close(.connectionError(ErrorWords.text(error, by: "app")))
    }

    /// The hub is done with the app at once; the connection ends when the app has read the last words.
    func close(_ reason: CloseReason) {
        guard let context, closeReason == nil else { return }
        closeReason = reason
        guard !hasEnded else {
            pauses = []
            return leave()
        }
        flush()
        // The flush may have found that the app is gone.
        guard self.context != nil else { return }
        guard reason.leavesTimeForLastWords else { return context.close(promise: nil) }
        stopWaiting()
        lingering.begin(context)
        if isReadHeld {
            isReadHeld = false
            context.read()
        }
        leave()
    }

    // MARK: App → link

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes after the last words is thrown away.
        guard closeReason == nil else { return }
        switchboard.beginRead()
        decoder.append(unwrapInboundIn(data))
        pump(now: switchboard.now)
        if silence != nil, counters.framesIn > 0 {
            silence?.cancel()
            silence = nil
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switchboard.endRead()
        watch()
    }

    private func watch() {
        guard let loop = context?.eventLoop else { return }
        stallWatch.check(self, on: loop)
    }

    /// While the app is paused, nobody can expect its frame to go on.
    private var unfinishedFrame: StreamPosition? { isPaused ? nil : decoder.unfinished }

    func read(context: ChannelHandlerContext) {
        if pauses.isEmpty { context.read() } else { isReadHeld = true }
    }

    /// Passes whole frames on until none is left or the app has to pause.
    private func pump(now: NIODeadline) {
        guard closeReason == nil, !isPumping else { return }
        isPumping = true
        defer {
            isPumping = false
            leave()
        }
        do {
            while pauses.isEmpty, closeReason == nil, let frame = try nextFrame(now: now) {
                counters.received(frame.wire.readableBytes)
                switchboard.receive(frame, from: self)
            }
        } catch {
            switchboard.garbage(error, at: decoder.offset, bytes: decoder.undecoded, from: self)
        }
    }

    /// A frame that the rate guard refused; it goes first when the pause is over.
    private var refused: Frame?

    private func nextFrame(now: NIODeadline) throws(FrameError) -> Frame? {
        while true {
            var next = refused.take()
            if next == nil { next = try decoder.next() }
            guard let frame = next else { return nil }
            if frame.service.isStream || switchboard.allows(frame, of: self, or: &rateGuard) {
                return frame
            }
            if let lastWordsUntil, lastWordsUntil <= now {
                counters.received(frame.wire.readableBytes)
                switchboard.dropLastWord(frame, of: self)
                continue
            }
            refused = frame
            pause(.rate)
            switchboard.paced(self, until: RateGuard.nextSlot(after: now))
            return nil
        }
    }

    /// An app that is gone need not wait for the link: what it said last goes before its farewell.
    func pause(_ reason: Pauses) {
        guard !hasEnded || reason == .rate else { return }
        pauses.insert(reason)
        stallWatch.cancel()
    }

    /// Goes on with what was read before the pause, then with reading.
    func resume(_ reason: Pauses) {
        guard pauses.contains(reason) else { return }
        pauses.remove(reason)
        guard pauses.isEmpty else { return }
        switchboard.beginRead()
        pump(now: switchboard.now)
        switchboard.endRead()
        if pauses.isEmpty, isReadHeld {
            isReadHeld = false
            context?.read()
        }
        watch()
    }

    var isPaused: Bool { !pauses.isEmpty }

    /// The head unit allows larger frames than the default.
    func allowPayload(bytes: Int) {
        decoder.rules.maximumPayloadBytes = max(decoder.rules.maximumPayloadBytes, bytes)
    }

    // MARK: Link → app

    @inline(__always)
    func send(_ frame: Frame) {
        counters.sent(frame.wire.readableBytes)
        let frame = isBehind ? frame.keptCheaply : frame
        if let before = run.add(frame) { context?.write(wrapOutboundOut(before), promise: nil) }
    }

    /// Writes what `send` has kept for its neighbours.
    func writeRun() {
        if let last = run.take() { context?.write(wrapOutboundOut(last), promise: nil) }
    }

    func flush() {
        guard let context else { return }
        writeRun()
        context.flush()
        isBehind = queuedBytes > 0
    }

    /// The socket takes no more for now.
    var isBlocked: Bool { !hasEnded && (context.map { !$0.channel.isWritable } ?? false) }

    /// What there is to say of its reading.
    var sight: FlowControl<AppHandler>.Sight {
        let queued = queuedBytes
        return .init(queued: queued, taken: counters.bytesOut &- UInt64(max(queued, 0)))
    }

    /// Bytes waiting for this app.
    var queuedBytes: Int {
        guard let options = context?.channel.syncOptions else { return 0 }
        return run.count + ((try? options.getOption(.bufferedWritableBytes)) ?? 0)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { switchboard.appDrained(self) }
    }
}

extension AppHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
}

extension AppHandler: Hashable {
    static func == (left: AppHandler, right: AppHandler) -> Bool { left === right }

    func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}
