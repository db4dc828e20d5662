import NIOCore
import SDLProtocol

/// What SDL knows of one app besides its connection. The router's handle of the app.
///
/// Cuts whole frames, so that two apps can never interleave halves.
final class SDLApp: AppReader {
    let connection: AppConnection
    /// There as long as its apps, since the hub is.
    private unowned let language: SDLLanguage
    /// Messages that relayd ended in its place.
    var endedMessages: UInt64 = 0
    /// Heartbeats of the head unit that relayd answered in its place.
    var answeredHeartbeats: UInt64 = 0
    /// Frames dropped behind its end, and their bytes.
    var unsaid = FrameSum()
    /// Bytes of this app that wait in the link's scheduler.
    var linkQueuedBytes = 0
    /// When its developer was last told that it is paced.
    var pacedNoticeAt: NIODeadline?

    private var decoder: FrameDecoder
    private var rateGuard: RateGuard
    /// A frame that the rate guard refused; it goes first when the pause is over.
    private var refused: Frame?
    private let stallWatch: StallWatch<SDLApp>
    /// Until when its last words are paced after it has gone.
    private var lastWordsUntil: NIODeadline?

    init(_ connection: AppConnection, _ language: SDLLanguage) {
        self.connection = connection
        self.language = language
        let configuration = language.hub.configuration
        decoder = FrameDecoder(
            rules: .fromApp(maximumPayloadBytes: configuration.maximumPayloadBytes),
            recovery: .fail)
        rateGuard = RateGuard(limit: configuration.framesPerSecond)
        stallWatch = StallWatch(timeout: configuration.stallTimeout) {
            $0.unfinishedFrame
        } stalled: {
            $0.language.reporter.stalled($1, app: $0)
        }
    }

    var id: AppID { connection.id }

    // MARK: - Reading

    func received(_ bytes: ByteBuffer) {
        decoder.append(bytes)
    }

    func passOn() {
        // Once for all frames: each look through the reference costs two atomic operations.
        let language = language
        do {
            while connection.mayGoOn, let frame = try nextFrame(language) {
                connection.counters.received(frame.wire.readableBytes)
                language.receive(frame, from: self)
            }
        } catch {
            language.garbage(error, at: decoder.offset, bytes: decoder.undecoded, from: self)
        }
    }

    private func nextFrame(_ language: SDLLanguage) throws(FrameError) -> Frame? {
        while true {
            var next = refused.take()
            if next == nil { next = try decoder.next() }
            guard let frame = next else { return nil }
            if frame.service.isStream || language.admit(frame, of: self, or: &rateGuard) {
                return frame
            }
            let now = language.hub.now
            if let lastWordsUntil, lastWordsUntil <= now {
                connection.counters.received(frame.wire.readableBytes)
                language.dropLastWord(frame, of: self)
                continue
            }
            refused = frame
            connection.pause(.rate)
            language.paced(self, until: RateGuard.nextSlot(after: now))
            return nil
        }
    }

    /// What fault rules have let go counts as what the app says now.
    func count(_ passed: RateGuard) { rateGuard.adopt(passed, at: language.hub.now) }

    /// Whole frames that arrived before the end are still the app's word, as fast as the head unit takes
    /// them: it would end the session for a flood, and not hear them at all.
    func hungUp() {
        language.hungUp(self)
        lastWordsUntil = language.hub.now + Self.lastWordsPatience
    }

    /// How long the last words of an app that sent too fast may take. Its session stays as long, and
    /// its app ID with it; libraries come back after a second or more.
    ///
    /// No option: it follows from the libraries' own wait, and what it bounds is bounded by
    /// `apps.frames_per_second` already: two seconds of frames that came in one burst.
    static let lastWordsPatience: TimeAmount = .seconds(2)

    /// The head unit allows larger frames than the default.
    func allowPayload(bytes: Int) {
        decoder.rules.maximumPayloadBytes = max(decoder.rules.maximumPayloadBytes, bytes)
    }

    // MARK: - An app that stands still

    func waits() {
        guard let loop = connection.loop else { return }
        stallWatch.check(self, on: loop)
    }

    func stops() {
        stallWatch.cancel()
    }

    /// While the app is paused, nobody can expect its frame to go on.
    private var unfinishedFrame: StreamPosition? {
        connection.isPaused ? nil : decoder.unfinished
    }

    /// What it sent last that is not a whole frame.
    func showUnfinished() {
        language.noFrame(decoder.undecoded, at: decoder.offset, of: id)
    }

    /// Nil when its last frame is whole.
    var leavingInsideFrame: AppLeaving? {
        decoder.partialBytes > 0 ? .vanishedInsideUnit(bytes: decoder.partialBytes) : nil
    }
}

extension SDLApp: FaultApp {
    var faultNumber: UInt64 { id.rawValue }

    static func == (left: SDLApp, right: SDLApp) -> Bool { left === right }

    func hash(into hasher: inout Hasher) {
        hasher.combine(connection.id)
    }
}
