// Which side is to blame for silence while apps wait for each other's sessions: the hub, and what its observers
// conclude from its tap.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLAdvice
import SDLProtocol
import Testing

@testable import RelayCore
@testable import SDLTraffic

@Suite("No head unit is blamed for the time in which relayd has not asked it yet")
struct StartTurnTests {
    @Test("an app waits for its turn while the head unit takes its time for another")
    func slow() throws {
        let bench = try Bench()
        let first = try bench.hub.app()
        let second = try bench.hub.app()
        try first.says(.startService())
        bench.pass(seconds: 1)
        try second.says(.startService())
        bench.pass(seconds: 8)
        try bench.hub.link.says(.startServiceACK(session: 1))
        bench.pass(seconds: 9)
        #expect(bench.faults(of: 2).isEmpty, "asked 9 s ago")
        bench.pass(seconds: 1)
        #expect(bench.faults(of: 2) == [.headUnit])
        #expect(bench.faults(of: 1).isEmpty)
    }

    @Test("the head unit answers nobody")
    func silent() throws {
        let bench = try Bench()
        let first = try bench.hub.app()
        let second = try bench.hub.app()
        try first.says(.startService())
        try second.says(.startService())
        bench.pass(seconds: 19)
        #expect(bench.faults(of: 1) == [.headUnit])
        #expect(bench.faults(of: 2).isEmpty, "not asked yet")
        bench.pass(seconds: 10)
        #expect(bench.faults(of: 1) == [.headUnit, .headUnit], "told, and refused by relayd")
        #expect(bench.faults(of: 2).isEmpty, "asked 9 s ago")
        bench.pass(seconds: 1)
        #expect(bench.faults(of: 2) == [.headUnit])
    }

    @Test("the link is lost meanwhile, and the next head unit takes its time")
    func lost() throws {
        let bench = try Bench { $0.whenLinkLost = .keep }
        let first = try bench.hub.app()
        let second = try bench.hub.app()
        try first.says(.startService())
        try second.says(.startService())
        try bench.hub.link.close().wait()
        let next = try bench.hub.nextLink()
        bench.pass(seconds: 5)
        try next.says(.startServiceACK(session: 1))
        bench.pass(seconds: 9)
        #expect(bench.faults(of: 2).isEmpty, "asked 9 s ago")
        bench.pass(seconds: 1)
        #expect(bench.faults(of: 2) == [.headUnit])
        #expect(bench.faults(of: 1).isEmpty)
    }

    @Test("that it waits is shown with the frame, and its sending at its place between the others")
    func order() throws {
        let bench = try Bench()
        let first = try bench.hub.app()
        let second = try bench.hub.app()
        try first.says(.startService())
        try second.says(.startService())
        try bench.hub.link.says(.startServiceACK(session: 1))
        try bench.hub.link.says(.startServiceACK(session: 2))
        bench.pass(seconds: 1)
        #expect(
            bench.story == [
                "#1 StartService", "#2 StartService waits", "#1 StartServiceACK", "#2 is asked for",
                "#2 StartServiceACK",
            ])
    }
}

/// A hub, and what its observers would report by a clock that runs with the hub's.
private final class Bench {
    let hub: EmbeddedHub
    private var decoder = TrafficDecoder()
    private var entries: [TrafficEntry] = []
    private(set) var story: [String] = []
    private var time = WallTime(nanoseconds: 1_795_257_067_000_000_000)

    init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
        hub = try EmbeddedHub(change)
    }

    func pass(seconds: Int) {
        look()
        for _ in 0..<seconds {
            hub.loop.advanceTime(by: .seconds(1))
            time.nanoseconds += 1_000_000_000
            look()
            decoder.advance(to: time, into: &entries)
        }
    }

    /// The side to blame for each StartService that was refused or has waited too long.
    func faults(of app: UInt64) -> [FaultSide] {
        entries.filter { $0.app == AppID(rawValue: app) }.compactMap(\.startFault)
    }

    private func look() {
        hub.switchboard.tap.emit()
        for item in hub.tapQueue.takeAll() {
            tell(item)
            decoder.receive(stamped(item), into: &entries)
        }
    }

    private func tell(_ item: TapItem) {
        switch item {
        case .frames(let frames):
            story += frames.map { tapped in
                let app = tapped.app.map { "\($0)" } ?? "-"
                let type = tapped.frame.controlType?.name ?? "\(tapped.frame.type)"
                return "\(app) \(type)" + (tapped.isWaiting ? " waits" : "")
            }
        case .session(.startSent, let app, _): story.append("\(app) is asked for")
        default: break
        }
    }

    /// The hub's wall clock is the machine's.
    private func stamped(_ item: TapItem) -> TapItem {
        switch item {
        case .frames(let frames):
            .frames(
                frames.map { frame in
                    var frame = frame
                    frame.time = time
                    return frame
                })
        case .session(let event, let app, _): .session(event, app, time: time)
        case .appConnected(let app, let peer, _): .appConnected(app, peer: peer, time: time)
        case .linkOpened(let number, let address, _):
            .linkOpened(number: number, address: address, time: time)
        case .linkClosed(let reason, _): .linkClosed(reason: reason, time: time)
        default: item
        }
    }
}
