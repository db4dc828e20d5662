import NIOCore
import SDLProtocol

/// Audio or video that relayd says in an app's place, between whoever asked for it and the router. On the hub's
/// loop.
///
/// Says no more at a time than the link takes with little waiting, so that the app, whose bytes wait in the
/// same place, is not held up, and nothing while the hub waits for a sink of the tap.
final class DrivenStream {
    let id: OwnRequestID
    let app: SDLApp
    /// Frames that have not been passed on: of one piece of data at most.
    private var frames: CircularBuffer<Frame> = []
    private var isSaid: EventLoopPromise<Void>?
    private var answer: EventLoopPromise<StreamNews>?
    private let over: EventLoopPromise<StreamNews>
    /// What ended it.
    private(set) var end: StreamNews?

    /// Bytes of the app's that wait for the link at most, when more are passed on: a quarter of what an app is
    /// paused at (`RelayConfiguration.linkQueueBytes`) when that is at its default.
    static let maximumWaitingBytes = 64 << 10

    /// - Parameters:
    ///   - answer: What the head unit says to StartService.
    ///   - over: What ended it, whoever wanted that.
    init(
        _ id: OwnRequestID, _ app: SDLApp, answer: EventLoopPromise<StreamNews>,
        over: EventLoopPromise<StreamNews>
    ) {
        (self.id, self.app) = (id, app)
        (self.answer, self.over) = (answer, over)
    }

    deinit {
        // The hub ends before there is any news.
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

    /// To be passed on; kept is `promise` when all of it is.
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

    /// Somebody waits for the rest to be passed on.
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

    /// Says data in a service of relayd's. Not to be called again before `said` is kept.
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

    /// Nobody waits for news of it any more; while it runs it is to be ended first.
    func forgetStream(_ id: OwnRequestID) { streams[id] = nil }

    /// Passes on what link and tap have room for.
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

    /// The link has taken what waited, or the tap has room again.
    func streamOn() {
        let waiting = streams.values.filter(\.isSaying)
        guard !waiting.isEmpty else { return }
        for stream in waiting { pass(stream) }
        hub.settle()
    }
}
