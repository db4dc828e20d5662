// The books of a fault storm: the frames sent, what became of them, and what does not add up.

import NIOCore
import SDLProtocol

@testable import RelayCore

/// Every frame has to end once: passed as it came, dropped, or replaced by a changed one.
struct FaultLedger {
    /// The same for a frame and a changed version of it.
    struct Key: Hashable, CustomStringConvertible {
        var lane: String
        var messageID: UInt32
        var type: FrameType
        var info: UInt8

        init(_ frame: Frame, _ direction: Direction, _ app: String) {
            lane = "\(app) \(direction) \(frame.sessionID) \(frame.service)"
            messageID = frame.messageID ?? 0
            (type, info) = (frame.type, frame.info)
        }

        var description: String { "\(lane) message \(messageID) \(type) \(info)" }
    }

    private struct Account {
        var frame: Frame
        /// The place in its lane.
        var place: Int
        var ends = 0
        var isReplaced = false
        /// Whether the frame, or its changed version, has passed.
        var hasPassed = false
    }

    struct Sums: Equatable {
        var said = 0
        var passed = 0
        var dropped = 0
        var replaced = 0
        /// Not part of `said`.
        var repeated = 0
        var changed = 0
        var relayd = 0
    }

    /// Sums in bytes.
    private(set) var sums = Sums()
    private(set) var problems: [String] = []
    private var accounts: [Key: Account] = [:]
    private var order: [String: [Key]] = [:]
    /// The latest place of each lane that has passed.
    private var reached: [String: Int] = [:]
    /// Lanes of apps and sessions that have ended: their last message may be a part.
    private var ended: Set<String> = []
    private var own: [Frame: Int] = [:]
    private var replaced: Key?
    private(set) var disconnects = 0

    mutating func says(_ frame: Frame, _ direction: Direction, _ app: String) {
        let key = Key(frame, direction, app)
        accounts[key] = Account(frame: frame, place: order[key.lane, default: []].count)
        order[key.lane, default: []].append(key)
        sums.said += frame.wire.readableBytes
    }

    /// Notes a frame of relayd's own, which no rule takes.
    mutating func relaydSays(_ frame: Frame) { own[frame, default: 0] += 1 }

    mutating func passes(
        _ frame: Frame, _ direction: Direction, _ app: String, _ fate: FrameFate
    ) {
        let bytes = frame.wire.readableBytes
        if fate == .byRelay { return ends(own: frame) }
        let key = Key(frame, direction, app)
        guard var account = accounts[key] else { return problems.append("made up: \(key)") }
        guard case .faulted(let mark) = fate else {
            followUp(key)
            sums.passed += bytes
            account.ends += 1
            return pass(key, &account, isAsItCame: frame == account.frame, isMoved: false)
        }
        followUp(key, isChanged: mark.kind == .corrupted || mark.kind == .truncated)
        switch mark.kind {
        case .repeated:
            if !account.hasPassed || frame != account.frame {
                problems.append("repeated before it has passed: \(key)")
            }
            sums.repeated += bytes
        case .held, .reordered:
            sums.passed += bytes
            account.ends += 1
            pass(
                key, &account, isAsItCame: frame == account.frame,
                isMoved: mark.kind == .reordered)
        case .corrupted, .truncated:
            if !account.isReplaced || frame == account.frame {
                problems.append("said to be changed: \(key)")
            }
            sums.changed += bytes
            pass(key, &account, isAsItCame: true, isMoved: false)
        }
    }

    private mutating func pass(
        _ key: Key, _ account: inout Account, isAsItCame: Bool, isMoved: Bool
    ) {
        if !isAsItCame { problems.append("other bytes: \(key)") }
        account.hasPassed = true
        accounts[key] = account
        guard !isMoved else { return }
        if account.place < reached[key.lane] ?? 0 { problems.append("out of order: \(key)") }
        reached[key.lane] = account.place + 1
    }

    mutating func dropped(_ frame: Frame, _ direction: Direction, _ app: String) {
        guard own[frame] == nil else { return ends(own: frame) }
        let key = Key(frame, direction, app)
        guard let account = accounts[key], account.frame == frame else {
            return problems.append("made up: \(key)")
        }
        followUp(key)
        accounts[key]?.ends += 1
        sums.dropped += frame.wire.readableBytes
    }

    mutating func replaced(_ frame: Frame, _ direction: Direction, _ app: String) {
        let key = Key(frame, direction, app)
        guard accounts[key] != nil else { return problems.append("made up: \(key)") }
        accounts[key]?.ends += 1
        accounts[key]?.isReplaced = true
        followUp(key)
        replaced = key
        sums.replaced += frame.wire.readableBytes
    }

    /// Checks that a replacement comes right after the frame that it replaces.
    private mutating func followUp(_ key: Key, isChanged: Bool = false) {
        if isChanged ? replaced != key : replaced != nil {
            problems.append("not behind what it replaces: \(replaced.map { "\($0)" } ?? "\(key)")")
        }
        replaced = nil
    }

    private mutating func ends(own frame: Frame) {
        own[frame, default: 0] -= 1
        sums.relayd += frame.wire.readableBytes
    }

    mutating func disconnected() { disconnects += 1 }

    /// The sender in these lanes has left, perhaps in the middle of a message.
    mutating func ends(app: String, session: UInt8? = nil, _ direction: Direction? = nil) {
        ended.formUnion(
            order.keys.filter { lane in
                let parts = lane.split(separator: " ")
                return parts[0] == app && session.map { parts[2] == "\($0)" } ?? true
                    && direction.map { parts[1] == "\($0)" } ?? true
            })
    }

    /// Closes the books, and returns what does not add up.
    mutating func close() -> [String] {
        for (key, account) in accounts where account.ends != 1 {
            problems.append("ended \(account.ends) times: \(key)")
        }
        if let replaced { problems.append("replaced by nothing: \(replaced)") }
        for (frame, count) in own where count != 0 {
            problems.append("relayd's words have not ended once: \(frame), \(count)")
        }
        if sums.said != sums.passed + sums.dropped + sums.replaced {
            problems.append("bytes: \(sums)")
        }
        for (lane, keys) in order {
            for (message, frames) in Dictionary(grouping: keys, by: \.messageID) {
                let passed = frames.map { accounts[$0]?.hasPassed ?? false }
                let isBeginning = !zip(passed, passed.dropFirst()).contains { !$0 && $1 }
                let isWhole = Set(passed).count == 1
                if !(ended.contains(lane) ? isBeginning : isWhole) {
                    problems.append("a part: \(lane) message \(message) \(passed)")
                }
            }
        }
        return problems
    }
}
