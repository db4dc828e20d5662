import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import SimulatedAccessory
import Testing

/// A recorded session of a real app with sdl_core 8.2.0 (see Fixtures/captures/README.md): the app's requests
/// and the head unit's answers.
private struct Recording {
    let said: [Frame]
    let heard: [Frame]

    init(_ name: String) throws {
        said = try Self.read("\(name).up.bin")
        heard = try Self.read("\(name).down.bin")
    }

    private static func read(_ name: String) throws -> [Frame] {
        let file = Checkout.captures.appending(path: name)
        return try frames(ByteBuffer(bytes: try Data(contentsOf: file)))
    }
}

@Suite struct RecordedAppTests {
    /// Where the simulated head unit's answers differ from the recorded ones, and why.
    private static let differences: [String: String] = [
        // Unregister and EndService were sent together; sdl_core handled the session's end first.
        "java-zero-message-id-1 session 2 UnregisterAppInterface #65530":
            "APPLICATION_NOT_REGISTERED, here SUCCESS"
    ]

    @Test(
        "every request of a recorded app gets the result that a real head unit gave",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1", "java-zero-message-id-1"])
    func results(name: String) throws {
        let recording = try Recording(name)
        let real = answers(recording.heard).filter { $0.type == .response }
        var link = try PaperLink()
        let played = try play(recording.said, to: &link)
        let own = answers(played).filter { $0.type == .response }
        try #require(!own.isEmpty)
        for answer in own {
            let place =
                "\(name) session \(answer.session) \(answer.function) #\(answer.correlationID ?? 0)"
            let same = real.filter {
                $0.session == answer.session && $0.function == answer.function
                    && $0.correlationID == answer.correlationID
            }
            guard let expected = same.first?.result else {
                // The recording ends with the app's last message.
                #expect(name != "js-full-1", "\(place) was not answered")
                continue
            }
            let actual = answer.result ?? ""
            let difference = expected == actual ? nil : "\(expected), here \(actual)"
            #expect(Self.differences[place] == difference, "\(place) \(answer.info ?? "")")
        }
        #expect(own.count >= real.count, "all requests are answered")
        #expect(link.accessory.counters.malformedMessages == 0)
        #expect(link.accessory.counters.unexpectedFrames == 0)
    }

    @Test("the recorded app hears the same HMI statuses, in the same order")
    func statuses() throws {
        let recording = try Recording("js-full-1")
        var link = try PaperLink()
        let own = answers(try play(recording.said, to: &link)).statuses
        #expect(own == answers(recording.heard).statuses)
        #expect(link.accessory.sessionIDs.isEmpty)
    }

    /// Sends the app's frames with the hash of this head unit's session, and waits after each frame as the app
    /// did.
    private func play(_ said: [Frame], to link: inout PaperLink) throws -> [Frame] {
        var hashes: [UInt8: UInt32] = [:]
        var heard: [Frame] = []
        for frame in said {
            var frame = frame
            if frame.controlType == .endService {
                let hash = try #require(hashes[frame.sessionID])
                frame = .endService(version: 5, sessionID: frame.sessionID, hashID: hash)
            }
            let answer = link.says(frame)
            if frame.controlType == .startService, let first = answer.first {
                let grant = SessionGrant(first)
                hashes[grant.sessionID] = grant.hashID
            }
            heard += answer + link.passes(.seconds(10))
        }
        return heard
    }
}
