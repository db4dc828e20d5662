// A session router on paper: apps are names, the link takes everything at once, and the clock only
// moves when told.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

final class RouterBench {
    typealias Router = SessionRouter<String>

    var router: Router
    var now = NIODeadline.uptimeNanoseconds(0)
    /// The link is busy: frames of these sessions wait, so nothing is drained.
    var waiting: Set<UInt8> = []
    /// The link is busy: relayd's own frames of the RPC service wait, other control frames overtake them.
    var holdsRPCs = false {
        didSet {
            guard !holdsRPCs else { return }
            for (frame, origin) in held { write(frame, from: origin) }
            held = []
        }
    }
    private var held: [(frame: Frame, origin: Origin<String>)] = []
    /// All events so far.
    var events: [RouterEvent<String>] = []
    /// The frames written since the last call.
    private var written: [Frame] = []
    private var purged: [UInt8] = []
    /// The results of relayd's own requests.
    var answers: [(id: OwnRequestID, answer: DrivenAnswer)] = []
    /// News of the services that relayd uses.
    var news: [StreamNews] = []

    init(linkIsUp: Bool = true, _ change: (inout RelayConfiguration) -> Void = { _ in }) {
        var configuration = RelayConfiguration()
        change(&configuration)
        router = Router(configuration: configuration)
        if linkIsUp { router.linkOpened(at: now) }
    }

    func app(_ app: String, says frame: Frame) -> Router.Decision {
        let decision = router.receive(frame, from: app, at: now)
        if decision == .toLink { write(frame, from: .app(app)) }
        return decision
    }

    func accessory(says frame: Frame) -> Router.Decision {
        router.receiveFromAccessory(frame, at: now)
    }

    func pass(_ time: TimeAmount) {
        now = now + time
        router.advance(to: now)
    }

    private func write(_ frame: Frame, from origin: Origin<String>) {
        while let before = router.endOfExpiring(before: frame, at: now) { written.append(before) }
        if let before = router.willWrite(frame, from: origin, at: now) { written.append(before) }
        written.append(frame)
        if origin.isRelay || frame.type == .control { router.wrote(frame, at: now) }
    }

    /// Carries out, as the switchboard does, what there is to do besides passing frames on; returns it without
    /// the events that only inform.
    func actions() -> [Router.Action] {
        var done: [Router.Action] = []
        while !router.actions.isEmpty {
            for action in router.takeActions() {
                switch action {
                case .event(let event): events.append(event)
                case .answer(let id, let answer): answers.append((id, answer))
                case .stream(_, let news): self.news.append(news)
                case .driven(let frames, let app):
                    for frame in frames { write(frame, from: .app(app)) }
                case .drain(let session):
                    if !waiting.contains(session) { router.drained(session, at: now) }
                case .purge(let session):
                    purged.append(session)
                    waiting.remove(session)
                case .toLink(let frame, let origin) where holdsRPCs && frame.service == .rpc:
                    held.append((frame, origin))
                case .toLink(let frame, let origin):
                    write(frame, from: origin)
                    done.append(action)
                case .repeated(let frame, let app):
                    write(frame, from: .app(app))
                    done.append(action)
                case .amended, .toApp, .close, .pass, .dropped, .toRelay: done.append(action)
                }
            }
        }
        return done
    }

    /// Frames the head unit has got since the last call.
    func heard() -> [Frame] {
        _ = actions()
        defer { written = [] }
        return written
    }

    /// Sessions whose waiting frames were dropped since the last call.
    func purgedSessions() -> [UInt8] {
        _ = actions()
        defer { purged = [] }
        return purged
    }

    /// The frames of a session that waited for the busy link have gone.
    func drained(_ session: UInt8) {
        waiting.remove(session)
        router.drained(session, at: now)
    }

    /// Connects an app and grants it a session.
    func open(_ app: String, session: UInt8) {
        router.connect(app)
        _ = self.app(app, says: .startService())
        _ = actions()
        _ = accessory(says: .startServiceACK(session: session))
        _ = heard()
    }

    /// Makes an app send the beginning of a message: the first frame and some of three others.
    @discardableResult
    func begin(
        _ app: String, session: UInt8, service: ServiceType = .bulk, message: UInt32 = 77,
        frames: Int, correlation: Int32 = 7
    ) -> [Frame] {
        let all = Frame.putFile(
            session: session, service: service, message: message, correlation: correlation,
            frames: 3)
        for frame in all.prefix(1 + frames) { _ = self.app(app, says: frame) }
        _ = heard()
        return all
    }
}

/// The words of a goodbye, for suites in which sessions end. Hash IDs are those that
/// `Frame.startServiceACK` grants.
protocol GoodbyeWords {}

extension GoodbyeWords {
    func end(_ session: UInt8, message: UInt32 = 1) -> Frame {
        .endService(
            version: 5, sessionID: session, hashID: UInt32(session) << 16 | 5, messageID: message)
    }

    /// The app answers the head unit's EndService, with the hash.
    func acknowledgement(_ session: UInt8) -> Frame {
        let document: BSONDocument = [ControlKey.hashID: .int32(Int32(session) << 16 | 5)]
        return .control(.endServiceACK, session: session, payload: document.bytes)
    }

    /// relayd unregisters the app.
    func unregister(_ session: UInt8, message: UInt32) -> Frame {
        .rpc(
            session: session, message: message, .request, .unregisterAppInterface,
            correlation: RouterBench.Router.farewellCorrelationID)
    }

    /// The head unit's answer to that.
    func unregistered(_ session: UInt8) -> Frame {
        .rpc(
            session: session, .response, .unregisterAppInterface,
            correlation: RouterBench.Router.farewellCorrelationID)
    }
}

extension Frame {
    /// A PutFile request in several frames of 100 bytes each.
    static func putFile(
        session: UInt8, service: ServiceType = .bulk, message: UInt32 = 77, correlation: Int32 = 7,
        frames: Int, filledWith byte: UInt8 = 0x7A
    ) -> [Frame] {
        var payload = ByteBuffer()
        RPCHeader(
            type: .request, functionID: FunctionID.putFile.rawValue, correlationID: correlation,
            jsonBytes: 2
        ).write(to: &payload)
        payload.writeString("{}")
        payload.writeRepeatingByte(byte, count: frames * 100 - payload.readableBytes)
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(frames * 100))
        announcement.writeInteger(UInt32(frames))
        let first = Frame(
            version: 5, type: .first, service: service, sessionID: session, messageID: message,
            payload: announcement)
        return [first]
            + (1...frames).map { number in
                Frame(
                    version: 5, type: .consecutive, service: service,
                    info: number == frames ? 0 : UInt8((number - 1) % 255 + 1),
                    sessionID: session, messageID: message,
                    payload: payload.readSlice(length: 100) ?? ByteBuffer())
            }
    }
}
