// Which waiting frame goes to the accessory next; used by `LinkOutput` while the link is busy.
//
// In running order: `enqueue` puts a frame at the end of its lane; `next` chooses a class, the class
// a lane, and takes the lane's first frame; `place` decides where the lane waits from then on.

package import NIOCore
package import SDLProtocol

/// Frames that wait because the link takes no more at the moment.
///
/// Classes are served by importance: control, RPC, audio, video, bulk. A class that has had to wait
/// for `ageingLimit` sends a little before the others, so nothing starves. Within a class, the app
/// that has been given the fewest bytes goes next, and frames of different sessions mix freely.
///
/// Within a session each service is a lane, and a lane keeps its order; so a StartService stays
/// between the frames it came between. A frame that ends a session goes after everything before it.
/// An app's single frames and control frames may overtake its own less important ones, even in the
/// middle of a multi-frame message, which every known receiver tolerates (SDL protocol spec,
/// "Multi-frame messages"). Two multi-frame messages of a session never mix, whatever their
/// services, because sdl_ios assembles by session alone; they go in the order they were begun.
///
/// A receiver gives up on a message when its next frame does not come for 10 s. So in each class no
/// message is begun while `begunLimit` others still have frames waiting, and a begun message that
/// has waited for `continuationLimit` goes before all others of its class.
///
/// Operations on all frames of a session, holding them back or taking them out, are in +Sessions.
package struct LinkScheduler<App: Hashable> {
    package struct Entry {
        package var frame: Frame
        package var origin: Origin<App>
        package var since: NIODeadline

        /// The app whose frame it is; nil for the relay's own frames.
        package var app: App? { origin.app }

        /// Whether the session is over after this frame, which then must not overtake any other of
        /// the session: ending the RPC service ends all services, and so does the answer to the head
        /// unit's own EndService.
        fileprivate var endsSession: Bool {
            guard frame.service == .rpc, let type = frame.controlType else { return false }
            return type == .endService || type == .endServiceACK
        }
    }

    /// A person notices a quarter of a second, and it is many times what an RPC or an audio frame
    /// takes, so the classes keep their order in everything but a lasting flood.
    static var ageingLimit: TimeAmount { .milliseconds(250) }
    /// The least that a class that has waited too long may send before it waits again: one frame, or
    /// several small ones.
    static var ageingBytes: Int { 4 << 10 }
    /// Multi-frame messages of one class under way at once. Two, so that one long message does not
    /// shut out all others; not more, because each has to wait for a frame of all the others, and
    /// one turn of four classes with 128 KB frames takes 3.5 s on a 150 KB/s link.
    static var begunLimit: Int { 2 }
    /// The receiver waits 10 s. With two messages per class, and each class's turn coming after
    /// 3.5 s at worst (see `begunLimit`), a frame that is due after 2 s goes within 9 s.
    static var continuationLimit: TimeAmount { .seconds(2) }

    /// The kind of a lane's first frame.
    enum Front: UInt8 {
        case nothing
        /// May go at any time.
        case whole
        /// Begins a multi-frame message.
        case first
        /// Continues a multi-frame message.
        case consecutive
        /// Ends the session.
        case end
    }

    /// The frames of one service of one session.
    struct Lane {
        var frames = WaitingFrames<Entry>.Chain()
        /// First and consecutive frames among them.
        var messageFrames: Int32 = 0
        var account: Int32 = 0
        /// Changes when the lane moves, which invalidates its former place in a heap.
        var stamp: UInt32 = 0
        /// The class that serves the lane: its own, or that of a message that has to wait for a
        /// message of this lane.
        var place: UInt8 = 0
        var front = Front.nothing
        /// When its last frame went, or when it began to wait.
        var movedAt = NIODeadline.uptimeNanoseconds(0)
    }

    /// The state of a session's lanes; `waiting` and `parked` have one bit per class.
    struct Session {
        /// The lanes that have frames.
        var waiting: UInt8 = 0
        /// The lanes that must wait for others of the session.
        var parked: UInt8 = 0
        /// A frame that ends the session was put in the RPC lane. Later frames go there too, behind
        /// it, until that lane is empty.
        var isEnding = false
        /// The session has sent as much as it may for now; see `hold`.
        var isHeld = false
        /// Waiting frames that count towards the rate; audio and video frames do not.
        var counted = 0
    }

    /// The lanes that can be served in a class; lanes of less important classes may be guests there.
    private enum Queue: Int {
        /// Their first frame may go.
        case ready
        /// Their first frame begins a message, which must wait for messages under way.
        case beginning
    }

    struct Class {
        /// Lanes of this class in the middle of a message.
        var begun: [Int16] = []
        var served = FairShare<App>()
        /// Lanes of this class that have frames.
        var waitingLanes = 0
        /// Since when other classes have been served instead. The time that the class's own last
        /// frame takes on the link does not count: a frame of 128 KB may take longer than the limit.
        var passedOverSince: NIODeadline?
        /// Bytes sent because the class had waited too long.
        var agedBytes = 0
    }

    var frames = WaitingFrames<Entry>()
    var lanes: ContiguousArray<Lane> = []
    var sessions: ContiguousArray<Session> = []
    var classes = ContiguousArray<Class>(repeating: Class(), count: TrafficClass.count)
    /// Two per class, one for each `Queue`.
    private var heaps = ContiguousArray<LaneHeap>(
        repeating: LaneHeap(), count: 2 * TrafficClass.count)
    private var lastTurn: UInt64 = 0
    /// Bytes of all frames waiting.
    package internal(set) var waitingBytes = 0
    /// Frames of sessions that are held.
    var heldFrames = 0

    package var isEmpty: Bool { frames.count == 0 }
    /// Frames wait that are not held.
    package var hasReady: Bool { frames.count > heldFrames }

    package init() {}

    // MARK: - In

    package mutating func enqueue(_ frame: Frame, from app: App, at now: NIODeadline) {
        enqueue(frame, from: .app(app), at: now)
    }

    package mutating func enqueue(_ frame: Frame, from origin: Origin<App>, at now: NIODeadline) {
        if lanes.isEmpty { makeLanes() }
        let session = Int(frame.sessionID)
        let entry = Entry(frame: frame, origin: origin, since: now)
        if entry.endsSession { sessions[session].isEnding = true }
        let number =
            sessions[session].isEnding
            ? TrafficClass.rpc.rawValue : TrafficClass(frame.service).rawValue
        let lane = session * TrafficClass.count + number
        waitingBytes += frame.wire.readableBytes
        frames.append(entry, to: &lanes[lane].frames)
        if frame.isPartOfMessage { lanes[lane].messageFrames += 1 }
        count(1, in: lane)
        guard lanes[lane].front == .nothing else { return }
        classes[number].waitingLanes += 1
        sessions[session].waiting |= 1 << number
        lanes[lane].account = classes[number].served.enter(origin.app)
        lanes[lane].movedAt = now
        lanes[lane].place = UInt8(number)
        noteFront(of: lane)
        place(lane)
    }

    /// Makes the lanes, which only a link that has been busy needs: 1280 lanes take some 60 KB.
    mutating func makeLanes() {
        lanes = .init(repeating: Lane(), count: 256 * TrafficClass.count)
        sessions = .init(repeating: Session(), count: 256)
    }

    // MARK: - Out

    /// Takes out the frame that goes next; nil when none may go, or when it is larger than `room`.
    package mutating func next(at now: NIODeadline, upTo room: Int = .max) -> Entry? {
        guard !isEmpty, let choice = choose(at: now),
            let frame = frames.first(of: lanes[choice.lane].frames)?.frame,
            frame.wire.readableBytes <= room
        else { return nil }
        return take(choice, bytes: frame.wire.readableBytes, at: now)
    }

    private struct Choice {
        var number: Int
        var lane: Int
        /// The lane's app has been given the fewest bytes of its class.
        var isInTurn: Bool
        /// The lane goes because its class has waited too long.
        var isAged = false
    }

    /// The most important class, or the one that has waited longest beyond its limit.
    private mutating func choose(at now: NIODeadline) -> Choice? {
        var best: Choice?
        var aged: Choice?
        var oldest: NIODeadline?
        for number in classes.indices {
            guard let choice = candidate(of: number, at: now) else { continue }
            if best == nil { best = choice }
            guard let since = classes[number].passedOverSince, now - since >= Self.ageingLimit
            else { continue }
            if let oldest, oldest <= since { continue }
            oldest = since
            aged = choice
            aged?.isAged = true
        }
        return aged ?? best
    }

    private mutating func candidate(of number: Int, at now: NIODeadline) -> Choice? {
        if let due = dueContinuation(of: number, at: now) {
            return Choice(number: number, lane: due, isInTurn: false)
        }
        let ready = first(of: .ready, in: number)
        let beginning =
            classes[number].begun.count < Self.begunLimit ? first(of: .beginning, in: number) : nil
        switch (ready, beginning) {
        case (nil, nil): return nil
        case (let key?, nil), (nil, let key?):
            return Choice(number: number, lane: Int(key.lane), isInTurn: true)
        case (let one?, let other?):
            let key = other < one ? other : one
            return Choice(number: number, lane: Int(key.lane), isInTurn: true)
        }
    }

    /// The lane whose begun message has waited longest, if beyond `continuationLimit`.
    private func dueContinuation(of number: Int, at now: NIODeadline) -> Int? {
        var due: Int?
        for lane in classes[number].begun {
            let moved = lanes[Int(lane)].movedAt
            guard now - moved >= Self.continuationLimit else { continue }
            if let other = due, lanes[other].movedAt <= moved { continue }
            due = Int(lane)
        }
        return due
    }

    /// The first key that is still valid.
    private mutating func first(of queue: Queue, in number: Int) -> LaneHeap.Key? {
        let heap = 2 * number + queue.rawValue
        while var key = heaps[heap].first {
            guard lanes[Int(key.lane)].stamp == key.stamp else {
                heaps[heap].removeFirst()
                continue
            }
            // Another session of the same app may have been served.
            let served = classes[number].served[account(of: Int(key.lane), in: number)]
            guard served > key.served else { return key }
            key.served = served
            heaps[heap].replaceFirst(with: key)
        }
        return nil
    }

    /// The account to charge when the lane is served in this class. A guest's session has a lane of
    /// its own there, which waits for the guest.
    private func account(of lane: Int, in number: Int) -> Int32 {
        lanes[lane - ownClass(of: lane) + number].account
    }

    private mutating func take(_ choice: Choice, bytes: Int, at now: NIODeadline) -> Entry? {
        let (lane, own) = (choice.lane, ownClass(of: choice.lane))
        let session = lane / TrafficClass.count
        let entry = frames.removeFirst(of: &lanes[lane].frames)
        waitingBytes -= bytes
        count(-1, in: lane)
        switch lanes[lane].front {
        case .first, .consecutive: lanes[lane].messageFrames -= 1
        case .nothing, .whole, .end: break
        }
        lanes[lane].movedAt = now
        classes[choice.number].served.serve(
            bytes, to: account(of: lane, in: choice.number), isInTurn: choice.isInTurn)
        settleAge(of: choice, bytes: bytes, at: now)
        noteFront(of: lane)
        if lanes[lane].front == .nothing {
            sessions[session].waiting &= ~(1 << own)
            if own == TrafficClass.rpc.rawValue { sessions[session].isEnding = false }
            leave(lane, of: own)
        }
        place(lane)
        if sessions[session].parked != 0 { reconsider(session) }
        return entry
    }

    private mutating func settleAge(of choice: Choice, bytes: Int, at now: NIODeadline) {
        for number in classes.indices where number != choice.number {
            guard classes[number].waitingLanes > 0, classes[number].passedOverSince == nil
            else { continue }
            classes[number].passedOverSince = now
        }
        if choice.isAged {
            classes[choice.number].agedBytes += bytes
            guard classes[choice.number].agedBytes >= Self.ageingBytes else { return }
        }
        classes[choice.number].agedBytes = 0
        classes[choice.number].passedOverSince = nil
    }

    mutating func leave(_ lane: Int, of own: Int) {
        classes[own].served.leave(lanes[lane].account)
        classes[own].waitingLanes -= 1
        guard classes[own].waitingLanes == 0 else { return }
        classes[own].served.removeAll()
        classes[own].passedOverSince = nil
        classes[own].agedBytes = 0
        guard isEmpty else { return }
        for heap in heaps.indices { heaps[heap].removeAll() }
    }

    // MARK: - Where a lane waits

    private func ownClass(of lane: Int) -> Int { lane % TrafficClass.count }

    /// Notes what the lane's first frame is now.
    mutating func noteFront(of lane: Int) {
        let before = lanes[lane].front
        let front: Front =
            if let entry = frames.first(of: lanes[lane].frames) {
                if entry.endsSession {
                    .end
                } else {
                    switch entry.frame.type {
                    case .first: .first
                    case .consecutive: .consecutive
                    case .control, .single: .whole
                    }
                }
            } else {
                .nothing
            }
        lanes[lane].front = front
        guard (before == .consecutive) != (front == .consecutive), !isHeld(lane) else { return }
        setBegun(lane, front == .consecutive)
    }

    /// Whether the lane is in the middle of a message that may go on.
    mutating func setBegun(_ lane: Int, _ isBegun: Bool) {
        let own = ownClass(of: lane)
        if isBegun {
            classes[own].begun.append(Int16(lane))
        } else if let index = classes[own].begun.firstIndex(of: Int16(lane)) {
            classes[own].begun.swapAt(index, classes[own].begun.count - 1)
            classes[own].begun.removeLast()
        }
    }

    /// Puts the lane where its first frame has to wait.
    mutating func place(_ lane: Int) {
        lanes[lane].stamp &+= 1
        let session = lane / TrafficClass.count
        let own = ownClass(of: lane)
        sessions[session].parked &= ~(1 << own)
        let number = Int(lanes[lane].place)
        switch lanes[lane].front {
        case .nothing: return
        case _ where isHeld(lane):
            sessions[session].parked |= 1 << own
        case .end where sessions[session].waiting != 1 << own:
            sessions[session].parked |= 1 << own
        case .first where isBehindAnotherMessage(lane):
            promoteMessages(before: lane)
            sessions[session].parked |= 1 << own
        case .first:
            insert(lane, into: .beginning, of: number)
        case .whole, .consecutive, .end:
            insert(lane, into: .ready, of: number)
        }
    }

    private mutating func insert(_ lane: Int, into queue: Queue, of number: Int) {
        lastTurn += 1
        let served = classes[number].served[account(of: lane, in: number)]
        heaps[2 * number + queue.rawValue].insert(
            LaneHeap.Key(
                served: served, turn: lastTurn, lane: Int16(lane), stamp: lanes[lane].stamp))
    }

    /// Whether a message of another lane of the session was begun, or came, before this one. The
    /// lane with the earliest frame never waits for another, so some lane can always go on.
    private func isBehindAnotherMessage(_ lane: Int) -> Bool {
        lanesOfSession(of: lane).contains { hasMessage($0, before: lane) }
    }

    /// Serves the messages in the way as if they were of this lane's class: an RPC must not have to
    /// wait until all other apps' bulk data has gone.
    private mutating func promoteMessages(before lane: Int) {
        for other in lanesOfSession(of: lane)
        where lanes[other].place > lanes[lane].place && hasMessage(other, before: lane) {
            lanes[other].place = lanes[lane].place
            place(other)
        }
    }

    private func hasMessage(_ other: Int, before lane: Int) -> Bool {
        other != lane && lanes[other].messageFrames > 0
            && frames.firstSequence(of: lanes[other].frames)
                < frames.firstSequence(of: lanes[lane].frames)
    }

    private func lanesOfSession(of lane: Int) -> Range<Int> {
        let base = lane - ownClass(of: lane)
        return base..<base + TrafficClass.count
    }

    /// Lets lanes go on that waited for a frame of the session that has gone, and ends promotions.
    mutating func reconsider(_ session: Int) {
        let base = session * TrafficClass.count
        for lane in base..<base + TrafficClass.count
        where Int(lanes[lane].place) != ownClass(of: lane) {
            lanes[lane].place = UInt8(ownClass(of: lane))
            place(lane)
        }
        // The most important ones last: they promote.
        let parked = sessions[session].parked
        for number in classes.indices.reversed() where parked & 1 << number != 0 {
            place(base + number)
        }
    }
}

extension Frame {
    /// First or consecutive.
    fileprivate var isPartOfMessage: Bool { type == .first || type == .consecutive }
}
