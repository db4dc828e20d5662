import NIOCore
import SDLProtocol

/// Splits the head unit's bytes into frames, and finds the next frame after bytes that are not one. One per
/// opened link.
final class SDLLink: LinkReader {
    let connection: LinkConnection
    /// Owns this object, and lives as long as the link.
    private unowned let language: SDLLanguage
    private var decoder: FrameDecoder
    private let stallWatch: StallWatch<SDLLink>
    private let silenceWatch: StallWatch<SDLLink>

    init(_ connection: LinkConnection, _ language: SDLLanguage) {
        self.connection = connection
        self.language = language
        let configuration = language.hub.configuration
        decoder = FrameDecoder(
            rules: .fromAccessory(maximumPayloadBytes: configuration.maximumPayloadBytes),
            recovery: .resynchronise)
        stallWatch = StallWatch(timeout: configuration.stallTimeout) {
            $0.decoder.unfinished
        } stalled: {
            $0.stalled($1)
        }
        silenceWatch = StallWatch(timeout: Self.silence) {
            $0.decoder.unsettled
        } stalled: { link, _ in
            link.settle()
        }
    }

    /// After this long without bytes, nothing will confirm the last frame behind garbage: what a head unit
    /// sends in one go has arrived by then, even over a serial line.
    static let silence: TimeAmount = .milliseconds(100)

    func received(_ bytes: ByteBuffer) {
        decoder.expected.awaitsStartAnswer = language.isAwaitingAnswer
        decoder.append(bytes)
        pump()
    }

    private func pump() {
        // Loaded once for all frames: each access through the reference costs two atomic operations.
        let language = language
        // With resynchronisation nothing is thrown. A write in between may reveal that the link is gone: the
        // rest of the read then belongs to sessions that are over.
        while connection.isOpen, let frame = try? decoder.next() {
            if decoder.hasDropped { showDropped() }
            language.receiveFromAccessory(frame)
        }
        if decoder.hasDropped { showDropped() }
        if let report = decoder.takeGarbageReport() { language.garbage(report) }
    }

    @inline(never)
    private func showDropped() {
        for run in decoder.takeDropped() { language.noFrame(run.bytes, at: run.offset, of: nil) }
    }

    /// Shows the bytes not yet known to be a frame or garbage, now that nothing follows.
    func showUnfinished() {
        language.noFrame(decoder.undecided, at: decoder.offset, of: nil)
    }

    /// Sets the sessions whose frames may be expected, for resynchronisation.
    func expect(sessions: SessionSet) {
        decoder.expected.sessions = sessions
    }

    func allowPayload(bytes: Int) {
        decoder.rules.maximumPayloadBytes = max(decoder.rules.maximumPayloadBytes, bytes)
    }

    var garbageBytes: UInt64 { decoder.garbageBytes }

    // MARK: - A head unit that stands still

    func waits() {
        guard let loop = connection.readingLoop else { return }
        stallWatch.check(self, on: loop)
        silenceWatch.check(self, on: loop)
    }

    func stops() {
        stallWatch.cancel()
        silenceWatch.cancel()
    }

    private func stalled(_ position: StreamPosition) {
        language.reporter.stalled(position, app: nil)
        decoder.abandonPartialFrame()
        pumpAgain()
    }

    private func settle() {
        decoder.settle()
        pumpAgain()
    }

    /// Pumps outside a read.
    private func pumpAgain() {
        let hub = language.hub
        hub.beginRead()
        pump()
        hub.endRead()
        waits()
    }
}
