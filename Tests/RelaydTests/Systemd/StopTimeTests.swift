import AccessoryLinks
import Foundation
import NIOCore
import RelayTesting
import Synchronization
import Testing

@testable import relayd

// How long a stop may take: the option, relayd itself and the unit agree.

@Suite("StopTime")
struct StopTimeTests {
    private static let unit = Checkout.root.appending(path: "systemd/relayd.service")

    private func seconds(_ key: String) throws -> Int {
        let text = try String(contentsOf: Self.unit, encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(key + "=") })
        return try #require(Int(line.dropFirst(key.count + 1).dropLast()))
    }

    @Test("the unit waits longer than a stop takes with the default farewell_timeout")
    func unit() throws {
        let needed = StopTime().needed
        #expect(try seconds("TimeoutStopSec") > Int(needed.components.seconds))
    }

    @Test("the unit waits for a machine that takes more than ten seconds to load relayd")
    func start() throws {
        #expect(try seconds("TimeoutStartSec") >= 60)
    }

    @Test("a stop is cut short after the head unit's time, whatever that is, and before systemd's")
    func cutShort() {
        for farewell in [Duration.zero, .seconds(1), .seconds(30), StopTime.maximumFarewell] {
            let time = StopTime { farewell }
            #expect(time.untilCutShort >= farewell + .seconds(5))
            #expect(time.untilCutShort + StopTime.grace <= time.needed)
        }
    }

    @Test("whatever waits its longest, one after the other, a stop is over in its time")
    func parts() {
        for farewell in [Duration.zero, .seconds(1), StopTime.maximumFarewell] {
            let time = StopTime { farewell }
            let link = Duration(LinkSupervisor.closeLimit)
            let (answers, lines) = (EndPatience.longest, EndPatience.longest)
            let seen = StopTime.observing + StopTime.saving
            #expect(farewell + link + seen + answers < time.untilCutShort)
            // The lines are written after the services have ended, however late that is.
            #expect(time.untilCutShort + lines <= time.needed)
        }
    }

    @Test("a reload that changes the head unit's time counts for the next stop") func reload() {
        let farewell = Mutex(Duration.seconds(1))
        let time = StopTime { farewell.withLock(\.self) }
        let before = time.untilCutShort
        farewell.withLock { $0 = .seconds(60) }
        #expect(time.untilCutShort - before == .seconds(59))
    }

    @Test("a stop has all of the longest farewell_timeout that the configuration takes, and more")
    func longest() throws {
        let text =
            "sessions:\n  farewell_timeout: \(StopTime.maximumFarewell.components.seconds)s\n"
        let farewell = Duration(try Config.decode(text, file: "f").hub.farewellTimeout)
        #expect(StopTime { farewell }.needed >= farewell + .seconds(5))
        #expect(throws: ConfigErrors.self) {
            try Config.decode(
                text.replacing("60s", with: "61s"), file: "f")
        }
    }
}
