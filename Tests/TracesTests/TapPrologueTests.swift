import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Traces

@Suite("What a trace has to begin with is learnt from what came before")
struct TapPrologueTests {
    private let radio = AppID(rawValue: 1)
    private let map = AppID(rawValue: 2)

    private func at(_ seconds: Int64) -> WallTime {
        WallTime(nanoseconds: seconds * 1_000_000_000)
    }

    private func frame(
        _ frame: Frame, _ direction: Direction = .fromApp, of app: AppID, at seconds: Int64,
        grant: GrantMeaning? = nil
    ) -> TapItem {
        .frames([
            TappedFrame(
                frame: frame, direction: direction, app: app, time: at(seconds), grant: grant)
        ])
    }

    private func told(_ prologue: TapPrologue) -> [String] {
        prologue.items.flatMap { item -> [String] in
            switch item {
            case .linkOpened(let number, _, _): ["link \(number)"]
            case .appConnected(let app, _, _): ["\(app)"]
            case .frames(let frames):
                frames.map { tapped in
                    let what =
                        tapped.frame.controlType?.name
                        ?? "\(tapped.frame.type) \(tapped.direction)"
                    return "\(tapped.app?.description ?? "-") \(what) \(tapped.frame.sessionID)"
                }
            default: ["\(item)"]
            }
        }
    }

    /// A link with one app that has a session, is registered and sends messages.
    private func session(isAnswered: Bool = true) -> TapPrologue {
        var prologue = TapPrologue(maximumBytes: 1 << 20)
        prologue.learn(.linkOpened(number: 3, address: "sim:", time: at(1)))
        prologue.learn(.appConnected(radio, peer: "127.0.0.1:1", time: at(2)))
        prologue.learn(frame(.startService(), of: radio, at: 3))
        prologue.learn(
            frame(.startServiceACK(session: 7), .fromAccessory, of: radio, at: 4, grant: .opens))
        prologue.learn(
            frame(.rpc(session: 7, message: 1, .request, .registerAppInterface), of: radio, at: 5))
        if isAnswered {
            prologue.learn(
                frame(
                    .rpc(session: 7, message: 1, .response, .registerAppInterface),
                    .fromAccessory, of: radio, at: 6))
        }
        for number in 2...50 as ClosedRange<UInt32> {
            prologue.learn(
                frame(.rpc(session: 7, message: number, .request, .show), of: radio, at: 7))
        }
        return prologue
    }

