import NIOCore
package import RelayCore
import SDLProtocol
package import SDLTraffic

/// Extracts pictures, sound and files from the traffic. A value: it is fed with the traffic and returns
/// what to write. The caller owns the files.
///
/// It needs both the decoded messages and the frames of audio and video, in order. Its memory is bounded
/// (`MediaLimits`).
package struct MediaCollector: Sendable {
    private let kinds: Set<MediaKind>
    private let isWanted: @Sendable (_ appName: String?) -> Bool
    private var output = MediaOutput()
    private var names: [Owner: String] = [:]
    /// The format that the head unit says it plays.
    private var audioFormat: PCMFormat?
    /// The PerformAudioPassThru that the head unit is carrying out.
    private var speeches: [Owner: Speech] = [:]
    /// A further one that was requested meanwhile.
    private var nextSpeeches: [Owner: Speech] = [:]
    /// The formats in StartServices of video that wait for their answer.
    private var requests: [Lane: VideoFormat] = [:]
    /// Services that the head unit has refused and not granted since.
    private var refused: Set<Lane> = []
    private var streams: [Lane: StreamTap] = [:]
    private var recordings: [Owner: SoundTap] = [:]
    private var uploads: [UploadKey: UploadTap] = [:]
    /// Uploads by the numbers of their unanswered requests.
    private var answers: [UInt64: UploadKey] = [:]
    /// Missing bytes in uploads that have ended.
    private var endedHoleBytes = 0
    private var encryptedMessages: [Owner: Int] = [:]
    private var toldOfMask: Set<Masked> = []
    private var now = WallTime(nanoseconds: 0)

    /// Whether the binary part of the following RPCs was masked.
    package var isBulkMasked = false
    /// Whether the traffic has no end. Then missing bytes in ended files no longer count, since the writer of
    /// the files has a limit of its own, and encrypted messages are reported when their app leaves.
    package var isLive = false

    /// A session of an app: several apps of a phone may share one connection.
    private struct Owner: Hashable {
        var app: AppID?
        var session: UInt8
    }

    private struct Lane: Hashable {
        var owner: Owner
        var service: ServiceType
    }

    private struct Speech {
        /// The number of the request; nil once it is answered, or when the answer may have been missed.
        var request: UInt64?
        var format: PCMFormat?
    }

    private struct UploadKey: Hashable {
        var owner: Owner
        var title: String
    }

    private struct Masked: Hashable {
        var owner: Owner
        var kind: MediaKind
    }

    /// - Parameters:
    ///   - kinds: The kinds to extract.
    ///   - isWanted: Decides by the name of the app; the name is nil before it is known.
    package init(
        _ kinds: Set<MediaKind> = Set(MediaKind.allCases),
        isWanted: @escaping @Sendable (_ appName: String?) -> Bool = { _ in true }
    ) {
        self.kinds = kinds
        self.isWanted = isWanted
    }

    /// The events since the last call.
    package mutating func takeEvents() -> [MediaEvent] {
        defer { output.events = [] }
        return output.events
    }

    /// Ends everything that is open; no traffic follows.
    package mutating func finish() {
        endAll()
        tellEncrypted()
    }

    private mutating func tellEncrypted(_ isMeant: (Owner) -> Bool = { _ in true }) {
        let encrypted = encryptedMessages.filter { isMeant($0.key) }.sorted {
            ($0.key.app?.rawValue ?? 0, $0.key.session) < (
                $1.key.app?.rawValue ?? 0, $1.key.session
            )
        }
        for (owner, count) in encrypted {
            tell(.encrypted(frames: count), kind: .file, owner)
            encryptedMessages[owner] = nil
        }
    }

    // MARK: - Frames

    /// Handles a frame as it passed; frames outside streams change nothing.
    ///
    /// - Parameter omitted: Bytes of the payload that were not recorded.
    package mutating func receive(_ tapped: TappedFrame, omitted: Int = 0) {
        let frame = tapped.frame
        guard frame.service.isStream else { return }
        now = max(now, tapped.time)
        let owner = Owner(app: tapped.app, session: frame.sessionID)
        let lane = Lane(owner: owner, service: frame.service)
        switch tapped.fate {
        // Sent to relayd, which streams in the app's place.
        case .dropped where tapped.isControlToRelay: break
        case .dropped, .replaced: return
        // relayd ends messages that an app left unfinished; these frames are not data in the app's place.
        case .byRelay where frame.type != .control && tapped.app == nil: return
        case .forwarded, .amended, .byRelay, .faulted: break
        }
        if frame.type == .control {
            control(frame, lane, tapped)
        } else if tapped.direction == .fromApp, kinds.contains(Self.kind(frame.service)) {
            if streams[lane] == nil {
                open(
                    lane, requests[lane] ?? VideoFormat(),
                    refused.contains(lane) ? .refused : .unknown, at: tapped.time)
            }
            streams[lane]?.receive(frame, omitted: omitted, at: tapped.time, &output)
            boundStreams(at: tapped.time)
        }
    }

    /// Bytes of incomplete units and pictures, in all streams.
    var heldBytes: Int { streams.values.reduce(0) { $0 + $1.heldBytes } }

    /// Drops incomplete data, from the stream that holds the most first.
    private mutating func boundStreams(at time: WallTime) {
        var held = heldBytes
        while held > MediaLimits.maximumHeldBytes,
            let most = streams.max(by: { $0.value.heldBytes < $1.value.heldBytes }),
            most.value.heldBytes > 0
        {
            held -= most.value.heldBytes
            streams[most.key]?.drop(at: time, &output)
        }
    }

    private mutating func control(_ frame: Frame, _ lane: Lane, _ tapped: TappedFrame) {
        switch frame.controlType {
        case .startService where tapped.direction == .fromApp && frame.service == .video:
            if requests.count < MediaLimits.maximumOpen || requests[lane] != nil {
                requests[lane] = VideoFormat(ControlPayload(frame))
            }
        case .startServiceACK:
            end(lane)
            refused.remove(lane)
            let format = VideoFormat(ControlPayload(frame))
                .completed(by: requests.removeValue(forKey: lane))
            open(lane, format, .granted, at: tapped.time)
        case .startServiceNAK:
            requests[lane] = nil
            if refused.count < MediaLimits.maximumApps { refused.insert(lane) }
            streams[lane]?.refuse()
        default: break
        }
    }

    private static func kind(_ service: ServiceType) -> MediaKind {
        service == .video ? .video : .audio
    }

    private mutating func open(
        _ lane: Lane, _ format: VideoFormat, _ verdict: StreamTap.Verdict, at time: WallTime
    ) {
        let kind = Self.kind(lane.service)
        guard kinds.contains(kind), isWanted(names[lane.owner]) else { return }
        let item = item(
            kind, lane.owner, title: kind.rawValue, ending: kind == .video ? ".h264" : ".wav", time)
        while streams.count >= MediaLimits.maximumOpen,
            let oldest = streams.min(by: { $0.value.began < $1.value.began })?.key
        { end(oldest) }
        streams[lane] =
            kind == .video
            ? StreamTap(video: item, format, verdict)
            : StreamTap(audio: item, audioFormat, verdict)
    }

    private mutating func end(_ lane: Lane) {
        guard var stream = streams.removeValue(forKey: lane) else { return }
        stream.finish(at: now, &output)
    }

    // MARK: - Messages

    /// Handles a decoded message.
    package mutating func receive(_ entry: TrafficEntry) {
        now = max(now, entry.time)
        let owner = Owner(app: entry.app, session: entry.sessionID ?? 0)
        if let name = entry.appName, names[owner] != name, names.count < MediaLimits.maximumApps {
            names[owner] = name
        }
        switch entry.content {
        case .rpc(let rpc) where entry.fate.isPeers:
            receive(rpc, entry, owner)
        case .encrypted:
            if isWanted(entry.appName), encryptedMessages.count < MediaLimits.maximumApps {
                encryptedMessages[owner, default: 0] &+= 1
            }
        case .event(let event): happened(event, entry)
        default: break
        }
    }

    private mutating func happened(_ event: EventEntry, _ entry: TrafficEntry) {
        switch event {
        case .session(.ended(let session)):
            let owner = Owner(app: entry.app, session: session)
            endAll { $0 == owner }
        case .session(.serviceEnded(let service, let session)):
            end(Lane(owner: Owner(app: entry.app, session: session), service: service))
        case .appClosed: endAll { $0.app == entry.app }
        case .linkClosed:
            endAll()
            audioFormat = nil
        case .missed:
            for lane in streams.keys { streams[lane]?.skip(at: entry.time, &output) }
            for owner in recordings.keys {
                recordings[owner]?.skip(at: entry.time, isGap: true, &output)
            }
            for owner in speeches.keys { speeches[owner]?.request = nil }
        default: break
        }
    }

    private mutating func receive(_ rpc: RPCEntry, _ entry: TrafficEntry, _ owner: Owner) {
        let message = rpc.message
        switch (message.functionID, message.type) {
        case (.registerAppInterface, .response): learn(message.parameters)
        case (.getSystemCapability, .response), (.onSystemCapabilityUpdated, .notification):
            if let capability = message.parameters.object("systemCapability") { learn(capability) }
        case (.performAudioPassThru, .request):
            begin(Speech(request: entry.number, format: PCMFormat(message.parameters)), owner)
        case (.performAudioPassThru, .response): endSpeech(rpc, owner)
        case (.onAudioPassThru, .notification): record(message, entry, owner)
        case (.putFile, .request): put(rpc, entry, owner)
        case (.putFile, .response): answer(rpc)
        default: break
        }
    }

    /// pcmStreamCapabilities of the head unit (MOBILE_API, "AudioPassThruCapabilities").
    private mutating func learn(_ parameters: JSONObject) {
        guard let format = parameters.object("pcmStreamCapabilities").flatMap({ PCMFormat($0) })
        else { return }
        audioFormat = format
    }

    /// A request made while another is being carried out changes nothing until one of them is answered.
    private mutating func begin(_ speech: Speech, _ owner: Owner) {
        guard speeches[owner] != nil || speeches.count < MediaLimits.maximumApps else { return }
        if speeches[owner]?.request != nil {
            nextSpeeches[owner] = speech
        } else {
            endRecording(owner)
            speeches[owner] = speech
        }
    }

    private mutating func endSpeech(_ rpc: RPCEntry, _ owner: Owner) {
        let next = nextSpeeches.removeValue(forKey: owner)
        // A refused request does not end the one that is being carried out.
        if let next, rpc.request?.number == next.request, rpc.outcome?.success == false { return }
        endRecording(owner)
        speeches[owner]?.request = nil
        if let next {
            speeches[owner] = next
            if rpc.request?.number == next.request { speeches[owner]?.request = nil }
        }
    }

    private mutating func record(_ message: RPCMessage, _ entry: TrafficEntry, _ owner: Owner) {
        guard message.bulk.readableBytes > 0, admit(.speech, entry, owner) else { return }
        if recordings[owner] == nil {
            if recordings.count >= MediaLimits.maximumOpen,
                let oldest = recordings.min(by: { $0.value.began < $1.value.began })?.key
            {
                endRecording(oldest)
            }
            recordings[owner] = SoundTap(
                item(.speech, owner, title: "speech", ending: ".wav", entry.time),
                speeches[owner]?.format)
        }
        recordings[owner]?.append(message.bulk, at: entry.time, &output)
    }

    private mutating func endRecording(_ owner: Owner) {
        guard var recording = recordings.removeValue(forKey: owner) else { return }
        recording.finish(at: now, [], &output)
    }

    private mutating func put(_ rpc: RPCEntry, _ entry: TrafficEntry, _ owner: Owner) {
        let message = rpc.message
        guard message.bulk.readableBytes > 0, admit(.file, entry, owner) else { return }
        let title = String(
            String.UnicodeScalarView(
                (message.parameters.string("syncFileName") ?? "").unicodeScalars
                    .prefix(MediaLimits.maximumTitleScalars)))
        let key = UploadKey(owner: owner, title: title)
        let offset = message.parameters.integer("offset")
        if offset ?? 0 == 0, uploads[key]?.hasBeginning == true { endUpload(key, isReplaced: true) }
        if uploads[key] == nil {
            if uploads.count >= MediaLimits.maximumOpen,
                let oldest = uploads.min(by: { $0.value.began < $1.value.began })?.key
            {
                endUpload(oldest)
            }
            var item = item(.file, owner, title: title, ending: nil, entry.time)
            item.title = title
            uploads[key] = UploadTap(item)
        }
        let isApart = offset ?? 0 > uploads[key]?.end ?? 0
        let room = isApart ? roomForHoles : 0
        uploads[key]?.add(rpc, offset: offset, room: room, at: entry.time, &output)
        if answers.count < MediaLimits.maximumRequests { answers[entry.number] = key }
    }

    /// Bytes that may be missing in files in addition to those that are.
    private var roomForHoles: Int {
        let open = uploads.values.reduce(0) { $0 + $1.holeBytes }
        return max(0, MediaLimits.maximumHoleBytes - open - endedHoleBytes)
    }

    private mutating func answer(_ rpc: RPCEntry) {
        guard let request = rpc.request?.number, let key = answers.removeValue(forKey: request)
        else { return }
        let isRefused = rpc.outcome.map { !$0.success } ?? false
        uploads[key]?.answer(
            refusal: isRefused
                ? PrintableText.string(rpc.outcome?.resultCode ?? "", limit: 40) : nil)
        if uploads[key]?.isOver == true { endUpload(key) }
    }

    private mutating func endUpload(_ key: UploadKey, isReplaced: Bool = false) {
        guard let upload = uploads.removeValue(forKey: key) else { return }
        for (request, of) in answers where of == key { answers[request] = nil }
        if !isLive { endedHoleBytes += upload.holeBytes }
        upload.finish(isReplaced: isReplaced, &output)
    }

    // MARK: - Frames and messages

    /// Reports once that the binary parts of messages are masked.
    ///
    /// - Returns: Whether to extract this message's binary part.
    private mutating func admit(_ kind: MediaKind, _ entry: TrafficEntry, _ owner: Owner) -> Bool {
        guard kinds.contains(kind), isWanted(entry.appName) else { return false }
        guard isBulkMasked else { return true }
        if toldOfMask.count < MediaLimits.maximumApps,
            toldOfMask.insert(Masked(owner: owner, kind: kind)).inserted
        {
            tell(.masked, kind: kind, owner)
        }
        return false
    }

    private mutating func tell(_ problem: MediaProblem, kind: MediaKind, _ owner: Owner) {
        var summary = MediaSummary()
        summary.problems = [problem]
        output.events.append(
            .ended(nil, item(kind, owner, title: kind.rawValue, ending: nil, now), summary))
    }

    private func item(
        _ kind: MediaKind, _ owner: Owner, title: String, ending: String?, _ time: WallTime
    ) -> MediaItem {
        let name = names[owner]
        return MediaItem(
            kind: kind, app: owner.app, appName: name, format: nil, title: nil,
            fileName: MediaName.make(app: name, title: title, ending: ending), began: time)
    }

    /// Ends everything that is open, the oldest first, and forgets its owners.
    private mutating func endAll(_ isMeant: (Owner) -> Bool = { _ in true }) {
        requests = requests.filter { !isMeant($0.key.owner) }
        refused = refused.filter { !isMeant($0.owner) }
        let lanes = streams.filter { isMeant($0.key.owner) }
        for lane in lanes.sorted(by: { $0.value.began < $1.value.began }).map(\.key) { end(lane) }
        let owners = recordings.filter { isMeant($0.key) }
        for owner in owners.sorted(by: { $0.value.began < $1.value.began }).map(\.key) {
            endRecording(owner)
        }
        let files = uploads.filter { isMeant($0.key.owner) }
        for key in files.sorted(by: {
            ($0.value.began.nanoseconds, $0.key.title) < ($1.value.began.nanoseconds, $1.key.title)
        }).map(\.key) {
            endUpload(key)
        }
        if isLive { tellEncrypted(isMeant) }
        names = names.filter { !isMeant($0.key) }
        speeches = speeches.filter { !isMeant($0.key) }
        nextSpeeches = nextSpeeches.filter { !isMeant($0.key) }
    }
}
