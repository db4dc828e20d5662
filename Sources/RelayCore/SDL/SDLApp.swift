import NIOCore
import SDLProtocol

/// The SDL state of one app, apart from its connection, and the router's handle for the app.
///
/// Passes on whole frames only, so two apps can never interleave parts of frames.
final class SDLApp: AppReader {
    let connection: AppConnection
    /// The language's output, kept here because the language's lazy property costs a check for every frame.
    let output: LinkOutput
    /// Outlives its apps, because the hub does.
    private unowned let language: SDLLanguage
    /// Messages that relayd ended on the app's behalf.
    var endedMessages: UInt64 = 0
    /// Heartbeats of the head unit that relayd answered on the app's behalf.
    var answeredHeartbeats: UInt64 = 0
    /// Frames dropped after the app left, and their bytes.
    var unsaid = FrameSum()
    /// Bytes of this app that wait in the link's scheduler.
    var linkQueuedBytes = 0
    /// When the developer was last told that the app is being paced.
    var pacedNoticeAt: NIODeadline?

    private var decoder: FrameDecoder
    private var rateGuard: RateGuard
    /// A frame that the rate guard refused; it goes first when the pause is over.
    private var refused: Frame?
    private let stallWatch: StallWatch<SDLApp>
    /// The end of the time in which the app's last frames are still paced after it has gone.
    private var lastWordsUntil: NIODeadline?

    init(_ connection: AppConnection, _ language: SDLLanguage) {
        self.connection = connection
        self.language = language
        output = language.output
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
        // Loaded once for all frames: each access through the reference costs two atomic operations.
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

    /// Counts frames that fault rules have let go towards the app's own rate.
    func count(_ passed: RateGuard) { rateGuard.adopt(passed, at: language.hub.now) }

    /// Whole frames that arrived before the connection ended are still passed on, but no faster than the
    /// head unit takes them: it would end the session over a flood, and hear none of them.
    func hungUp() {
        language.hungUp(self)
        lastWordsUntil = language.hub.now + Self.lastWordsPatience
    }

    /// How long the last frames of an app that sent too fast may take. Its session and its app ID stay
    /// taken for as long; libraries reconnect after a second or more.
    ///
    /// Not configurable: it follows from the libraries' own wait, and `apps.frames_per_second` already
    /// bounds the frames: two seconds' worth that came in one burst.
    static let lastWordsPatience: TimeAmount = .seconds(2)

    /// Raises the limit: the head unit allows larger frames than the default.
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

    /// Nil while the app is paused, because its frame cannot be expected to continue then.
    private var unfinishedFrame: StreamPosition? {
        connection.isPaused ? nil : decoder.unfinished
    }

    /// Shows the app's last bytes that are not a whole frame.
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
