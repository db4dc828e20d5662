import DecodedTraces
import MessageFilters
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// Chooses the frames of the messages that a filter accepts, for `relayctl trace cut`, in their order.
///
/// Whether a frame is wanted is known when its message is complete, and for a request perhaps only when
/// the answer arrives. Until then the frame waits, with all frames after it. The waiting frames are
/// limited in number, bytes and age: beyond a limit, the oldest undecided one is left out.
struct FrameSelector {
    private struct Item {
        var entry: TraceEntry
        /// Nil while undecided.
        var isKept: Bool?
        /// Wanted if its message is; otherwise only if nothing can be understood without it.
        var isCandidate: Bool
        var group: Group?
        var bytes: Int
    }

    /// Frames that make up one message, or are reported together.
    private enum Group: Hashable {
        case message(UInt8, ServiceType, Direction, UInt32)
        case stream(UInt8, ServiceType, Direction)
        case dropped(AppID?, Direction, DropReason)
    }

    private let filter: MessageFilter
    private var decoding = TraceDecoding(isValidating: true)
    private let ring = MessageRing(maximumBytes: MessageRing.defaultMaximumBytes)
    private var cursor: UInt64 = 0
    private var items = CircularBuffer<Item>()
    /// Position of the first item, counted from the start.
    private var first = 0
    private var bytes = 0
    /// Positions of frames whose message is not complete.
    private var groups: [Group: [Int]] = [:]
    /// Positions of frames whose message waits for its answer, by the message's number.
    private var waiting: [UInt64: [Int]] = [:]

    /// Requests that are wanted and not yet answered.
    private var keptRequests: Set<UInt64> = []

    /// Nanoseconds after which waiting frames are no longer decided: people answer within a minute.
    private static let patience: Int64 = 120_000_000_000
    private static let maximumItems = 100_000
    private static let maximumBytes = 64 << 20

    init(_ filter: MessageFilter) {
        self.filter = filter
    }

    /// - Parameters:
    ///   - isKept: Nil where its message decides.
    ///   - isCandidate: Whether the frame is wanted if its message is.
    /// - Returns: What is decided by now and wanted, in order.
    mutating func receive(
        _ entry: TraceEntry, isKept: Bool?, isCandidate: Bool
    ) -> [TraceEntry] {
        let place = first + items.count
        let bytes = entry.frame?.frame.wire.readableBytes ?? 0
        var isKept = isKept
        // relayd sends such frames to end what an app had left unfinished; they make no message. Frames
        // that relayd sent for an app have the app's number.
        if let tapped = entry.frame, tapped.fate == .byRelay, tapped.app == nil,
            tapped.frame.type.rawValue > 1
        {
            isKept = isKept ?? false
        }
        items.append(
            Item(entry: entry, isKept: isKept, isCandidate: isCandidate, bytes: bytes))
        self.bytes += bytes
        var decoded: [TrafficEntry] = []
        if let tapped = entry.frame {
            let group = Self.group(tapped)
            if let group {
                if tapped.frame.type == .first, case .message = group { giveUp(group) }
                groups[group, default: []].append(place)
                items[offset: place - first].group = group
            }
            decoding.receive(entry, into: &decoded)
            for message in decoded { assign(message, tapped, group, place) }
        } else {
            decoding.receive(entry, into: &decoded)
        }
        decide(decoded)
        return takeDecided()
    }

    /// Returns the remaining wanted entries at the end.
    mutating func finish() -> [TraceEntry] {
        var decoded: [TrafficEntry] = []
        decoding.finish(into: &decoded)
        for message in decoded { assignSum(message) }
        decide(decoded)
        defer { items = [] }
        return items.filter { $0.isKept == true }.map(\.entry)
    }

    // MARK: Frames and messages

    private static func group(_ tapped: TappedFrame) -> Group? {
        let frame = tapped.frame
        // An answer to relayd is treated like any other message.
        if case .dropped(let reason) = tapped.fate, !tapped.isAnswerToRelay {
            return .dropped(tapped.app, tapped.direction, reason)
        }
        if frame.type == .control { return nil }
        if frame.service.isStream {
            return .stream(frame.sessionID, frame.service, tapped.direction)
        }
        return .message(frame.sessionID, frame.service, tapped.direction, frame.messageID ?? 0)
    }

