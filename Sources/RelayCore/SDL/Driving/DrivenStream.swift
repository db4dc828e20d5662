import NIOCore
import SDLProtocol

/// Audio or video that relayd sends in place of an app, between the caller and the router. On the hub's loop.
///
/// Sends no more at a time than the link takes with little waiting, so that the app, whose bytes wait in the
/// same place, is not held up. Sends nothing while the hub waits for a sink of the tap.
final class DrivenStream {
    let id: OwnRequestID
    let app: SDLApp
    /// Frames not yet passed on, of one piece of data at most.
    private var frames: CircularBuffer<Frame> = []
    private var isSaid: EventLoopPromise<Void>?
    private var answer: EventLoopPromise<StreamNews>?
    private let over: EventLoopPromise<StreamNews>
    /// What ended the service.
    private(set) var end: StreamNews?

    /// More frames are passed on only while fewer bytes of the app than this wait for the link: a quarter of
    /// the default amount at which an app is paused (`RelayConfiguration.linkQueueBytes`).
    static let maximumWaitingBytes = 64 << 10

    /// - Parameters:
    ///   - answer: Succeeds with the head unit's answer to StartService.
    ///   - over: Succeeds with what ended the service, whoever wanted that.
    init(
        _ id: OwnRequestID, _ app: SDLApp, answer: EventLoopPromise<StreamNews>,
        over: EventLoopPromise<StreamNews>
    ) {
        (self.id, self.app) = (id, app)
        (self.answer, self.over) = (answer, over)
    }

    deinit {
        // The hub may end before there is any news.
        hear(.sessionOver)
    }

    func hear(_ news: StreamNews) {
        if let answer {
            self.answer = nil
            answer.succeed(news)
        }
        if case .granted = news { return }
        guard end == nil else { return }
        end = news
        over.succeed(news)
        frames = []
        isSaid?.fail(StreamIsOver(news: news))
        isSaid = nil
    }

    /// Queues frames to be passed on; `promise` succeeds when all of them have been.
    func append(_ more: [Frame], _ promise: EventLoopPromise<Void>) {
        frames.append(contentsOf: more)
        isSaid = promise
    }

    /// The next frame that may be passed on now.
    func next() -> Frame? {
        guard app.linkQueuedBytes < Self.maximumWaitingBytes else { return nil }
        return frames.popFirst()
    }

    func tellIfSaid() {
        guard frames.isEmpty, let isSaid else { return }
        self.isSaid = nil
        isSaid.succeed()
    }

    /// Whether somebody waits for the rest to be passed on.
    var isSaying: Bool { isSaid != nil }
}

/// The service is not running any more.
package struct StreamIsOver: Error, Hashable, Sendable {
    package let news: StreamNews
}

// MARK: - In the hub

extension SDLLanguage {
    /// Starts an audio or video service in an app's session.
    func stream(
        _ service: ServiceType, _ wish: BSONDocument, app: AppID, session: UInt8?,
        patience: TimeAmount, answer: EventLoopPromise<StreamNews>,
        over: EventLoopPromise<StreamNews>
    ) throws(DriveRefusal) -> OwnRequestID {
        guard let owner = apps[app] else { throw .noSuchApp }
        let session = try openSession(of: owner, session)
        hub.beginRead()
        defer { hub.endRead() }
        let id = try router.startStream(
            service, wish, in: session, patience: patience, at: hub.now)
        streams[id] = DrivenStream(id, owner, answer: answer, over: over)
        performActions()
        return id
    }

    /// Sends data in a service of relayd's. Not to be called again before `said` completes.
    func streamData(_ data: ByteBuffer, in id: OwnRequestID, said: EventLoopPromise<Void>) {
        guard let stream = streams[id], stream.end == nil,
            let frames = router.streamData(data, in: id)
        else { return said.fail(StreamIsOver(news: streams[id]?.end ?? .sessionOver)) }
        stream.append(frames, said)
        hub.beginRead()
        pass(stream)
        hub.endRead()
    }

    func endStream(_ id: OwnRequestID) {
        hub.beginRead()
        router.endStream(id, at: hub.now)
        performActions()
        hub.endRead()
    }

    /// Forgets a stream for whose news nobody waits any more; one that still runs must be ended first.
    func forgetStream(_ id: OwnRequestID) { streams[id] = nil }

    /// Passes on what the link and the tap have room for.
    private func pass(_ stream: DrivenStream) {
        while !hub.tap.isHolding, router.isStreaming(stream.id), let frame = stream.next() {
            hub.tap.record(
                frame, .fromApp, app: stream.app.id, time: hub.time, fate: .byRelay)
            output.forward(frame, from: .app(stream.app))
        }
        stream.tellIfSaid()
    }

    func tapHasRoom() {
        guard !streams.isEmpty else { return }
        hub.beginRead()
        streamOn()
    }

    /// Goes on after the link has taken what waited, or when the tap has room again.
    func streamOn() {
        let waiting = streams.values.filter(\.isSaying)
        guard !waiting.isEmpty else { return }
        for stream in waiting { pass(stream) }
        hub.settle()
    }
}
