// Any rules and any frames, with apps, sessions and links that end in the middle; `FaultLedger` keeps the
// books.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

/// Drives a `FaultStage` at random, and carries out its decisions as `SDLLanguage` does.
struct FaultStorm {
    private static let filters = [
        "rpc:Show", "app:radio*", "rpc:PutFile", "service:bulk", "from:unit", "kind:request",
        "param.a=1", "bytes>900", "from:app", "kind:control", "from:app kind:request,notification",
    ]
    private static let actions = [
        "delay 50ms jitter 50ms", "drop probability 20%", "hold 80ms", "rate 50KB/s",
        "disconnect probability 2%", "hold probability 10%", "answer REJECTED probability 30%",
        "corrupt probability 30%", "truncate probability 30%", "duplicate probability 30%",
        "reorder probability 30%", "drop from 10ms until 60ms", "duplicate count 3",
    ]
    private static let linkFaults = ["freeze 70ms", "slow 30KB/s until 1s", "half-open until 50ms"]

    private var random: SeededGenerator
    private var stage: FaultStage<String>
    private(set) var ledger = FaultLedger()
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var rules: [UInt32] = []
    private var lastRule: UInt32 = 0
    private var lastMessage: UInt32 = 0
    private var lastApp = 0
    private var lastSession: UInt8 = 0
    private var sessions: [String: UInt8] = [:]
    /// How often each thing happened.
    private(set) var happened: [String: Int] = [:]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        stage = FaultStage(dice: FaultDice(seed: seed), framesPerSecond: 400)
        for _ in 0..<3 { comes() }
    }

    /// - Returns: The discrepancies found.
    mutating func run(steps: Int) throws -> [String] {
        for _ in 0..<steps { try step() }
        stage.removeAll(at: now)
        carryOut()
        // Released frames keep their pace.
        for _ in 0..<1000 where !stage.isIdle { pass(.milliseconds(100)) }
        var problems = ledger.close()
        if stage.heldBytes != 0 || stage.heldFrames != 0 {
            problems.append("\(stage.heldFrames) frames of \(stage.heldBytes) bytes are left")
        }
        return problems
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<8 where rules.count < 6: try addRule()
        case 8..<16 where !rules.isEmpty: removeRule()
        case 16..<36: pass(.milliseconds(Int64.random(in: 1...60, using: &random)))
        case 36..<38: hangsUp()
        case 38..<40: ends()
        case 40: linkCloses()
        case 41: limitIsHit()
        case 42:
            stage.limit(to: [0, 100, 400].randomElement(using: &random) ?? 0, at: now)
            happened["another limit", default: 0] += 1
        default: speak()
        }
    }

    // MARK: - Rules

    private mutating func addRule() throws {
        let rule: FaultRule
        if Int.random(in: 0..<5, using: &random) == 0 {
            let text = Self.linkFaults.randomElement(using: &random) ?? ""
            guard let found = try FaultRule.link(text) else { return }
            rule = found
            happened["fault of the link", default: 0] += 1
        } else {
            let filter = Self.filters.randomElement(using: &random) ?? ""
            let action = Self.actions.randomElement(using: &random) ?? ""
            // Some combinations never take anything.
            guard
                let found = try? FaultRule(filter: filter, action: action, isHeadUnitReal: false)
            else { return }
            rule = found
        }
        lastRule += 1
        rules.append(lastRule)
        stage.add(rule, id: lastRule, at: now, WallTime(nanoseconds: 0))
        carryOut()
    }

    private mutating func removeRule() {
        let index = Int.random(in: 0..<rules.count, using: &random)
        stage.remove(rules.remove(at: index), at: now)
        carryOut()
    }

    // MARK: - Apps

    private mutating func comes() {
        lastApp += 1
        let app = "\(Bool.random(using: &random) ? "radio" : "maps")\(lastApp)"
        stage.know(
            app, FaultAppFacts(connection: UInt64(lastApp), name: app, appID: "id-\(lastApp)"))
        grant(app)
    }

    /// Grants a session number; numbers are used again, but not at once.
    private mutating func grant(_ app: String) {
        lastSession = lastSession % 250 + 1
        sessions[app] = lastSession
    }

    private mutating func hangsUp() {
        guard let app = sessions.keys.sorted().randomElement(using: &random) else { return }
        if stage.heldBytes(from: app) > 0 { happened["gone while held", default: 0] += 1 }
        gone(app)
        carryOut()
        comes()
    }

    private mutating func gone(_ app: String) {
        guard let session = sessions.removeValue(forKey: app) else { return }
        ledger.ends(app: app)
        stage.hungUp(app, at: now)
        carryOut()
        stage.forget(app)
        stage.sessionIsOver(session)
    }

    private mutating func ends() {
        guard let (app, session) = sessions.min(by: { $0.value < $1.value }) else { return }
        ledger.ends(app: app, session: session, .fromApp)
        stage.sessionIsOver(session)
        carryOut()
        happened["session over", default: 0] += 1
        grant(app)
    }

    private mutating func linkCloses() {
        for app in sessions.keys { ledger.ends(app: app, .fromApp) }
        stage.linkClosed()
        carryOut()
        happened["link closed", default: 0] += 1
        for app in sessions.keys.sorted() { grant(app) }
    }

    private mutating func limitIsHit() {
        guard let app = sessions.keys.sorted().randomElement(using: &random) else { return }
        stage.giveUp(for: app, at: now)
        carryOut()
    }

    // MARK: - Messages

    private mutating func speak() {
        guard
            let (app, session) = sessions.sorted(by: { $0.key < $1.key })
                .randomElement(using: &random)
        else { return }
        lastMessage += 1
        let direction: Direction = Bool.random(using: &random) ? .fromApp : .fromAccessory
        for frame in message(session) {
            // The app may be gone by now, or its session.
            guard sessions[app] == session else { return }
            ledger.says(frame, direction, app)
            if stage.take(frame, direction, of: app, at: now) {
                ledger.passes(frame, direction, app, .forwarded)
            }
            carryOut()
            switch Int.random(in: 0..<40, using: &random) {
            case 0 where frame.type == .first || frame.type == .consecutive: hangsUp()
            case 1: pass(.milliseconds(30))
            default: break
            }
        }
    }

    private mutating func message(_ session: UInt8) -> [Frame] {
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            Frame.faultFile(
                session: session, message: lastMessage,
                frames: Int.random(in: 1...4, using: &random), bytes: 400)
        case 1: [.rpc(session: session, message: lastMessage, .request, .alert, json: #"{"a":1}"#)]
        case 2:
            [.control(.heartbeat, service: .control, session: session, messageID: lastMessage)]
        case 3: [.rpc(session: session, message: lastMessage, .notification, .onHMIStatus)]
        default: [.rpc(session: session, message: lastMessage)]
        }
    }

    // MARK: - Time

    private mutating func pass(_ time: TimeAmount) {
        let end = now + time
        while let next = stage.nextDeadline, next <= end {
            now = max(now, next)
            carryOut()
            // A deadline may be too early, but no two in a row.
            if stage.nextDeadline == next { break }
        }
        now = end
        carryOut()
    }

    private mutating func carryOut() {
        while let effect = stage.next(at: now) {
            switch effect {
            case .pass(let frame, let direction, let app, let tag):
                ledger.passes(frame, direction, app, tag.fate)
            case .drop(let frame, let direction, let app, _):
                ledger.dropped(frame, direction, app)
            case .replace(let frame, let direction, let app):
                ledger.replaced(frame, direction, app)
            case .say(let frame, let app):
                guard sessions[app] != nil else { continue }
                ledger.relaydSays(frame)
                let isFree = stage.take(
                    frame, .fromAccessory, of: app, at: now, tag: .init(fate: .byRelay),
                    isOwn: true)
                if isFree { ledger.passes(frame, .fromAccessory, app, .byRelay) }
            case .disconnect(let app, _):
                ledger.disconnected()
                guard sessions[app] != nil else { continue }
                gone(app)
                comes()
            case .report: break
            }
        }
    }
}