    @Test("link, app, grant and registration stay; what else was said does not")
    func registered() {
        #expect(
            told(session()) == [
                "link 3", "#1", "#1 StartService 0", "#1 StartServiceACK 7", "#1 single fromApp 7",
                "#1 single fromAccessory 7",
            ])
    }

    @Test("a registration in several frames stays whole, another message of several goes")
    func multipleFrames() {
        var prologue = session(isAnswered: false)
        var payload = ByteBuffer()
        RPCHeader(
            type: .response, functionID: FunctionID.registerAppInterface.rawValue,
            correlationID: 1, jsonBytes: 2
        ).write(to: &payload)
        payload.writeRepeatingByte(0x20, count: 88)
        func message(_ number: UInt32, _ first: ByteBuffer) -> [Frame] {
            let frames = Frame.message(
                session: 7, service: .rpc, message: number, frames: 3, bytes: 100)
            let second = Frame(
                version: 5, type: .consecutive, service: .rpc, info: 1, sessionID: 7,
                messageID: number, payload: first)
            return [frames[0], second] + frames[2...]
        }
        let others = message(60, ByteBuffer(repeating: 0x22, count: 100))
        for (one, other) in zip(message(61, payload), others) {
            prologue.learn(frame(other, .fromAccessory, of: radio, at: 8))
            prologue.learn(frame(one, .fromAccessory, of: radio, at: 8))
        }
        #expect(
            told(prologue).suffix(4) == [
                "#1 first fromAccessory 7", "#1 consecutive fromAccessory 7",
                "#1 consecutive fromAccessory 7", "#1 consecutive fromAccessory 7",
            ])
        #expect(told(prologue).count == 9)
    }

    @Test("a StartService that waits is told so, and once it is sent as if it had come then")
    func waiting() {
        var prologue = TapPrologue(maximumBytes: 1 << 20)
        prologue.learn(.appConnected(radio, peer: "127.0.0.1:1", time: at(2)))
        prologue.learn(
            .frames([
                TappedFrame(
                    frame: .startService(), direction: .fromApp, app: radio, time: at(3),
                    isWaiting: true)
            ]))
        #expect(prologue.frames.map(\.isWaiting) == [true])
        prologue.learn(.session(.startSent, radio, time: at(9)))
        #expect(prologue.frames.map(\.isWaiting) == [false])
        #expect(prologue.frames.map(\.time) == [at(9)])
    }

    @Test("what is over is forgotten, with the memory that it took")
    func over() {
        var prologue = session()
        prologue.learn(.appConnected(map, peer: "127.0.0.1:2", time: at(8)))
        prologue.learn(.session(.ended(7), radio, time: at(9)))
        #expect(told(prologue) == ["link 3", "#1", "#2"])
        #expect(prologue.occupiedBytes == 0)
        prologue.learn(.appClosed(radio, reason: "left", time: at(10)))
        prologue.learn(.linkClosed(reason: "unplugged", time: at(11)))
        #expect(told(prologue) == ["#2"])
        var other = session()
        other.learn(.appClosed(radio, reason: "left", time: at(10)))
        #expect(told(other) == ["link 3"] && other.occupiedBytes == 0)
    }

    @Test("an app that registers again and again takes no more room")
    func again() {
        var prologue = session()
        let before = prologue.occupiedBytes
        for _ in 0..<100 {
            prologue.learn(
                frame(
                    .rpc(session: 7, message: 1, .request, .registerAppInterface), of: radio, at: 5)
            )
        }
        #expect(prologue.occupiedBytes == before)
    }

    @Test("a session that is protected again and again keeps its first grant and the latest")
    func protected() {
        var prologue = session()
        var once = 0
        for number in 0..<100 as Range<Int64> {
            prologue.learn(frame(.startService(), of: radio, at: 8 + number))
            prologue.learn(
                frame(
                    .startServiceACK(session: 7), .fromAccessory, of: radio, at: 8 + number,
                    grant: .protects))
            if number == 0 { once = prologue.occupiedBytes }
        }
        #expect(prologue.occupiedBytes == once)
        #expect(
            told(prologue) == [
                "link 3", "#1", "#1 StartService 0", "#1 StartServiceACK 7", "#1 single fromApp 7",
                "#1 single fromAccessory 7", "#1 StartService 0", "#1 StartServiceACK 7",
            ])
        prologue.learn(.session(.ended(7), radio, time: at(200)))
        #expect(prologue.occupiedBytes == 0)
    }

    @Test("an app that has unregistered is not registered, and may be again")
    func unregistered() {
        var prologue = session()
        prologue.learn(
            frame(
                .rpc(session: 7, message: 90, .request, .unregisterAppInterface), of: radio, at: 8))
        #expect(told(prologue) == ["link 3", "#1", "#1 StartService 0", "#1 StartServiceACK 7"])
        prologue.learn(
            frame(.rpc(session: 7, message: 91, .request, .registerAppInterface), of: radio, at: 9))
        #expect(told(prologue).last == "#1 single fromApp 7")
    }

    @Test("files in several frames of who is registered are not looked at")
    func files() {
        var prologue = session()
        let before = prologue.occupiedBytes
        for frame in Frame.message(session: 7, service: .rpc, message: 60, frames: 3, bytes: 100) {
            prologue.learn(self.frame(frame, of: radio, at: 8))
            #expect(prologue.occupiedBytes == before)
        }
    }

    @Test("what does not fit is not kept")
    func bounded() {
        var prologue = TapPrologue(maximumBytes: 10_000)
        prologue.learn(.linkOpened(number: 1, address: "sim:", time: at(1)))
        for number in 1...200 as ClosedRange<UInt64> {
            let app = AppID(rawValue: number)
            prologue.learn(.appConnected(app, peer: "127.0.0.1:1", time: at(2)))
            prologue.learn(
                frame(
                    .startServiceACK(session: UInt8(number)), .fromAccessory, of: app, at: 3,
                    grant: .opens))
            prologue.learn(
                frame(
                    .rpc(session: UInt8(number), message: 1, .request, .registerAppInterface),
                    of: app, at: 3))
        }
        #expect(prologue.occupiedBytes <= 10_000)
        for number in 1...200 as ClosedRange<UInt64> {
            prologue.learn(.appClosed(AppID(rawValue: number), reason: "", time: at(4)))
        }
        #expect(prologue.occupiedBytes == 0)
    }
}
