import Foundation
import Testing
import relayd

// How long a stop may take: the option, relayd itself and the unit agree.

@Suite("StopTime")
struct StopTimeTests {
    private static let unit = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "systemd/relayd.service")

    private func seconds(_ key: String) throws -> Int {
        let text = try String(contentsOf: Self.unit, encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(key + "=") })
        return try #require(Int(line.dropFirst(key.count + 1).dropLast()))
    }

    @Test("the unit waits longer than a stop takes with the default farewell_timeout")
    func unit() throws {
        let needed = StopTime.needed(farewell: Config().sessions.farewellTimeout)
        #expect(try seconds("TimeoutStopSec") > Int(needed.components.seconds))
    }

    @Test("a stop has all of the longest farewell_timeout that the configuration takes, and more")
    func longest() throws {
        let text =
            "sessions:\n  farewell_timeout: \(StopTime.maximumFarewell.components.seconds)s\n"
        let farewell = try Config.decode(text, file: "f").sessions.farewellTimeout
        #expect(StopTime.needed(farewell: farewell) >= farewell + .seconds(5))
        #expect(throws: ConfigErrors.self) {
            try Config.decode(
                text.replacing("60s", with: "61s"), file: "f")
        }
    }
}
