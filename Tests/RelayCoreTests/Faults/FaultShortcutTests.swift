// The shortcut for frames that no rule takes has the same result as the long way.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Frames that no fault rule takes go a short way")
struct FaultShortcutTests {
    private let show = Frame.rpc(session: 1, message: 1, correlation: 1)

    /// Whether the frame would pass without a decision.
    private func isShort(
        _ bench: FaultBench, _ frame: Frame, of app: String, _ direction: Direction = .fromApp
    ) -> Bool {
        bench.stage.isShort(frame, direction, of: app)
    }

    @Test("the second message of a kind goes the short way, of that app and in that direction only")
    func second() throws {
        let bench = try FaultBench(("app:maps rpc:Show", "drop"))
        #expect(!isShort(bench, show, of: "radio"))
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(isShort(bench, show, of: "radio"))
        #expect(!isShort(bench, show, of: "maps"))
        #expect(!isShort(bench, show, of: "radio", .fromAccessory))
        #expect(bench.app("maps", says: show) == [.dropped(show, .fault(1))])
        #expect(bench.app("maps", says: show) == [.dropped(show, .fault(1))])
        let alert = Frame.rpc(session: 1, message: 2, .request, .alert)
        #expect(!isShort(bench, alert, of: "radio"))
    }

    @Test("a rule that is added takes the next message, and one that is removed none")
    func rules() throws {
        let bench = try FaultBench(("rpc:Alert", "drop"))
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        let rule = try bench.add("rpc:Show", "drop")
        #expect(bench.app("radio", says: show) == [.dropped(show, .fault(rule))])
        #expect(bench.remove(rule))
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
    }

    @Test("an app that registers again under another name is another one to the rules")
    func names() throws {
        let bench = try FaultBench(("app:weather rpc:Show", "drop"))
        for name in ["music", "news", "weather"] {
            let registration = Frame.rpc(
                session: 1, .request, .registerAppInterface,
                json: #"{"appName":"\#(name)","appID":"1"}"#)
            #expect(!isShort(bench, registration, of: "radio"))
            #expect(
                bench.app("radio", says: registration) == [.unit(registration, from: "radio")])
            let passes = bench.app("radio", says: show) == [.unit(show, from: "radio")]
            #expect(passes == (name != "weather"))
        }
    }

    @Test("while a frame waits, those of its lane stand behind it, known kind or not")
    func lanes() throws {
        let bench = try FaultBench(("rpc:Alert", "delay 1s"))
        let alert = Frame.rpc(session: 1, message: 2, .request, .alert)
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(bench.app("radio", says: alert) == [])
        #expect(!isShort(bench, show, of: "radio"))
        #expect(bench.app("radio", says: show) == [])
        #expect(
            bench.pass(.seconds(1))
                == [.unit(alert, from: "radio"), .unit(show, from: "radio")])
        #expect(isShort(bench, show, of: "radio"))
    }

    @Test("what goes the short way counts for what the head unit gets in a second")
    func pace() throws {
        let bench = try FaultBench(("rpc:Alert", "delay 1s"), framesPerSecond: 5)
        for _ in 0..<5 { #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")]) }
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.pass(.seconds(2)) == [.unit(show, from: "radio")])
    }

    @Test("with a memory and without one, the same becomes of 20,000 messages")
    func same() throws {
        let rules = [
            ("app:maps rpc:Show", "drop"), ("rpc:PutFile", "drop"), ("kind:encrypted", "drop"),
            ("service:audio", "drop"), ("session:3 from:unit", "drop"),
            ("app:radio kind:notification", "duplicate"),
            ("app:radio rpc:Alert param.duration>5", "drop"), ("kind:control app:maps", "drop"),
        ]
        let (quick, slow) = (try FaultBench(), try FaultBench())
        for (filter, action) in rules {
            try quick.add(filter, action)
            try slow.add(filter, action)
        }
        var dice = FaultDice(seed: 7)
        for number in 1...20_000 as ClosedRange<UInt32> {
            let app = Bool.random(using: &dice) ? "radio" : "maps"
            let isFromApp = Bool.random(using: &dice)
            for frame in message(number, &dice) {
                // Nothing is remembered of the frames before.
                slow.stage.shortcut.forget()
                let outcomes = [quick, slow].map { bench in
                    isFromApp
                        ? bench.app(app, says: frame) : bench.unit(says: frame, to: app)
                }
                guard outcomes[0] == outcomes[1] else {
                    Issue.record("\(frame): \(outcomes[0]), expected \(outcomes[1])")
                    return
                }
            }
        }
        #expect(quick.hits == slow.hits)
        #expect(quick.hits.allSatisfy { $0 > 0 }, "\(quick.hits)")
    }

    private func message(_ number: UInt32, _ dice: inout FaultDice) -> [Frame] {
        let session = UInt8.random(in: 0...3, using: &dice)
        let service = ServiceType.allCases.randomElement(using: &dice) ?? .rpc
        let version = UInt8.random(in: 1...5, using: &dice)
        switch Int.random(in: 0..<8, using: &dice) {
        case 0:
            return Frame.faultFile(session: session, message: number, frames: 3, bytes: 300)
        case 1:
            return Frame.message(
                session: session, service: service, message: number, frames: 2, bytes: 300)
        case 2:
            return [
                Frame(
                    version: version, isEncrypted: version > 1, type: .single, service: service,
                    sessionID: session, messageID: number, payload: ByteBuffer(string: "abcdef"))
            ]
        case 3:
            // Too short for the header of an RPC, and in v1 without one.
            return [
                Frame(
                    version: version, type: .single, service: service, sessionID: session,
                    messageID: number,
                    payload: ByteBuffer(
                        repeating: 0, count: Int.random(in: 0...20, using: &dice)))
            ]
        case 4: return [.control(.heartbeat, service: .control, session: session)]
        default:
            let type = [RPCType.request, .response, .notification].randomElement(using: &dice)
            let function = [FunctionID.show, .alert, .putFile, .onHMIStatus, .listFiles]
                .randomElement(using: &dice)
            return [
                .rpc(
                    version: max(2, version), service: service == .bulk ? .bulk : .rpc,
                    sessionID: session, messageID: number, type: type ?? .request,
                    functionID: (function ?? .show).rawValue, correlationID: Int32(number),
                    json: #"{"duration":\#(number % 10)}"#)
            ]
        }
    }
}
