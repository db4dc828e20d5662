// The head unit of a recording in conversations with whole apps: the sample app, and the recorded ones.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SampleApp
import Testing

@testable import Replays

@Suite("A recorded head unit and whole apps")
struct RecordedConversationTests {
    // MARK: Sample app

    @Test(
        "the sample app has the same conversation with the recording as with the head unit",
        arguments: [1, 7, 1000])
    func sampleApp(piece: Int) throws {
        let recorded = try Conversation.recorded()
        var unit = ReplayingHeadUnit(try steps(recorded.recorder.items), piece: piece)
        let replayed = try Conversation.run(&unit)
        #expect(replayed.outcome == .finished)
        #expect(replayed.lines == recorded.lines)
        #expect(unit.divergences.isEmpty, "\(unit.divergences)")
        #expect(unit.unit.sessionIDs.isEmpty)
        #expect(unit.unit.held.steps == 0 && unit.unit.held.bytes == 0)
        // The same again with the recording of the replay.
        var again = ReplayingHeadUnit(try steps(replayed.recorder.items))
        #expect(try Conversation.run(&again).lines == recorded.lines)
    }

    @Test("the sample app at every speed", arguments: ["0.1", "1", "100", "max"])
    func sampleAppSpeeds(speed: String) throws {
        let recorded = try Conversation.recorded()
        var options = RecordedHeadUnit.Options()
        options.speed = try #require(ReplaySpeed(speed))
        var unit = ReplayingHeadUnit(try steps(recorded.recorder.items), options)
        let replayed = try Conversation.run(&unit)
        #expect(speed == "0.1" || replayed.outcome == .finished, "\(replayed.lines)")
        #expect(speed != "max" || replayed.ended - .start < .seconds(1))
    }

    // MARK: Recordings of real apps

    /// The recorded apps' messages receive the recorded answers, for whole sessions.
    @Test(
        "a recorded app gets the recorded answers",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1", "java-zero-message-id-1"])
    func captures(name: String) throws {
        let items = try Capture.items(name)
        var unit = ReplayingHeadUnit(try steps(items), piece: 5, .maximum())
        var then: [String] = []
        var live: [String] = []
        var now = NIODeadline.start
        for case .frames(let frames) in items {
            for tapped in frames where tapped.direction == .fromApp {
                now = now + .milliseconds(1)
                live += unit.hear(tapped.frame, at: now).compactMap(Self.answer)
            }
            then += frames.filter { $0.direction == .fromAccessory }.map(\.frame)
                .compactMap(Self.answer)
        }
        live += unit.pass(to: now + .hours(1)).compactMap(Self.answer)
        #expect(live.sorted() == then.sorted())
        #expect(unit.divergences.isEmpty, "\(unit.divergences)")
    }

    @Test(
        "the sample app talks to the head unit of a recorded app, and goes on where that one stopped",
        arguments: [
            ("js-full-1", nil), ("js-killed-1", nil), ("java-zero-message-id-1", nil),
            // The head unit was switched off.
            ("js-core-stops-1", "the head unit ended the session"),
        ] as [(String, String?)])
    func sampleApp(name: String, reason: String?) throws {
        var unit = ReplayingHeadUnit(
            try steps(try Capture.items(name)), .maximum())
        let app = name.hasPrefix("java") ? "Java Relay Test" : "Relay Test"
        let talk = try Conversation.run(&unit, name: app)
        #expect(
            talk.outcome == (reason.map { .failed($0) } ?? .finished), "\(talk.lines)")
        #expect(unit.divergences.allSatisfy { $0.kind != .otherApp })
    }

    private static func answer(_ frame: Frame) -> String? {
        guard let rpc = frame.rpc, rpc.type == .response else { return nil }
        return "\(rpc.functionName) \(rpc.correlationID ?? -1) "
            + (rpc.parameters.string("resultCode") ?? "")
    }
}
