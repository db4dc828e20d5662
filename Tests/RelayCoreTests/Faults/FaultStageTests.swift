// Dialogues on paper: which frames each fault rule changes, and which it leaves alone.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Fault rules do what they say, and nothing else")
struct FaultStageTests {
    private let show = Frame.rpc(session: 1, message: 1, correlation: 1)
    private let second = Frame.rpc(session: 1, message: 2, correlation: 2)
    private let third = Frame.rpc(session: 1, message: 3, correlation: 3)
    private let others = Frame.rpc(session: 2, message: 1, correlation: 1)

    @Test("delay: what comes behind in the same session and service waits; all else passes")
    func delay() throws {
        let bench = try FaultBench(("app:radio rpc:Show", "delay 2s"))
        let alert = Frame.rpc(session: 1, message: 2, .request, .alert)
        let bulk = Frame.data(session: 1, service: .bulk, message: 3, bytes: 20)
        let heartbeat = Frame.control(.heartbeat, service: .control, session: 1)
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.app("radio", says: alert) == [])
        #expect(bench.app("radio", says: bulk) == [.unit(bulk, from: "radio")])
        #expect(bench.app("radio", says: heartbeat) == [.unit(heartbeat, from: "radio")])
        #expect(bench.app("maps", says: others) == [.unit(others, from: "maps")])
        #expect(bench.pass(.milliseconds(1999)) == [])
        #expect(
            bench.pass(.milliseconds(1))
                == [.unit(show, from: "radio"), .unit(alert, from: "radio")])
        #expect(
            bench.marks == Array(repeating: .faulted(FaultMark(rule: 1, kind: .held)), count: 2))
        #expect(bench.stage.heldFrames == 0)
        #expect(bench.stage.heldBytes == 0)
    }

    @Test("delay is a longer way, not a slower one: two messages are as far apart as they came")
    func delayInParallel() throws {
        let bench = try FaultBench(("rpc:Show", "delay 2s"))
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.pass(.milliseconds(500)) == [])
        #expect(bench.app("radio", says: second) == [])
        #expect(bench.pass(.milliseconds(1500)) == [.unit(show, from: "radio")])
        #expect(bench.pass(.milliseconds(500)) == [.unit(second, from: "radio")])
    }

    @Test("jitter is between none and all of it, and overtakes nothing")
    func jitter() throws {
        let bench = try FaultBench(("rpc:Show", "delay 1s jitter 1s"))
        var times: [Int64] = []
        for number in 1...50 {
            let frame = Frame.rpc(session: 1, message: UInt32(number))
            #expect(bench.app("radio", says: frame) == [])
            let start = bench.now
            #expect(bench.pass(.milliseconds(999)) == [])
            while bench.stage.heldFrames > 0 {
                let passed = bench.pass(.milliseconds(1))
                if !passed.isEmpty { #expect(passed == [.unit(frame, from: "radio")]) }
            }
            times.append((bench.now - start).nanoseconds)
        }
        #expect(times.allSatisfy { (1_000_000_000...2_001_000_000).contains($0) })
        #expect(Set(times).count > 20)
    }

    @Test("answers, control frames and streams are taken only by rules that ask for them")
    func scope() throws {
        let bench = try FaultBench(("app:radio", "drop"))
        let response = Frame.rpc(session: 1, .response, .show)
        let start = Frame.startService()
        let video = Frame.data(session: 1, service: .video, bytes: 50)
        #expect(bench.unit(says: response, to: "radio") == [.app(response, to: "radio")])
        #expect(bench.app("radio", says: start) == [.unit(start, from: "radio")])
        #expect(bench.app("radio", says: video) == [.unit(video, from: "radio")])
        #expect(bench.app("radio", says: show) == [.dropped(show, .fault(1))])
        let notification = Frame.rpc(session: 1, .notification, .onHMIStatus)
        #expect(bench.unit(says: notification, to: "radio") == [.dropped(notification, .fault(1))])
        try bench.add("from:unit rpc:Show", "drop")
        #expect(bench.unit(says: response, to: "maps") == [.dropped(response, .fault(2))])
    }

    @Test("drop takes a message of several frames whole, and no other message")
    func dropWhole() throws {
        let bench = try FaultBench(("rpc:PutFile", "drop"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 3)
        #expect(bench.app("radio", says: file) == file.map { .dropped($0, .fault(1)) })
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(bench.hits == [1])
        #expect(bench.stage.messages.isEmpty)
    }

    @Test("a message that no rule takes passes whole and in order, however its frames come")
    func othersWhole() throws {
        let bench = try FaultBench(("rpc:Show", "drop"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 3)
        #expect(bench.app("radio", says: file[0]) == [])
        #expect(
            bench.app("radio", says: file[1])
                == [.unit(file[0], from: "radio"), .unit(file[1], from: "radio")])
        #expect(
            bench.app("radio", says: Array(file[2...]))
                == file[2...].map { .unit($0, from: "radio") })
    }

    @Test("a message whose second frame does not follow passes as it is")
    func unknownMessage() throws {
        let bench = try FaultBench(("rpc:PutFile", "drop"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 2)
        let alert = Frame.rpc(session: 1, message: 8, .request, .alert).on(.bulk)
        #expect(bench.app("radio", says: file[0]) == [])
        #expect(
            bench.app("radio", says: alert)
                == [.unit(file[0], from: "radio"), .unit(alert, from: "radio")])
        #expect(bench.app("radio", says: file[1]) == [.unit(file[1], from: "radio")])
    }

    @Test("parameters and text of a message select it, also of one in several frames")
    func parameters() throws {
        let bench = try FaultBench(
            ("param.syncFileName=icon", "drop"), (#"rpc:Show "Keep right""#, "drop"))
        let icon = Frame.faultFile(session: 1, message: 7, frames: 2)
        let song = Frame.faultFile(
            session: 1, message: 8, frames: 2, json: #"{"syncFileName":"song"}"#)
        #expect(bench.app("radio", says: icon).allSatisfy { $0.passed == nil })
        #expect(bench.app("radio", says: song).compactMap(\.passed) == song)
        let keep = Frame.rpc(session: 1, json: #"{"mainField1":"keep right"}"#)
        #expect(bench.app("radio", says: keep) == [.dropped(keep, .fault(2))])
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(bench.hits == [1, 1])
    }

    @Test("size, correlation ID, session and service select as they do in tail")
    func numbers() throws {
        let bench = try FaultBench(
            ("bytes>1500", "drop"), ("corr:2", "drop"), ("session:2", "drop"))
        let large = Frame.faultFile(session: 1, message: 7, frames: 2)
        #expect(bench.app("radio", says: large).allSatisfy { $0.passed == nil })
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(bench.app("radio", says: second) == [.dropped(second, .fault(2))])
        #expect(bench.app("maps", says: others) == [.dropped(others, .fault(3))])
    }

    @Test("answer: the request reaches nobody, and the app hears relayd after its last frame")
    func answer() throws {
        let bench = try FaultBench(("rpc:PutFile", #"answer REJECTED "no space""#))
        let file = Frame.faultFile(session: 1, message: 7, frames: 2)
        #expect(
            bench.app("radio", says: Array(file[...1]))
                == file[...1].map { .dropped($0, .fault(1)) })
        let outcome = bench.app("radio", says: file[2])
        #expect(outcome.first == .dropped(file[2], .fault(1)))
        let answer = try #require(outcome.last?.passed)
        #expect(outcome.last == .app(answer, to: "radio"))
        let header = try #require(RPCHeader(answer.payload))
        #expect(header.type == .response)
        #expect(header.functionID == FunctionID.putFile.rawValue)
        #expect(header.correlationID == 7)
        #expect(answer.sessionID == 1)
        #expect(answer.service == .rpc)
        #expect(
            String(buffer: answer.payload).hasSuffix(
                #"{"success":false,"resultCode":"REJECTED","info":"no space"}"#))
    }

    @Test("relayd's answer does not overtake what already waits for the app")
    func answerBehind() throws {
        let bench = try FaultBench(
            ("from:unit rpc:Alert", "hold 3s"), ("rpc:Show", "answer REJECTED"))
        let alert = Frame.rpc(session: 1, .response, .alert)
        #expect(bench.unit(says: alert, to: "radio") == [])
        #expect(bench.app("radio", says: show) == [.dropped(show, .fault(2))])
        let later = bench.pass(.seconds(3)).compactMap(\.passed)
        #expect(later.count == 2)
        #expect(later.first == alert)
        #expect(
            later.last.flatMap { RPCHeader($0.payload) }?.functionID == FunctionID.show.rawValue)
    }

    @Test("nak refuses a StartService, and nothing else")
    func nak() throws {
        let bench = try FaultBench(("app:radio service:video", #"nak "no video""#))
        let video = Frame.control(.startService, service: .video, session: 1)
        let audio = Frame.control(.startService, service: .audio, session: 1)
        let outcome = bench.app("radio", says: video)
        #expect(outcome.first == .dropped(video, .fault(1)))
        let nak = try #require(outcome.last?.passed)
        #expect(nak.controlType == .startServiceNAK)
        #expect(nak.service == .video)
        #expect(nak.sessionID == 1)
        #expect(bench.app("radio", says: audio) == [.unit(audio, from: "radio")])
    }

    @Test("corrupt changes the JSON of a message, and leaves its frame and its RPC header whole")
    func corrupt() throws {
        let bench = try FaultBench(("rpc:Show", "corrupt"))
        let frame = Frame.rpc(session: 1, json: #"{"mainField1":"Hello"}"#)
        let outcome = bench.app("radio", says: frame)
        #expect(outcome.first == .replaced(frame))
        let changed = try #require(outcome.last?.passed)
        #expect(changed != frame)
        #expect(RPCHeader(changed.payload) == RPCHeader(frame.payload))
        try expectWhole(changed)
        #expect(bench.marks == [.faulted(FaultMark(rule: 1, kind: .corrupted))])
    }

    @Test("corrupt leaves the RPC header in the last of two frames whole", arguments: 1...20)
    func corruptLast(seed: UInt64) throws {
        let bench = try FaultBench(("rpc:PutFile", "corrupt"), seed: seed)
        // Only one byte stands behind the header.
        let file = Frame.faultFile(session: 1, message: 7, frames: 1, bytes: 13, json: "{")
        let outcomes = bench.app("radio", says: file)
        #expect(outcomes.prefix(2) == [.unit(file[0], from: "radio"), .replaced(file[1])])
        let changed = try #require(outcomes.last?.passed)
        #expect(changed != file[1])
        #expect(RPCHeader(changed.payload) == RPCHeader(file[1].payload))
    }

    @Test("truncate shortens the last frame of a message; its header says so")
    func truncate() throws {
        let bench = try FaultBench(("rpc:PutFile", "truncate"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 3)
        let passed = bench.app("radio", says: file).compactMap(\.passed)
        #expect(passed.dropLast() == file.dropLast())
        let last = try #require(passed.last)
        #expect(last.payloadBytes == 500)
        for frame in passed { try expectWhole(frame) }
    }

    private func expectWhole(_ frame: Frame) throws {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(frame.wire)
        #expect(try decoder.next() == frame)
        #expect(!decoder.isInsideFrame)
        #expect(frame.wire.readableBytes == frame.headerBytes + frame.payloadBytes)
    }

    @Test("duplicate repeats messages of one frame, right behind themselves")
    func duplicate() throws {
        let bench = try FaultBench(("kind:request", "duplicate"))
        #expect(
            bench.app("radio", says: show) == [
                .unit(show, from: "radio"), .unit(show, from: "radio"),
            ])
        #expect(bench.marks == [.forwarded, .faulted(FaultMark(rule: 1, kind: .repeated))])
        let file = Frame.faultFile(session: 1, message: 7, frames: 2)
        #expect(bench.app("radio", says: file).compactMap(\.passed) == file)
    }

    @Test("reorder lets the next message go first; alone, a message waits a second")
    func reorder() throws {
        let bench = try FaultBench(("rpc:Show", "reorder"))
        #expect(bench.app("radio", says: show) == [])
        #expect(
            bench.app("radio", says: second)
                == [.unit(second, from: "radio"), .unit(show, from: "radio")])
        #expect(bench.app("radio", says: third) == [])
        #expect(bench.pass(FaultLimits.reorderPatience) == [.unit(third, from: "radio")])
    }

    @Test("a message of several frames is not torn apart by one that was to be reordered")
    func reorderBeforeFile() throws {
        let bench = try FaultBench(("rpc:Show", "reorder"))
        let show = show.on(.bulk)
        let file = Frame.faultFile(session: 1, message: 7, frames: 2)
        #expect(bench.app("radio", says: show) == [])
        let passed = bench.app("radio", says: file).compactMap(\.passed)
        #expect(passed == [show] + file)
    }

    @Test("disconnect closes the app that said it, and passes nothing on")
    func disconnect() throws {
        let bench = try FaultBench(("rpc:Show", "disconnect count 1"))
        #expect(
            bench.app("radio", says: show) == [.dropped(show, .fault(1)), .disconnected("radio")])
        #expect(bench.app("maps", says: others) == [.unit(others, from: "maps")])
    }

    @Test("hold ends with its time, with its rule, and after ten minutes at the latest")
    func hold() throws {
        let bench = try FaultBench(("rpc:Show", "hold 5s"))
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.pass(.seconds(5)) == [.unit(show, from: "radio")])
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.remove(1))
        #expect(bench.due() == [.unit(show, from: "radio")])
        #expect(bench.stage.isIdle)
        #expect(!bench.remove(1))
        try bench.add("rpc:Show", "hold")
        #expect(bench.app("radio", says: [show, second]) == [])
        #expect(bench.pass(FaultLimits.longestHold - .seconds(1)) == [])
        #expect(
            bench.pass(.seconds(1)) == [.unit(show, from: "radio"), .unit(second, from: "radio")])
    }

    @Test("a rule that ends lets go of what it holds")
    func windowEnds() throws {
        let bench = try FaultBench(("rpc:Show", "hold until 3s"))
        #expect(bench.app("radio", says: show) == [])
        #expect(bench.pass(.seconds(3)) == [.unit(show, from: "radio")])
        #expect(bench.app("radio", says: second) == [.unit(second, from: "radio")])
    }

    @Test("a rule that is removed in the middle of a message it drops drops it to its end")
    func removedInside() throws {
        let bench = try FaultBench(("rpc:PutFile", "drop"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 3)
        #expect(bench.app("radio", says: Array(file[...2])).allSatisfy { $0.passed == nil })
        #expect(bench.remove(1))
        #expect(!bench.stage.isIdle)
        #expect(bench.app("radio", says: file[3]) == [.dropped(file[3], .fault(1))])
        #expect(bench.stage.isIdle)
    }

    @Test("a rule that comes in the middle of a message leaves it alone")
    func addedInside() throws {
        let bench = try FaultBench(("rpc:Alert", "drop"))
        let file = Frame.faultFile(session: 1, message: 7, frames: 3)
        #expect(
            bench.app("radio", says: Array(file[...1])).compactMap(\.passed) == Array(file[...1]))
        try bench.add("rpc:PutFile", "drop")
        #expect(
            bench.app("radio", says: Array(file[2...])).compactMap(\.passed) == Array(file[2...]))
    }

    @Test("rate: so many bytes a second, frames whole and in order, what is behind waits")
    func rate() throws {
        let bench = try FaultBench(("app:radio service:bulk", "rate 10KB/s"))
        let frames = (1...4).map {
            Frame.data(session: 1, service: .bulk, message: UInt32($0), bytes: 988)
        }
        #expect(bench.app("radio", says: frames) == [.unit(frames[0], from: "radio")])
        #expect(bench.app("maps", says: others) == [.unit(others, from: "maps")])
        for frame in frames.dropFirst() {
            #expect(bench.pass(.milliseconds(99)) == [])
            #expect(bench.pass(.milliseconds(1)) == [.unit(frame, from: "radio")])
        }
    }

    @Test("probability takes about so many, the same ones again from the same seed")
    func probability() throws {
        func taken(seed: UInt64) throws -> [Bool] {
            let bench = try FaultBench(("rpc:Show", "drop probability 30%"), seed: seed)
            return (1...1000).map { _ in bench.app("radio", says: show).first?.passed == nil }
        }
        let first = try taken(seed: 7)
        #expect((250...350).contains(first.count { $0 }))
        #expect(try taken(seed: 7) == first)
        #expect(try taken(seed: 8) != first)
    }

    @Test("count, from and until bound when a rule acts")
    func bounds() throws {
        let bench = try FaultBench(("rpc:Show", "drop count 2 from 10s until 20s"))
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(bench.pass(.seconds(10)) == [])
        #expect(bench.app("radio", says: [show, second]).allSatisfy { $0.passed == nil })
        #expect(bench.app("radio", says: third) == [.unit(third, from: "radio")])
        #expect(bench.hits == [2])
        let other = try FaultBench(("rpc:Show", "drop until 20s"))
        #expect(other.pass(.seconds(20)) == [])
        #expect(other.app("radio", says: show) == [.unit(show, from: "radio")])
    }

    @Test("the first rule that takes a message decides; one that misses leaves it to the next")
    func order() throws {
        let bench = try FaultBench(
            ("rpc:Show", "drop count 1"), ("rpc:Show", "answer IN_USE count 1"),
            ("app:maps", "drop"))
        #expect(bench.app("radio", says: show) == [.dropped(show, .fault(1))])
        #expect(bench.app("radio", says: show).count == 2)
        #expect(bench.app("radio", says: show) == [.unit(show, from: "radio")])
        #expect(bench.app("maps", says: others) == [.dropped(others, .fault(3))])
        #expect(bench.hits == [1, 1, 1])
    }

    @Test("an app is known by name from its registration on, and by number before")
    func names() throws {
        let bench = try FaultBench(("app:navi", "drop"), ("app:#9", "drop"))
        bench.stage.know("new", FaultAppFacts(connection: 3))
        let register = Frame.rpc(
            session: 3, .request, .registerAppInterface,
            json: #"{"appName":"Navigator","fullAppID":"abc"}"#)
        let show = Frame.rpc(session: 3)
        #expect(bench.app("new", says: show) == [.unit(show, from: "new")])
        #expect(bench.app("new", says: register) == [.dropped(register, .fault(1))])
        #expect(bench.app("new", says: show) == [.dropped(show, .fault(1))])
        bench.stage.know("ninth", FaultAppFacts(connection: 9))
        #expect(bench.app("ninth", says: show) == [.dropped(show, .fault(2))])
    }

    @Test("what is encrypted is no RPC for a rule, and can be selected as what it is")
    func encrypted() throws {
        let bench = try FaultBench(("rpc:Show", "drop"), ("kind:encrypted app:maps", "drop"))
        let secret = Frame(
            version: 5, isEncrypted: true, type: .single, service: .rpc, sessionID: 1,
            messageID: 1, payload: show.payload)
        #expect(bench.app("radio", says: secret) == [.unit(secret, from: "radio")])
        #expect(bench.app("maps", says: secret) == [.dropped(secret, .fault(2))])
    }
}

extension Frame {
    /// The same on another service.
    fileprivate func on(_ service: ServiceType) -> Frame {
        Frame(
            version: version, type: type, service: service, info: info, sessionID: sessionID,
            messageID: messageID ?? 0, payload: payload)
    }
}
