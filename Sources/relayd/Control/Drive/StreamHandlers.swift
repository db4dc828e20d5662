import ControlAPI
import Media
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

/// Streams video and audio in place of apps: from the body of a request to the head unit, at playback speed.
/// `ControlResponder` has decided before who may ask.
struct StreamHandlers: Sendable {
    let relay: Relay?
    let apps: AppFinder
    let facts: SessionFacts
    let events: EventRing?
    private let running = RunningStreams()

    init(
        _ relay: Relay?, apps: AppFinder, facts: SessionFacts, events: EventRing?
    ) {
        (self.relay, self.apps, self.facts, self.events) = (relay, apps, facts, events)
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.post(Routes.stream) { request, context in try await stream(request, context) }
        routes.delete(Routes.stream) { request, context in try await stop(request, context) }
    }

    // MARK: In the order in which things happen

    private func stream(
        _ request: ControlRequest, _ context: RouteContext
    ) async throws -> ControlResponse {
        let wanted = try StreamRequest(try RequestQuery(request.head.uri))
        let app = try await apps.find(context.segment("app"))
        guard let relay else { throw APIError(.conflict, DriveRefusal.noLink.description) }
        let place = try context.streamPlace(request)
        defer { withExtendedLifetime(place) {} }
        request.body.piecewise()
        let first = try await beginning(of: request.body, wanted)
        try await waitForScreen(app, wanted.timeout, relay)
        try context.drive.check()
        let (stream, grant) = try await start(wanted, app, relay)
        let cutOff = request.body.cutOff
        // Whatever ends the stream, the body is not read any further.
        stream.over.whenComplete { _ in cutOff() }
        let name = Self.name(app)
        tell("relayd streams \(wanted.service.name) in the place of", app)
        context.audit("\(wanted.service.name) begins to the head unit as \(name)")
        let key = RunningStreams.Key(app: app.id, service: wanted.service)
        let wasStopped = running.begin(key, cutOff)
        defer { running.end(key, wasStopped) }
        // If driving was turned off while the head unit was being asked, this stream was not
        // stopped.
        if !context.drive.isOn { wasStopped.set() }
        let isRTP = grant.videoProtocol == "RTP" && wanted.service == .video
        var player = StreamPlayer(StreamPieces(wanted, isRTP: isRTP), stream)
        do {
            try await player.play(first, request.body) { wasStopped.isSet }
        } catch let end as StreamIsOver {
            _ = await stream.end()
            throw ended(end.news, wanted, name, player)
        } catch {
            // The client has left, or relayd stops.
            _ = await stream.end()
            context.audit(
                "\(wanted.service.name) to the head unit as \(name) broken off after "
                    + "\(player.bytes) bytes: the client has left")
            throw error
        }
        let news = await stream.end()
        guard case .ended(let isConfirmed) = news else { throw ended(news, wanted, name, player) }
        let what =
            "\(player.pieces) \(wanted.service == .video ? "pictures" : "pieces of sound"), "
            + "\(player.bytes) bytes in \(player.seconds) s"
        context.audit(
            "\(wanted.service.name) to the head unit as \(name)"
                + "\(wasStopped.isSet ? " stopped" : " ended"): \(what)")
        tell("relayd has ended the \(wanted.service.name) that it streamed in the place of", app)
        return try .json(
            StreamReport(
                summary:
                    "\(wanted.service.name) was streamed in the place of \(name)"
                    + (wasStopped.isSet ? ", until it was stopped" : "") + ": \(what)"
                    + (isConfirmed ? "" : "; the head unit has not confirmed its end"),
                app: app.id, service: wanted.service.name,
                videoProtocol: wanted.service == .video ? (isRTP ? "RTP" : "RAW") : nil,
                pieces: player.pieces, bytes: player.bytes, seconds: player.seconds,
                lateMilliseconds: player.lateMilliseconds, confirmed: isConfirmed))
    }

