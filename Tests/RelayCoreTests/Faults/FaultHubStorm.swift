// A fault storm in the whole hub: apps come, talk and vanish, the link is lost, rules come and go. What the
// sockets carried is compared with what the tap has recorded.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

struct FaultHubStorm {
    private final class App {
        let channel: EmbeddedChannel
        let id: AppID
        var session: UInt8 = 0
        var isStarting = false
        /// Messages that both sides have sent each other, without control frames.
        var said: [Frame] = []
        var heard: [Frame] = []
        var toldByUnit: [Frame] = []

        init(_ channel: EmbeddedChannel, _ id: AppID) {
            (self.channel, self.id) = (channel, id)
        }
    }

    /// A data frame as the tap has recorded it.
    fileprivate struct Record {
        var frame: Frame
        var fate: FrameFate
    }

    private static let actions = [
        "delay 50ms jitter 50ms", "drop probability 20%", "hold 80ms", "rate 50KB/s",
        "disconnect probability 2%", "answer REJECTED probability 30%", "corrupt probability 30%",
        "truncate probability 30%", "duplicate probability 30%", "reorder probability 30%",
    ]
    private static let filters = [
        "rpc:Show", "rpc:PutFile", "service:bulk", "from:unit", "kind:request", "from:app",
        "app:#1",
    ]

    private let hub: EmbeddedHub
    private var link: EmbeddedChannel
    private var random: SeededGenerator
    private var apps: [App] = []
    private var gone: [App] = []
    private var rules: [UInt32] = []
    private var lastMessage: UInt32 = 0
    private var lastSession: UInt8 = 0
    private var up: [AppID: [Record]] = [:]
    private var down: [AppID: [Record]] = [:]
    /// The frames that should have left on the link, and those that have, in order.
    private var sent: [Frame] = []
    private var heard: [Frame] = []
    private(set) var problems: [String] = []
    private(set) var faulted = 0
    private(set) var links = 1

    init(seed: UInt64) throws {
        hub = try EmbeddedHub()
        hub.switchboard.reconfigure(RelayConfiguration(), accessoryAddress: "sim:")
        link = hub.link
        random = SeededGenerator(seed: seed)
    }

    // MARK: - The storm

