import NIOCore
import SDLProtocol

/// What a trace has to begin with so that the rest can be understood: the link, the connected apps, and for
/// each open session its grants and its registration. `relayctl trace cut` keeps the same.
///
/// Learns this from the items that pass, one after the other, and then gives it as items. Only control frames
/// and the headers of RPCs are examined; nothing is decoded. Frames are copied, because those of a batch keep
/// all of its bytes alive. The tap has one on the hub's loop, for sinks that come later; recordings in
/// several files and the flight recorder have their own.
package struct TapPrologue {
    /// Bytes that its frames may occupy. Frames that do not fit are not kept.
    private let maximumBytes: Int
    private var link: TapItem?
    private var apps: [AppID: App] = [:]
    /// RPCs that have come only in part and may be registrations.
    private var halves: [Half: [TappedFrame]] = [:]
    /// Bytes that its frames occupy.
    package private(set) var occupiedBytes = 0

    private struct App {
        var arrival: TapItem
        /// Services asked for, not granted.
        var starts: [ServiceType: TappedFrame] = [:]
        var sessions: [UInt8: Session] = [:]

        var frames: [TappedFrame] {
            Array(starts.values) + sessions.values.flatMap(\.frames)
        }
    }

    private struct Session {
        var grants: [ServiceType: [TappedFrame]] = [:]
        /// The latest grant that protects a session which was running already.
        var protection: [TappedFrame] = []
        var request: [TappedFrame] = []
        var response: [TappedFrame] = []

        var frames: [TappedFrame] {
            grants.values.flatMap(\.self) + protection + request + response
        }
        var isRegistered: Bool { !request.isEmpty && !response.isEmpty }
    }

    private struct Half: Hashable {
        var app: AppID
        var direction: Direction
        var session: UInt8
        var message: UInt32
    }

    /// Bytes per frame, besides its own.
    private static let overheadBytes = 256
    private static let maximumHalves = 256

    package init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    // MARK: - Telling

    /// All items, in the order of their times.
    package var items: [TapItem] {
        var told: [(time: WallTime, item: TapItem)] = []
        for app in apps.values {
            if let time = app.arrival.latestTime { told.append((time, app.arrival)) }
            for frame in app.frames { told.append((frame.time, .frames([frame]))) }
        }
        // Items of one read keep their order: nobody answers before being asked.
        let sorted = told.enumerated().sorted { left, right in
            (left.element.time, left.element.item.rank, left.offset)
                < (right.element.time, right.element.item.rank, right.offset)
        }
        return [link].compactMap(\.self) + sorted.map(\.element.item)
    }

    /// The frames alone, for those who know already who is connected.
    package var frames: [TappedFrame] {
        items.flatMap { item -> [TappedFrame] in
            if case .frames(let frames) = item { frames } else { [] }
        }
    }

    // MARK: - Learning

    package mutating func learn(_ item: TapItem) {
        switch item {
        case .linkOpened: link = item
        case .linkClosed:
            link = nil
            halves = [:]
            for id in apps.keys {
                apps[id]?.sessions = [:]
                apps[id]?.starts = [:]
            }
            occupiedBytes = 0
        case .appConnected(let id, _, _): apps[id] = App(arrival: item)
        case .appClosed(let id, _, _):
            if let app = apps.removeValue(forKey: id) {
                release(app.frames)
            }
            for half in halves.keys where half.app == id { forget(half) }
        case .session(let event, let id, let time): learn(event, of: id, at: time)
        case .frames(let frames): for frame in frames { learn(frame) }
        // The rest of a message may be missing.
        case .missed: for half in halves.keys { forget(half) }
        case .bytes, .noticed, .noted: break
        }
    }

    private mutating func learn(_ event: SessionEvent, of app: AppID, at time: WallTime) {
        switch event {
        case .startSent:
            guard apps[app]?.starts[.rpc]?.isWaiting == true else { return }
            // Sinks that come later need not know of its wait.
            apps[app]?.starts[.rpc]?.isWaiting = false
            apps[app]?.starts[.rpc]?.time = time
        case .ended(let session):
            release(apps[app]?.sessions.removeValue(forKey: session)?.frames ?? [])
        case .serviceEnded(let service, let session):
            release(apps[app]?.sessions[session]?.grants.removeValue(forKey: service) ?? [])
        case .wrongHash, .transportOffered: break
        }
    }

    /// Whether anything can be learnt from a frame; asked of each that passes.
    @inline(__always)
    static func concerns(_ frame: Frame) -> Bool {
        if frame.type == .control { return true }
        guard frame.service == .rpc, !frame.isEncrypted else { return false }
        // For most messages, this is all that is examined.
        return frame.type != .single || function(frame) != nil
    }

    package mutating func learn(_ tapped: TappedFrame) {
        guard let app = tapped.app, apps[app] != nil else { return }
        switch tapped.fate {
        // The amended one follows.
        case .dropped, .replaced: return
        case .faulted(let mark) where mark.kind == .repeated: return
        case .forwarded, .amended, .byRelay, .faulted: break
        }
        if tapped.frame.type == .control {
            learnControl(tapped, app)
        } else if Self.concerns(tapped.frame) {
            learnRPC(tapped, app)
        }
    }

    private mutating func learnControl(_ tapped: TappedFrame, _ app: AppID) {
        let frame = tapped.frame
        let (service, session) = (frame.service, frame.sessionID)
        switch frame.controlType {
        case .startService:
            release([apps[app]?.starts.removeValue(forKey: service)].compactMap(\.self))
            if let copy = keep(tapped) { apps[app]?.starts[service] = copy }
        case .startServiceACK:
            guard tapped.grant != .nothing else { return }
            let start = apps[app]?.starts.removeValue(forKey: service)
            if tapped.grant == .opens {
                release(apps[app]?.sessions.removeValue(forKey: session)?.frames ?? [])
            }
            let frames = [start, keep(tapped)].compactMap(\.self)
            if tapped.grant == .protects {
                // An app may ask for protection again and again.
                release(apps[app]?.sessions[session]?.protection ?? [])
                apps[app]?.sessions[session, default: Session()].protection = frames
            } else if service == .rpc {
                apps[app]?.sessions[session, default: Session()].grants[service, default: []] +=
                    frames
            } else {
                let earlier = apps[app]?.sessions[session, default: Session()].grants
                    .updateValue(frames, forKey: service)
                release(earlier ?? [])
            }
        case .startServiceNAK:
            release([apps[app]?.starts.removeValue(forKey: service)].compactMap(\.self))
        default: break
        }
    }

    private mutating func learnRPC(_ tapped: TappedFrame, _ app: AppID) {
        let frame = tapped.frame
        let half = Half(
            app: app, direction: tapped.direction, session: frame.sessionID,
            message: frame.messageID ?? 0)
        switch frame.type {
        case .control: return
        case .single:
            switch Self.function(frame) {
            case .registration: if let copy = keep(tapped) { register([copy], half) }
            case .unregistration: unregister(half)
            case nil: break
            }
        case .first:
            forget(half)
            // A registered app sends files and the like in several frames.
            guard apps[app]?.sessions[frame.sessionID]?.isRegistered != true,
                halves.count < Self.maximumHalves, let copy = keep(tapped)
            else { return }
            halves[half] = [copy]
        case .consecutive:
            guard !halves.isEmpty, let begun = halves[half] else { return }
            guard begun.count > 1 || Self.function(frame) == .registration,
                let copy = keep(tapped)
            else { return forget(half) }
            halves[half]?.append(copy)
            if frame.info == 0, let whole = halves.removeValue(forKey: half) {
                register(whole, half)
            }
        }
    }

    private mutating func register(_ frames: [TappedFrame], _ message: Half) {
        // The session may have been granted before anything was seen.
        var session = apps[message.app]?.sessions[message.session] ?? Session()
        switch message.direction {
        case .fromApp:
            release(session.request)
            session.request = frames
        case .fromAccessory:
            release(session.response)
            session.response = frames
        }
        apps[message.app]?.sessions[message.session] = session
    }

    /// The app may register again in the same session.
    private mutating func unregister(_ message: Half) {
        guard message.direction == .fromApp,
            let session = apps[message.app]?.sessions[message.session]
        else { return }
        release(session.request + session.response)
        apps[message.app]?.sessions[message.session]?.request = []
        apps[message.app]?.sessions[message.session]?.response = []
    }

    private enum Function {
        case registration, unregistration
    }

    /// - Parameter frame: The frame of a message that contains its header.
    @inline(__always)
    private static func function(_ frame: Frame) -> Function? {
        guard frame.version > 1 else { return functionOfText(frame.payload) }
        guard let header = frame.rpcHeader, header.type != .notification else { return nil }
        switch FunctionID(rawValue: header.functionID) {
        case .registerAppInterface: return .registration
        case .unregisterAppInterface: return .unregistration
        default: return nil
        }
    }

    /// In version 1 of the protocol, the name is near the beginning of a few lines of JSON.
    private static func functionOfText(_ payload: ByteBuffer) -> Function? {
        let beginning = payload.readableBytesView.prefix(256)
        func has(_ name: String) -> Bool {
            beginning.firstRange(of: Array("\"\(name)\"".utf8)) != nil
        }
        if has("RegisterAppInterface") { return .registration }
        return has("UnregisterAppInterface") ? .unregistration : nil
    }

    // MARK: - Memory

    /// A copy of the frame, if there is room.
    private mutating func keep(_ tapped: TappedFrame) -> TappedFrame? {
        let bytes = Self.bytes(tapped)
        guard occupiedBytes + bytes <= maximumBytes else { return nil }
        occupiedBytes += bytes
        var copy = tapped
        copy.isEarlier = true
        copy.frame = Frame(checked: ByteBuffer(bytes: tapped.frame.wire.readableBytesView))
        return copy
    }

    private mutating func release(_ frames: [TappedFrame]) {
        for frame in frames { occupiedBytes -= Self.bytes(frame) }
    }

    private mutating func forget(_ half: Half) {
        guard !halves.isEmpty else { return }
        release(halves.removeValue(forKey: half) ?? [])
    }

    /// Counts the bytes of the frame twice, because storage grows by doubling.
    private static func bytes(_ tapped: TappedFrame) -> Int {
        2 * tapped.frame.wire.readableBytes + overheadBytes
    }
}

extension TapItem {
    /// When it happened, for several frames the last; nil for what has no time of its own.
    package var latestTime: WallTime? {
        switch self {
        case .frames(let frames): frames.last?.time
        case .bytes(let run): run.time
        case .appConnected(_, _, let time), .appClosed(_, _, let time),
            .session(_, _, let time), .linkOpened(_, _, let time), .linkClosed(_, let time),
            .noticed(_, _, let time), .noted(_, let time):
            time
        case .missed: nil
        }
    }

    /// Apps sort before what they say.
    fileprivate var rank: Int { if case .appConnected = self { 0 } else { 1 } }
}