    /// The first bytes: the service is not started for a stream that never begins, or is not of the
    /// right kind.
    private func beginning(
        of body: RequestBody, _ wanted: StreamRequest
    ) async throws -> ByteBuffer {
        var first = ByteBuffer()
        while let part = try await body.next() {
            first.writeImmutableBuffer(part)
            guard wanted.service == .video else { return first }
            switch AccessUnitCutter.isStream(first) {
            case true?: return first
            case false?:
                throw APIError(
                    .badRequest,
                    "this is no H.264 stream with start codes (Annex B); make one of a film with: ffmpeg -i "
                        + "FILE -c:v libx264 -bsf:v h264_mp4toannexb -an -f h264 video.h264")
            case nil: continue
            }
        }
        guard first.readableBytes > 0, wanted.service == .audio else {
            throw APIError(
                .badRequest,
                "there is nothing to stream: the body has \(first.readableBytes) bytes; expected "
                    + (wanted.service == .video ? "H.264 with start codes" : "PCM"))
        }
        return first
    }

    /// Waits until an app of relayd's own has left NONE, in which no head unit allows streaming. An app
    /// not yet known counts as being in NONE: the observers are behind the traffic.
    private func waitForScreen(
        _ app: AppStatus, _ timeout: TimeAmount, _ relay: Relay
    ) async throws {
        guard app.peer == OwnApps.peer else { return }
        let id = AppID(rawValue: UInt64(app.id))
        // An app that has left is not waited for: starting the service reports that.
        let isReady = {
            facts.facts(of: id).map { !$0.isInNone } ?? (facts.departed(id) != nil)
        }
        let waiter = Waiter()
        let deadline = relay.loop.now + timeout
        let timer = relay.loop.scheduleTask(deadline: deadline) { waiter.wake() }
        defer { timer.cancel() }
        while !isReady(), relay.loop.now < deadline {
            await facts.wait(waiter, unless: isReady)
            try Task.checkCancellation()
        }
    }

    private func start(
        _ wanted: StreamRequest, _ app: AppStatus, _ relay: Relay
    ) async throws -> (RelayStream, StreamGrant) {
        let (stream, news): (RelayStream, StreamNews)
        do {
            (stream, news) = try await relay.stream(
                wanted.service, wanted.wish, app: AppID(rawValue: UInt64(app.id)),
                session: wanted.session, patience: wanted.timeout)
        } catch let refusal as DriveRefusal {
            throw APIError(.conflict, "nothing was streamed: \(refusal)")
        }
        switch news {
        case .granted(let grant): return (stream, grant)
        case .refused(let parameters, let reason):
            throw APIError(.conflict, refusal(wanted, app, parameters, reason))
        case .unanswered:
            throw APIError(
                .noAnswer,
                "the head unit has not answered StartService of \(wanted.service.name) within "
                    + "\(wanted.timeout.nanoseconds / 1_000_000) ms; head units say nothing while the app is not "
                    + "registered")
        case .endedByAccessory, .ended, .sessionOver:
            throw APIError(
                .conflict,
                "nothing was streamed: the session or the link ended before there was an answer")
        }
    }

    /// The head unit's refusal in words, with a remedy.
    private func refusal(
        _ wanted: StreamRequest, _ app: AppStatus, _ parameters: [String], _ reason: String?
    ) -> String {
        var text = "the head unit refuses the \(wanted.service.name) service of \(Self.name(app))"
        if !parameters.isEmpty {
            let names = parameters.map { PrintableText.string($0, limit: 40) }
            text += " because of \(names.joined(separator: ", "))"
        }
        if let reason { text += ": \"\(PrintableText.string(reason, limit: 200))\"" }
        return text + "; " + remedy(app, parameters)
    }

    private func remedy(_ app: AppStatus, _ parameters: [String]) -> String {
        if !parameters.isEmpty {
            return
                "ask for what GetSystemCapability VIDEO_STREAMING lists: --width, --height, --protocol"
        }
        let known = facts.facts(of: AppID(rawValue: UInt64(app.id)))
        let types = known?.registration?.hmiTypes ?? []
        if known?.registration != nil, !types.contains(where: Self.streaming.contains) {
            return
                "only apps of the AppHMIType NAVIGATION or PROJECTION may stream, and this one is "
                + (types.isEmpty ? "DEFAULT" : types.joined(separator: ", "))
                + ": register it as one, or use one of relayd's own with --as NAME --hmi-type NAVIGATION"
        }
        if let level = known?.hmiLevel, level != .full, level != .limited {
            return "the app is in \(level.rawValue): bring it to the screen first (FULL or LIMITED)"
        }
        return "it may be in the wrong HMI level, have no permission, or another app may stream"
    }

    private static let streaming: Set<String> = ["NAVIGATION", "PROJECTION"]