    /// - Returns: The discrepancies found.
    mutating func run(steps: Int) throws -> [String] {
        for _ in 0..<3 { try comes() }
        for _ in 0..<steps {
            try step()
            try settle()
        }
        _ = hub.sdl.removeFaults()
        for _ in 0..<40 {
            hub.loop.advanceTime(by: .milliseconds(100))
            try settle()
        }
        if hub.sdl.faults != nil { problems.append("rules, or what they held, are left") }
        for app in gone + apps { audit(app) }
        let (carried, told) = (heard.filter(\.isData), sent)
        if carried != told {
            problems.append(
                "the link carried \(carried.count) frames, the tap tells of \(told.count)"
            )
        }
        return problems
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<8 where rules.count < 5: try addRule()
        case 8..<16 where !rules.isEmpty:
            let index = Int.random(in: 0..<rules.count, using: &random)
            _ = hub.sdl.removeFault(rules.remove(at: index))
        case 16..<40:
            hub.loop.advanceTime(by: .milliseconds(Int64.random(in: 1...60, using: &random)))
        case 40..<43: try vanishes()
        case 43 where links < 4: try linkIsLost()
        case 44..<70: try unitSpeaks()
        default: try appSpeaks()
        }
    }

    private mutating func addRule() throws {
        if Int.random(in: 0..<5, using: &random) == 0 {
            let text = ["freeze 70ms", "slow 100KB/s until 1s", "half-open until 50ms"]
                .randomElement(using: &random)
            guard let rule = try FaultRule.link(text ?? "") else { return }
            rules += try hub.sdl.addFaults([rule], knowing: [:])
            return
        }
        guard let filter = Self.filters.randomElement(using: &random),
            let action = Self.actions.randomElement(using: &random),
            // Some combinations never take anything.
            let rule = try? FaultRule(filter: filter, action: action, isHeadUnitReal: false)
        else { return }
        rules += try hub.sdl.addFaults([rule], knowing: [:])
    }

    // MARK: - Apps and the link

    private mutating func comes() throws {
        let before = Set(hub.switchboard.apps.keys)
        let channel = try hub.app()
        guard let id = hub.switchboard.apps.keys.first(where: { !before.contains($0) }) else {
            return
        }
        apps.append(App(channel, id))
    }

    private mutating func vanishes() throws {
        guard let app = apps.randomElement(using: &random) else { return }
        try app.channel.close().wait()
    }

    private mutating func linkIsLost() throws {
        try settle()
        try link.close().wait()
        try settle()
        for app in apps { (app.session, app.isStarting) = (0, false) }
        link = try hub.nextLink()
        links += 1
    }

    private mutating func appSpeaks() throws {
        guard let app = apps.randomElement(using: &random) else { return }
        guard app.session != 0 else {
            guard !app.isStarting else { return }
            app.isStarting = true
            return try app.channel.says(.startService())
        }
        let message = message(app.session, .request)
        // Now and then the app vanishes within a message.
        let isCut = message.count > 1 && Int.random(in: 0..<10, using: &random) == 0
        for frame in isCut ? message.dropLast() : message[...] {
            guard app.channel.isActive, app.session != 0 else { return }
            app.said.append(frame)
            try app.channel.says(frame)
        }
        // A rule may have closed the app with its last frame.
        if isCut, app.channel.isActive { try app.channel.close().wait() }
    }

    private mutating func unitSpeaks() throws {
        guard let app = apps.filter({ $0.session != 0 }).randomElement(using: &random) else {
            return
        }
        for frame in message(app.session, .notification) {
            guard app.channel.isActive, app.session != 0 else { return }
            app.toldByUnit.append(frame)
            try link.says(frame)
        }
    }

    private mutating func message(_ session: UInt8, _ type: RPCType) -> [Frame] {
        lastMessage += 1
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return Frame.faultFile(
                session: session, message: lastMessage,
                frames: Int.random(in: 1...4, using: &random), bytes: 400)
        case 1: return [.rpc(session: session, message: lastMessage, type, .alert)]
        default: return [.rpc(session: session, message: lastMessage, type)]
        }
    }

    // MARK: - What comes out

    /// Reads all sockets; the head unit grants and ends sessions.
    private mutating func settle() throws {
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            while let frame = try link.hears() {
                isQuiet = false
                heard.append(frame)
                guard frame.type == .control, link.isActive else { continue }
                switch frame.controlType {
                case .startService:
                    lastSession = lastSession % 250 + 1
                    try link.says(.startServiceACK(session: lastSession))
                case .endService:
                    try link.says(.control(.endServiceACK, session: frame.sessionID))
                default: break
                }
            }
            for app in apps {
                while let frame = try app.channel.hears() {
                    isQuiet = false
                    if frame.isData { app.heard.append(frame) }
                    if frame.controlType == .startServiceACK {
                        (app.session, app.isStarting) = (frame.sessionID, false)
                    } else if frame.controlType == .startServiceNAK {
                        app.isStarting = false
                    } else if frame.controlType == .endService {
                        app.session = 0
                    }
                }
            }
        }
        readTap()
        let left = apps.filter { !$0.channel.isActive }
        gone += left
        apps.removeAll { app in left.contains { $0 === app } }
        for _ in left { try comes() }
    }

    private mutating func readTap() {
        hub.switchboard.tap.emit()
        for case .frames(let frames) in hub.tapQueue.takeAll() {
            for tapped in frames where tapped.frame.isData {
                if case .faulted = tapped.fate { faulted += 1 }
                let record = Record(frame: tapped.frame, fate: tapped.fate)
                if tapped.direction == .fromApp, tapped.fate.isPeers || tapped.fate == .byRelay {
                    sent.append(tapped.frame)
                }
                guard let app = tapped.app else { continue }
                if tapped.direction == .fromApp {
                    up[app, default: []].append(record)
                } else {
                    down[app, default: []].append(record)
                }
            }
        }
    }

    // MARK: - The books

    private mutating func audit(_ app: App) {
        let words = up[app.id, default: []]
        // Every frame of the app has ended once: passed as it came, dropped, or replaced.
        if let problem = Self.difference(app.said, words.filter(\.isEnd).map(\.frame)) {
            problems.append("from \(app.id): \(problem)")
        }
        let told = down[app.id, default: []]
        // The app has got the frames that passed to it, in order; one that vanished may not have read the last.
        let passed = told.filter(\.hasPassed).map(\.frame)
        if app.channel.isActive ? passed != app.heard : !passed.starts(with: app.heard) {
            problems.append("\(app.id) got \(app.heard.count) frames of \(passed.count)")
        }
    }

    /// Compares how often each frame occurs in both, in any order; nil when they agree.
    private static func difference(_ said: [Frame], _ ended: [Frame]) -> String? {
        var counts: [Frame: Int] = [:]
        for frame in said { counts[frame, default: 0] += 1 }
        // A changed frame that the hub refuses is not one that the app said.
        for frame in ended where counts[frame] != nil { counts[frame, default: 0] -= 1 }
        let wrong = counts.filter { $0.value != 0 }
        guard let (frame, count) = wrong.first else { return nil }
        return "\(wrong.count) frames have not ended once, such as \(frame): \(1 - count) times"
    }
}

extension FaultHubStorm.Record {
    fileprivate var isEnd: Bool {
        switch fate {
        case .forwarded, .amended, .replaced, .dropped: true
        case .faulted(let mark): mark.isAsItCame
        case .byRelay: false
        }
    }

    fileprivate var hasPassed: Bool { fate.isPeers || fate == .byRelay }
}

extension Frame {
    fileprivate var isData: Bool { type != .control }
}
