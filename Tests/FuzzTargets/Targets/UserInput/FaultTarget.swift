// Fuzz target: fault rules.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

extension FuzzTarget {
    static let faultRule = FuzzTarget(
        name: "fault-rule",
        about: "a filter and what a fault rule does, then messages that pass it",
        promise:
            "what is read is written and read as the same; a mistake lies in its part; every frame "
            + "passes whole or is dropped",
        maximumBytes: 1024,
        words: {
            [
                "rpc:Show\n", "app:#1\n", "service:bulk\n", "kind:control\n", "param.a=1\n",
                "delay ", "jitter ", "drop", "answer ", "REJECTED", "nak ", "corrupt", "duplicate",
                "reorder", "truncate", "disconnect", "hold ", "rate ", "KB/s", "MiB/s",
                " probability ", " count ", " from ", " until ", "30%", "0.5", "500ms", "2s", "\"",
                "\\\"", "freeze ", "slow ", "half-open",
            ]
        },
        run: { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let parts = text.split(
                separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            let (filter, action) = (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
            let rule: FaultRule
            do throws(FaultRuleError) {
                if filter == "link" {
                    guard let found = try FaultRule.link(action) else { return }
                    rule = found
                } else {
                    rule = try FaultRule(filter: filter, action: action, isHeadUnitReal: false)
                }
            } catch {
                let length = (error.part == .filter ? filter : action).unicodeScalars.count
                try ensure(
                    error.range.upperBound <= length && !error.message.isEmpty,
                    "\(error.part) \(error.range) of \(length)")
                return
            }
            if !rule.isOfLink {
                let written = "\(rule.action)"
                let again: FaultRule
                do throws(FaultRuleError) {
                    again = try FaultRule(filter: filter, action: written, isHeadUnitReal: false)
                } catch {
                    throw BrokenPromise("\(written.debugDescription) is not read: \(error.message)")
                }
                try ensure(again.action == rule.action, "becomes \(written.debugDescription)")
            }
            try follow(rule)
        })

    /// Applies the rule to some messages.
    private static func follow(_ rule: FaultRule) throws {
        var stage = FaultStage<Int>(dice: FaultDice(seed: 1))
        var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
        stage.know(1, FaultAppFacts(connection: 1, name: "Radio", appID: "radio"))
        stage.add(rule, id: 1, at: now, WallTime(nanoseconds: 0))
        let frames =
            [Frame.rpc(session: 1, json: #"{"a":1}"#), .startService()]
            + Frame.message(session: 1, service: .bulk, message: 2, frames: 2, bytes: 40)
            + [.rpc(session: 1, message: 3, .notification, .onHMIStatus)]
        var ends = 0
        var repeated = 0
        func note(_ frame: Frame) throws {
            var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
            decoder.append(frame.wire)
            let whole = try? decoder.next()
            try ensure(whole == frame && !decoder.isInsideFrame, "\(frame) is not whole")
        }
        func drain() throws {
            while let effect = stage.next(at: now) {
                switch effect {
                case .pass(let frame, _, _, let tag):
                    try note(frame)
                    ends += 1
                    if case .faulted(let mark) = tag.fate, mark.kind == .repeated { repeated += 1 }
                case .drop: ends += 1
                case .say(let frame, _): try note(frame)
                case .replace, .disconnect, .report: break
                }
            }
        }
        for direction in [Direction.fromApp, .fromAccessory] {
            for frame in frames {
                if stage.take(frame, direction, of: 1, at: now) {
                    try note(frame)
                    ends += 1
                }
                try drain()
            }
        }
        now = now + FaultLimits.longestHold
        try drain()
        stage.removeAll(at: now)
        try drain()
        try ensure(ends - repeated == 2 * frames.count, "\(ends) of \(2 * frames.count) frames")
        try ensure(stage.heldBytes == 0 && stage.heldFrames == 0, "frames are left")
    }
}

extension Int: FaultApp {
    var faultNumber: UInt64 { UInt64(bitPattern: Int64(self)) }
}