    /// Why the stream ended early.
    private func ended(
        _ news: StreamNews, _ wanted: StreamRequest, _ name: String, _ player: StreamPlayer
    ) -> APIError {
        let after = "after \(player.pieces) pieces, \(player.bytes) bytes"
        let reason =
            switch news {
            case .endedByAccessory:
                "the head unit has ended the \(wanted.service.name) service of \(name) \(after); it does so when "
                    + "the app leaves the screen or another app streams"
            default:
                "the session of \(name) or the link ended \(after)"
            }
        return APIError(.conflict, reason)
    }

    // MARK: Stopping

    /// Ends all streams.
    func driveIsOff() { running.stopAll() }

    private func stop(
        _ request: ControlRequest, _ context: RouteContext
    ) async throws -> ControlResponse {
        let wanted = try StreamRequest(try RequestQuery(request.head.uri))
        let app = try await apps.find(context.segment("app"))
        let key = RunningStreams.Key(app: app.id, service: wanted.service)
        let wasRunning = running.stop(key)
        context.audit(
            "\(wanted.service.name) to the head unit as \(Self.name(app)): "
                + (wasRunning ? "to be stopped" : "there is none to stop"))
        return try .json(
            ActionReport(
                summary: wasRunning
                    ? "\(wanted.service.name) in the place of \(Self.name(app)) is being stopped"
                    : "relayd streams no \(wanted.service.name) in the place of \(Self.name(app))"))
    }

    // MARK: Pieces

    private func tell(_ what: String, _ app: AppStatus) {
        events?.add(
            .control, "\(what) an app, as somebody asked", app: AppID(rawValue: UInt64(app.id)),
            appName: app.appName)
    }

    private static func name(_ app: AppStatus) -> String {
        "app #\(app.id)"
            + (app.appName.map { " (\(PrintableText.string($0, limit: 100)))" } ?? "")
    }
}

/// Sends a body to the head unit, each piece at its time.
private struct StreamPlayer {
    private var source: StreamPieces
    private let stream: RelayStream
    private(set) var pieces = 0
    private(set) var bytes = 0
    private var late = Duration.zero
    private var start: ContinuousClock.Instant?
    private var end: ContinuousClock.Instant?
    private var due = ContinuousClock.now

    /// Longest delay that is caught up: after a longer one, a burst would come late as well.
    private static let patience = Duration.seconds(1)

    init(_ source: StreamPieces, _ stream: RelayStream) {
        (self.source, self.stream) = (source, stream)
    }

    var seconds: Double { Self.rounded((start ?? due).duration(to: end ?? start ?? due)) }
    var lateMilliseconds: Double { Self.rounded(late * 1000) }

    private static func rounded(_ duration: Duration) -> Double {
        (duration / .milliseconds(1)).rounded(.down) / 1000
    }

    /// - Parameter isStopped: Whether somebody has stopped the stream.
    /// - Throws: `StreamIsOver`; `HTTPParserError` or `CancellationError` if the client leaves.
    mutating func play(
        _ first: ByteBuffer, _ body: RequestBody, until isStopped: () -> Bool
    ) async throws {
        var part: ByteBuffer? = first
        while let bytes = part, !isStopped() {
            source.append(bytes)
            while !isStopped(), let piece = source.next() { try await say(piece) }
            part = isStopped() ? nil : try await body.next()
        }
        while !isStopped(), let piece = source.finish() { try await say(piece) }
    }

    private mutating func say(_ piece: StreamPieces.Piece) async throws {
        // The times of all pieces are counted from here, however late the first one is.
        if start == nil {
            due = .now
            start = due
        }
        try await Self.wait(until: due)
        try await stream.say(piece.bytes)
        let now = ContinuousClock.now
        late = max(late, due.duration(to: now))
        pieces += piece.duration > 0 ? 1 : 0
        bytes += piece.streamBytes
        end = now
        due = max(due, now - Self.patience) + .nanoseconds(piece.duration)
    }

    /// Not `Clock.sleep`, which would start the system's thread pool (see `LoopExecutor`).
    private static func wait(until due: ContinuousClock.Instant) async throws {
        let left = ContinuousClock.now.duration(to: due)
        if left > .zero {
            let waiter = Waiter()
            let timer = LoopExecutor.shared.loop.scheduleTask(in: TimeAmount(left)) {
                waiter.wake()
            }
            defer { timer.cancel() }
            await waiter.wait()
        }
        try Task.checkCancellation()
    }
}
