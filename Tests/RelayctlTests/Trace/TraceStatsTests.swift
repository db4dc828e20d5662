import ControlAPI
import DecodedTraces
import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces

@testable import relayctl

@Suite("relayctl trace stats") struct TraceStatsTests {
    @Test("streams have rates while they run, and gaps") func streams() async throws {
        var talk = TwoApps()
        talk.connect(TwoApps.map, "Map", session: 2, at: 1)
        // 25 pictures a second for two seconds, a pause of five seconds, then one second more.
        func picture(_ seconds: Double) {
            talk.send(
                Frame(
                    version: 5, type: .single, service: .video, sessionID: 2, messageID: 7,
                    payload: ByteBuffer(repeating: 0, count: 1000)), TwoApps.map, .fromApp,
                at: seconds)
        }
        for index in 0...50 { picture(10 + Double(index) * 0.04) }
        for index in 0...25 { picture(17 + Double(index) * 0.04) }
        let bytes = TraceSamples.bytes(talk.items)
        try await TraceSamples.run(
            ["trace", "stats", "a.pcapng", "--json"], on: ["a.pcapng": bytes]
        ) { code, out, error, _ in
            #expect(code == 0, "\(error)")
            let json = try JSONObject(ByteBuffer(string: out))
            let streams = try #require(json.array("streams"))
            let video = try #require(streams.elements.first.flatMap(streams.object))
            #expect(video.string("app") == "Map" && video.string("service") == "video")
            #expect(video.integer("frames") == 77 && video.integer("messages") == 77)
            #expect(video.double("messages_per_s") == 25)
            #expect(video.double("bits_per_s") == 200_000)
            #expect(video.integer("gaps") == 1 && video.double("longest_pause_ms") == 5000)
        }
        try await TraceSamples.run(["trace", "stats", "a.pcapng"], on: ["a.pcapng": bytes]) {
            code, out, _, _ in
            #expect(code == 0 && out.contains("RegisterAppInterface") && out.contains("25.0"))
        }
    }

    @Test("--app and --rpc narrow them, and a function that there is none of is refused")
    func narrowed() async throws {
        let bytes = try TraceSamples.bytes("js-full-1")
        try await TraceSamples.run(
            ["trace", "stats", "a.pcapng", "--rpc", "PutFile"], on: ["a.pcapng": bytes]
        ) { code, out, _, _ in
            #expect(code == 0 && out.contains("PutFile") && !out.contains("Show"))
        }
        try await TraceSamples.run(
            ["trace", "stats", "a.pcapng", "--rpc", "Shw"], on: ["a.pcapng": bytes]
        ) { code, _, error, _ in
            #expect(code == 64 && error.contains("did you mean 'Show'?"))
        }
    }
}