    /// Assigns frames to the message they carried.
    private mutating func assign(
        _ message: TrafficEntry, _ tapped: TappedFrame, _ group: Group?, _ place: Int
    ) {
        switch message.content {
        case .control where tapped.frame.type == .control: waiting[message.number] = [place]
        case .rpc, .security, .encrypted, .undecodable:
            guard let group, case .message = group,
                message.sessionID == tapped.frame.sessionID,
                message.direction == tapped.direction
            else { return }
            waiting[message.number] = groups.removeValue(forKey: group)
        case .dropped(let dropped) where dropped.frame != nil:
            guard let group else { return }
            groups[group] = nil
            waiting[message.number] = [place]
        default: assignSum(message)
        }
    }

    /// Assigns frames to a message that reports several together.
    private mutating func assignSum(_ message: TrafficEntry) {
        guard let direction = message.direction else { return }
        switch message.content {
        case .stream:
            guard let session = message.sessionID, let service = message.service else { return }
            waiting[message.number] = groups.removeValue(
                forKey: .stream(session, service, direction))
        case .dropped(let dropped):
            waiting[message.number] = groups.removeValue(
                forKey: .dropped(message.app, direction, dropped.reason))
        default: break
        }
    }

    // MARK: Decisions

    private mutating func decide(_ decoded: [TrafficEntry]) {
        guard let latest = decoded.last?.number else { return }
        ring.consume(decoded)
        var accepted: Set<UInt64> = []
        while true {
            let reading = ring.messages(after: cursor, matching: filter, limit: 64)
            for entry in reading.entries { accepted.insert(entry.number) }
            cursor = reading.next
            if reading.isAtEnd { break }
        }
        cursor = max(cursor, latest)
        for message in decoded {
            let isAccepted = accepted.contains(message.number)
            guard case .rpc(let rpc) = message.content else {
                settle(message.number, isWanted: isAccepted)
                continue
            }
            let isEssential = rpc.message.functionID == .registerAppInterface
            switch rpc.message.type {
            case .notification: settle(message.number, isWanted: isAccepted)
            case .request:
                if isAccepted, keptRequests.count < Self.maximumItems {
                    keptRequests.insert(message.number)
                }
                // The answer may be wanted, and says little without the request.
                if isEssential { settle(message.number, isWanted: false, isEssential: true) }
            case .response:
                let request = rpc.request?.number
                let isAsked = request.map { keptRequests.remove($0) != nil } ?? false
                let isWanted = isAccepted || isAsked || request.map(accepted.contains) ?? false
                settle(message.number, isWanted: isWanted, isEssential: isEssential)
                if let request { settle(request, isWanted: isWanted) }
            }
        }
        // Settled last, so that a message that is essential anyway has already been settled as such.
        for number in accepted { settle(number, isWanted: true) }
    }

    private mutating func settle(_ number: UInt64, isWanted: Bool, isEssential: Bool = false) {
        for place in waiting.removeValue(forKey: number) ?? [] where place >= first {
            let index = place - first
            guard items[offset: index].isKept == nil else { continue }
            items[offset: index].isKept =
                isEssential || isWanted && items[offset: index].isCandidate
        }
    }

    private mutating func giveUp(_ group: Group) {
        for place in groups.removeValue(forKey: group) ?? [] where place >= first {
            if items[offset: place - first].isKept == nil {
                items[offset: place - first].isKept = false
            }
        }
    }

    private mutating func takeDecided() -> [TraceEntry] {
        var decided: [TraceEntry] = []
        while let item = items.first {
            let age = (items.last?.entry.time.nanoseconds ?? 0) - item.entry.time.nanoseconds
            let isOverdue =
                items.count > Self.maximumItems || bytes > Self.maximumBytes
                || age > Self.patience
            guard item.isKept != nil || isOverdue else { break }
            items.removeFirst()
            bytes -= item.bytes
            first += 1
            if item.isKept == true { decided.append(item.entry) }
            if item.isKept == nil, let group = item.group { groups[group] = nil }
        }
        if waiting.count > Self.maximumItems {
            let start = first
            waiting = waiting.filter { $0.value.contains { $0 >= start } }
        }
        return decided
    }
}
