import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@testable import relayctl

@Suite("relayctl trace diff") struct TraceDiffTests {
    private func diff(
        _ first: [TapItem], _ second: [TapItem], _ arguments: String...
    ) async throws -> (code: Int32, out: String, error: String) {
        var result: (Int32, String, String) = (0, "", "")
        try await TraceSamples.run(
            ["trace", "diff", "a.pcapng", "b.pcapng"] + arguments,
            on: [
                "a.pcapng": TraceSamples.bytes(first), "b.pcapng": TraceSamples.bytes(second),
            ]
        ) { code, out, error, _ in result = (code, out, error) }
        return result
    }

    /// A radio that sends one Show for each of these result codes.
    private static func radio(
        _ shows: [String], session: UInt8 = 1, app: AppID = TwoApps.radio, pace: Double = 1,
        vehicleData: Int = 0
    ) -> [TapItem] {
        var talk = TwoApps()
        talk.connect(app, "Radio", session: session, at: 1)
        for (index, code) in shows.enumerated() {
            let time = 10 + Double(index) * pace
            talk.request(
                app, session, .show, Int32(index + 2), #"{"mainField1":"\#(index)"}"#, at: time)
            talk.respond(app, session, .show, Int32(index + 2), code, at: time + 0.1)
        }
        for index in 0..<vehicleData {
            talk.notify(
                app, session, .onVehicleData, #"{"speed":\#(index)}"#, at: 500 + Double(index))
        }
        return talk.items
    }

    @Test("a trace is the same as itself, and times, numbers and sessions do not matter")
    func same() async throws {
        let items = try Capture.items("js-full-1")
        let itself = try await diff(items, items)
        #expect(itself.code == 0 && itself.out.hasPrefix("the same conversation: 1 app, "))
        let shows = [String](repeating: "SUCCESS", count: 5)
        let other = try await diff(
            Self.radio(shows, vehicleData: 3),
            Self.radio(shows, session: 7, app: AppID(rawValue: 9), pace: 3, vehicleData: 30))
        #expect(other.code == 0, "\(other.out)")
    }

    @Test("another result is told with what was before it") func result() async throws {
        let found = try await diff(
            Self.radio(["SUCCESS", "SUCCESS", "SUCCESS"]),
            Self.radio(["SUCCESS", "REJECTED", "SUCCESS"]))
        #expect(found.code == 1 && found.error.isEmpty)
        #expect(
            found.out.contains(
                """
                @ Radio, requests
                  Show → SUCCESS
                - Show → SUCCESS
                + Show → REJECTED
                different conversations: 5 the same
                """), "\(found.out)")
    }

    @Test("what only one has is told, also an app") func missing() async throws {
        let shows = [String](repeating: "SUCCESS", count: 3)
        var more = TwoApps()
        for item in Self.radio(shows).dropFirst() { more.add(item) }
        more.connect(TwoApps.map, "Map", session: 2, at: 60)
        let found = try await diff(Self.radio(shows), more.items, "--json")
        #expect(found.code == 1)
        let json = try JSONObject(ByteBuffer(string: found.out))
        #expect(json.bool("same") == false)
        let lanes = try #require(json.array("lanes"))
        let map = lanes.elements.compactMap(lanes.object).filter { $0.string("app") == "Map" }
        #expect(map.count == 2 && map.allSatisfy { $0.integer("only_in_first") == 0 })
        let radio = lanes.elements.compactMap(lanes.object).filter { $0.string("app") == "Radio" }
        #expect(radio.allSatisfy { $0.bool("same") == true })
    }

    @Test("long traces that differ a little here and there meet again") func long() async throws {
        var codes = (0..<2000).map { $0.isMultiple(of: 7) ? "REJECTED" : "SUCCESS" }
        let first = Self.radio(codes, pace: 0.2)
        codes.remove(at: 1000)
        codes[1500] = "DISALLOWED"
        let found = try await diff(first, Self.radio(codes, pace: 0.2))
        #expect(found.code == 1)
        let told = found.out.split(separator: "\n").filter {
            ($0.hasPrefix("- ") || $0.hasPrefix("+ "))
        }
        #expect(told.count <= 6, "\(found.out)")
    }

    @Test("a file that is none ends with 3, not as a difference") func unreadable() async throws {
        try await TraceSamples.run(
            ["trace", "diff", "a.pcapng", "@none.pcapng"],
            on: ["a.pcapng": TraceSamples.bytes(Self.radio([]))]
        ) { code, _, error, _ in
            #expect(code == 3 && error.contains("none.pcapng: cannot be opened"))
        }
    }
}
