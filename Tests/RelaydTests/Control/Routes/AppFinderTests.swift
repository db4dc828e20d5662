import ControlAPI
import RelayTesting
import SDLTraffic
import Synchronization
import Testing

@testable import relayd

@Suite("An app that has just come is found")
struct AppFinderTests {
    /// An app that the observers learn of when a caller waits for them.
    private final class Newcomer: Sendable {
        private let state = Mutex((isKnown: false, waits: 0))
        let isThere: Bool

        init(isThere: Bool = true) { self.isThere = isThere }

        var waits: Int { state.withLock(\.waits) }

        var finder: AppFinder {
            AppFinder(
                status: { self.snapshot },
                catchUp: { self.state.withLock { $0 = (true, $0.waits + 1) } })
        }

        private var snapshot: StatusSnapshot {
            let known = ControlTestServer.snapshot
            let name = state.withLock(\.isKnown) ? "Radio" : nil
            let app = AppStatus(
                id: 1, peer: "127.0.0.1:40000", connectedAt: .now, state: .connected, appName: name)
            return StatusSnapshot(
                relayd: known.relayd, accessory: known.accessory, link: known.link,
                server: known.server, apps: isThere ? [app] : [], recentDepartures: [])
        }
    }

    @Test("by its name, although the observers have not seen the registration yet")
    func byName() async throws {
        let newcomer = Newcomer()
        #expect(try await newcomer.finder.find("radio").id == 1)
        #expect(newcomer.waits == 1)
    }

    @Test("by its number with its name; nobody waits for an app that is known")
    func byNumber() async throws {
        let newcomer = Newcomer()
        #expect(try await newcomer.finder.find("1").appName == "Radio")
        #expect(try await newcomer.finder.find("1").appName == "Radio")
        #expect(newcomer.waits == 1)
    }

    @Test("one that is not there is waited for once")
    func absent() async throws {
        let nobody = Newcomer(isThere: false)
        await #expect(throws: APIError.self) { try await nobody.finder.find("radio") }
        #expect(nobody.waits == 1)
    }
}
