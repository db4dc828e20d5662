// The built relayd between apps that come and die at random and a head unit that is unplugged: a
// short form of Scripts/bench soak.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import Testing

@Suite("The built relayd in a soak", .serialized)
struct SoakTests {
    private static let apps = 30

    @Test("every byte of apps that die at random is right, and nothing is left behind")
    func soak() async throws {
        let soak = try await Soak.start(
            SoakOptions(seed: 2776, apps: Self.apps, replugEvery: .milliseconds(1000)))
        try await Relayd.run(accessory: "tcp:127.0.0.1:\(soak.accessoryPort)") { relayd in
            let first = try await soak.run(appPort: relayd.port, for: .seconds(1))
            let before = try await descriptors(of: relayd)
            let rest = try await soak.run(
                appPort: relayd.port, for: .seconds(3),
                until: {
                    $0.lives > Self.apps && $0.replugs > 0 && $0.wholeLives > 0
                        && min($0.bytesFromApps, $0.bytesToApps) > 1 << 20
                })
            let after = try await descriptors(of: relayd, expected: before)

            for part in [first, rest] {
                #expect(part.faults == [:], "\(part.faultExamples)")
            }
            // A soak in which nothing happens would find nothing.
            #expect(rest.lives > Self.apps)
            #expect(rest.replugs > 0)
            #expect(rest.wholeLives > 0)
            #expect(rest.bytesFromApps > 1 << 20 && rest.bytesToApps > 1 << 20)
            #expect(after <= before, "descriptors")
            let status = try await relayd.status()
            #expect(status.link.sessions == 0)
            #expect(status.accessory.garbageBytes == 0)
        }
        await soak.close()
    }

    @Test(
        "a storm of fault rules: their victims' books are right, and no byte of another app is touched"
    )
    func faults() async throws {
        let soak = try await Soak.start(
            SoakOptions(seed: 18, apps: Self.apps, victims: Self.apps / 3))
        let driving =
            Relayd.driving + "apps:\n  frames_per_second: 0\n  connections_per_second: 0\n"
        try await Relayd.run(accessory: "tcp:127.0.0.1:\(soak.accessoryPort)", config: driving) {
            relayd in
            for action in Self.storm {
                let added = try await Program.relayctl.run(
                    ["fault", "add", "app:Victim* from:app rpc:Show"] + action,
                    environment: [ControlSocket.environmentVariable: relayd.controlSocket])
                #expect(added.ending == .exited(0), "\(added.errors)")
            }
            let before = try await descriptors(of: relayd)
            let tally = try await soak.run(
                appPort: relayd.port, for: .seconds(2),
                until: { $0.victims.received > 1000 && $0.victims.answered > 20 })
            let after = try await descriptors(of: relayd, expected: before)
            #expect(tally.faults == [:], "\(tally.faultExamples)")
            let list = try await relayd.relayctl("fault", "list", "--json")
            let rules = try APICoding.decode(FaultList.self, from: Array(list.output.utf8)).rules
            #expect(rules.count == Self.storm.count)
            for rule in rules { #expect(rule.hits > 0, "\(rule)") }
            func taken(_ action: String) -> Int {
                zip(rules, Self.storm).filter { $1[0] == action }.reduce(0) { $0 + $1.0.hits }
            }
            let books = tally.victims
            #expect(books.answered == taken("answer"))
            #expect(
                books.received
                    == books.sent - taken("drop") - taken("answer") + taken("duplicate"))
            #expect(after <= before, "descriptors")
            let status = try await relayd.status()
            #expect(status.link.sessions == 0 && status.accessory.garbageBytes == 0)
        }
        await soak.close()
    }

    /// One rule of each action that leaves whole frames in whole sessions. The first rule that takes a message
    /// decides.
    private static let storm = [
        ["drop", "probability", "10%"], ["answer", "REJECTED", "no", "probability", "10%"],
        ["duplicate", "probability", "10%"], ["reorder", "probability", "10%"],
        ["delay", "30ms", "jitter", "50ms", "probability", "10%"],
        ["hold", "100ms", "probability", "5%"], ["rate", "500KB/s", "probability", "20%"],
    ]

    /// Counts descriptors once all apps have left: the fewest seen, or the first count not above `expected`.
    private func descriptors(of relayd: Relayd, expected: Int = 0) async throws -> Int {
        try await relayd.until("no app is left") { $0.apps.isEmpty }
        // Status requests use connections, which a busy relayd closes a little later.
        var fewest = Int.max
        for _ in 0..<100 where fewest > expected {
            _ = try await relayd.status()
            fewest = min(fewest, try openFiles(relayd.process.pid))
        }
        return fewest
    }

    private func openFiles(_ processID: pid_t) throws -> Int {
        guard let directory = opendir("/proc/\(processID)/fd") else {
            throw SystemFailure("the descriptors of process \(processID)")
        }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}
