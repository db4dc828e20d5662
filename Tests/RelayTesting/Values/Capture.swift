// Reads recorded sessions from Tests/Fixtures/captures, as items the tap would have delivered.

package import Foundation
import NIOCore
package import RelayCore
import SDLProtocol
package import SDLTraffic

/// A recorded session: two byte streams and an index of the chunks they arrived in.
package enum Capture {
    private struct Chunk: Decodable {
        /// Seconds since the app's connection was accepted.
        var t: Double
        var dir: String
        var off: Int
        var len: Int
    }

    private struct Index: Decodable {
        var started: Double
        var chunks: [Chunk]
    }

    package static let folder = Checkout.captures

    /// As the tap would have delivered it: the app connects, chunks arrive, the app is closed.
    package static func items(_ name: String) throws -> [TapItem] {
        let index = try JSONDecoder().decode(
            Index.self, from: Data(contentsOf: folder.appending(path: "\(name).json")))
        let up = try Data(contentsOf: folder.appending(path: "\(name).up.bin"))
        let down = try Data(contentsOf: folder.appending(path: "\(name).down.bin"))
        var decoders: [Direction: FrameDecoder] = [
            .fromApp: FrameDecoder(rules: .fromApp(), recovery: .fail),
            .fromAccessory: FrameDecoder(rules: .fromAccessory(), recovery: .fail),
        ]
        let app = AppID(rawValue: 1)
        var reader = GrantReader(app)
        func time(_ seconds: Double) -> WallTime {
            WallTime(nanoseconds: Int64((index.started * 1e6 + seconds * 1e6).rounded()) * 1000)
        }
        var items: [TapItem] = [
            .linkOpened(number: 1, address: "tcp:127.0.0.1:12345", time: time(0)),
            .appConnected(app, peer: "127.0.0.1:40000", time: time(0)),
        ]
        for chunk in index.chunks {
            let direction: Direction = chunk.dir == "up" ? .fromApp : .fromAccessory
            let bytes = (direction == .fromApp ? up : down)[chunk.off..<chunk.off + chunk.len]
            var frames: [TappedFrame] = []
            decoders[direction]?.append(ByteBuffer(bytes: bytes))
            while let frame = try decoders[direction]?.next() {
                var tapped = TappedFrame(
                    frame: frame, direction: direction, app: app, time: time(chunk.t))
                tapped.grant = reader.read(tapped)
                frames.append(tapped)
                let told = reader.takeEvents()
                guard !told.isEmpty else { continue }
                items.append(.frames(frames))
                items += told.map { .session($0, app, time: time(chunk.t)) }
                frames = []
            }
            if !frames.isEmpty { items.append(.frames(frames)) }
        }
        items.append(
            .appClosed(
                app, reason: "the app closed the connection",
                time: time(index.chunks.last?.t ?? 0)))
        return items
    }

    /// - Parameter runs: How many times the session is run, one after another on one link.
    package static func entries(_ name: String, runs: Int = 1) throws -> [TrafficEntry] {
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        for run in 0..<runs {
            for item in try items(name) {
                if run > 0, case .linkOpened = item { continue }
                decoder.receive(item, into: &entries)
            }
        }
        return entries
    }

    package static func lines(
        _ name: String, _ configuration: TrafficLog.Configuration
    ) throws -> [String] {
        var formatter = TrafficFormatter(configuration)
        return try formatter.lines(entries(name)).map { String(decoding: $0.text, as: UTF8.self) }
    }
}

/// Asks the hub's own router what each grant of a recording means, and collects the router's events.
private struct GrantReader {
    private var router = SessionRouter<AppID>(configuration: RelayConfiguration())
    private var now = NIODeadline.uptimeNanoseconds(0)
    private var events: [SessionEvent] = []
    private let app: AppID

    init(_ app: AppID) {
        self.app = app
        router.linkOpened(at: now)
        router.connect(app)
    }

    mutating func read(_ tapped: TappedFrame) -> GrantMeaning? {
        now = now + .milliseconds(1)
        defer { write() }
        guard tapped.direction == .fromAccessory else {
            _ = router.receive(tapped.frame, from: app, at: now)
            return nil
        }
        let decision = router.receiveFromAccessory(tapped.frame, at: now)
        guard tapped.frame.controlType == .startServiceACK, tapped.frame.service == .rpc,
            decision == .toApp(app) || decision == .handled
        else { return nil }
        return router.grantMeaning
    }

    mutating func takeEvents() -> [SessionEvent] {
        defer { events = [] }
        return events
    }

    /// The link takes everything at once.
    private mutating func write() {
        for action in router.takeActions() {
            switch action {
            case .toLink(let frame, _): router.wrote(frame, at: now)
            case .event(let event): note(event)
            default: break
            }
        }
    }

    /// Ends of sessions are left out: some recordings go on after them, with frames that relayd would drop.
    private mutating func note(_ event: RouterEvent<AppID>) {
        guard let told = event.told?.event else { return }
        if case .ended = told { return }
        events.append(told)
    }
}
