import NIOCore
import SDLProtocol

/// Events that could not be delivered because the queue was full: connections, what became of sessions, the
/// state of the link, and marks. Used by `TapQueue`.
///
/// It keeps at most one event per newly connected app, two per app that is already known, one per session
/// number that such an app has had and one per service of it, and two for the link. An app that came and went
/// meanwhile leaves nothing.
struct OwedEvents {
    /// The number may be given to another app, and that session may end, before anything is told.
    private struct Session: Hashable, Comparable {
        var app: AppID
        var number: UInt8
        /// Nil for the whole session.
        var service: ServiceType?

        static func < (left: Self, right: Self) -> Bool {
            (left.app, left.number, left.service?.rawValue ?? .max)
                < (right.app, right.number, right.service?.rawValue ?? .max)
        }
    }

    private var connected: [AppID: TapItem] = [:]
    private var closed: [TapItem] = []
    private var ended: [Session: TapItem] = [:]
    /// StartServices that waited and have been sent: the latest of each app.
    private var sent: [AppID: TapItem] = [:]
    private var linkClosed: TapItem?
    private var linkOpened: TapItem?
    private var notes: [TapItem] = []

    /// Most notes kept; people make fewer while a queue is full.
    static let maximumNotes = 64

    var isEmpty: Bool {
        connected.isEmpty && closed.isEmpty && ended.isEmpty && sent.isEmpty
            && linkClosed == nil && linkOpened == nil && notes.isEmpty
    }

    /// Keeps an event for later. Frames and what the hub noticed are not owed.
    mutating func note(_ event: TapItem) {
        switch event {
        case .appConnected(let app, _, _): connected[app] = event
        case .appClosed(let app, _, _):
            if connected.removeValue(forKey: app) == nil { closed.append(event) }
            ended = ended.filter { $0.key.app != app }
            sent[app] = nil
        case .session(let what, let app, _):
            // Nobody has seen a session of an app whose arrival is still owed.
            guard connected[app] == nil else { return }
            switch what {
            case .startSent: sent[app] = event
            case .ended(let number): ended[Session(app: app, number: number)] = event
            case .serviceEnded(let service, let number):
                ended[Session(app: app, number: number, service: service)] = event
            // These only lead to advice, and lost advice is not worth more room.
            case .wrongHash, .transportOffered: break
            }
        case .linkClosed:
            ended = [:]
            linkClosed = event
            linkOpened = nil
        case .linkOpened: linkOpened = event
        case .noted:
            if notes.count == Self.maximumNotes { notes.removeFirst() }
            notes.append(event)
        case .frames, .bytes, .missed, .noticed: break
        }
    }

    /// Takes all events, in an order that makes sense.
    mutating func take() -> [TapItem] {
        guard !isEmpty else { return [] }
        defer { self = Self() }
        let arrivals = connected.sorted { $0.key < $1.key }.map(\.value)
        let ends = ended.sorted { $0.key < $1.key }.map(\.value)
        let starts = sent.sorted { $0.key < $1.key }.map(\.value)
        return closed + ends + starts + [linkClosed, linkOpened].compactMap(\.self) + arrivals
            + notes
    }
}

extension TapItem {
    /// Bytes that an event occupies in the queue.
    var eventBytes: Int {
        let text =
            switch self {
            case .appConnected(_, let text, _), .appClosed(_, let text, _),
                .linkOpened(_, let text, _), .linkClosed(let text, _):
                text.utf8.count
            case .noticed(.garbage(let garbage), _, _): garbage.excerpt.utf8.count
            case .noted(let note, _): note.text.utf8.count
            case .noticed, .missed, .frames, .bytes, .session: 0
            }
        return switch self {
        case .bytes(let run): TapSink.overheadBytes + run.bytes.storageCapacity
        case .frames(let frames): TapSink.overheadBytes * (frames.count + 1) + frames.storageBytes
        default: TapSink.overheadBytes + text
        }
    }
}
