// Scheduler operations on all frames of a session: holding them back, letting them go, taking them
// out.

import NIOCore
import SDLProtocol

extension LinkScheduler {
    /// Whether frames of this session wait.
    package func isWaiting(_ session: UInt8) -> Bool {
        !sessions.isEmpty && sessions[Int(session)].waiting != 0
    }

    /// Takes out the waiting frames of a session that is over, service by service in the order they
    /// came.
    package mutating func remove(_ session: UInt8) -> [Entry] {
        guard isWaiting(session) else { return [] }
        var removed: [Entry] = []
        let base = Int(session) * TrafficClass.count
        for number in classes.indices where lanes[base + number].front != .nothing {
            let lane = base + number
            while let entry = frames.removeFirst(of: &lanes[lane].frames) {
                waitingBytes -= entry.frame.wire.readableBytes
                count(-1, in: lane)
                removed.append(entry)
            }
            lanes[lane].messageFrames = 0
            noteFront(of: lane)
            leave(lane, of: number)
            place(lane)
        }
        sessions[Int(session)] = Session(isHeld: sessions[Int(session)].isHeld)
        return removed
    }

    /// Removes all frames: the link they waited for is gone.
    mutating func removeAll() -> [Entry] {
        defer { self = Self() }
        return frames.entries
    }

    // MARK: - Sessions that have sent enough for now

    /// Holds back a session's frames, those that wait and those to come, until `release`, because the
    /// head unit counts them. Audio and video frames are not counted, so they are not held.
    package mutating func hold(_ session: UInt8) {
        if lanes.isEmpty { makeLanes() }
        guard !sessions[Int(session)].isHeld else { return }
        sessions[Int(session)].isHeld = true
        heldFrames += sessions[Int(session)].counted
        for lane in waitingLanes(of: session) {
            if lanes[lane].front == .consecutive { setBegun(lane, false) }
            place(lane)
        }
    }

    package mutating func release(_ session: UInt8) {
        guard !sessions.isEmpty, sessions[Int(session)].isHeld else { return }
        let held = waitingLanes(of: session)
        sessions[Int(session)].isHeld = false
        heldFrames -= sessions[Int(session)].counted
        for lane in held {
            if lanes[lane].front == .consecutive { setBegun(lane, true) }
            place(lane)
        }
        reconsider(Int(session))
    }

    /// The session's lanes with frames, of the services that count.
    private func waitingLanes(of session: UInt8) -> [Int] {
        TrafficClass.allCases.filter(\.isCounted)
            .map { Int(session) * TrafficClass.count + $0.rawValue }
            .filter { lanes[$0].front != .nothing }
    }

    func isHeld(_ lane: Int) -> Bool {
        sessions[lane / TrafficClass.count].isHeld && isCounted(lane)
    }

    /// Counts a frame that has come into the lane or gone from it.
    mutating func count(_ change: Int, in lane: Int) {
        guard isCounted(lane) else { return }
        let session = lane / TrafficClass.count
        sessions[session].counted += change
        if sessions[session].isHeld { heldFrames += change }
    }

    private func isCounted(_ lane: Int) -> Bool {
        TrafficClass(rawValue: lane % TrafficClass.count)?.isCounted ?? true
    }
}
