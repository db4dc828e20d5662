// The router alone.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol

/// Decides about data frames of several apps.
enum RouterBenchmark: Benchmark {
    static let name = "router"
    static let summary = "SessionRouter: decisions about data frames, both ways"

    /// Stands for an app as the relay's handler does: by reference.
    private final class App: Hashable {
        static func == (left: App, right: App) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    private static let apps: UInt8 = 4
    private static let frames = 100_000

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "\(apps) apps in turn, 1 KB frames; from another module, so not specialised for its App:",
            "compare with itself only, inside the hub it is several times faster",
        ])
        let now = NIODeadline.now()
        var router = SessionRouter<App>(configuration: RelayConfiguration())
        router.linkOpened(at: now)
        var lanes: [(app: App, frame: Frame)] = []
        for session in 1...apps {
            let app = App()
            router.connect(app)
            _ = router.receive(.startService(), from: app, at: now)
            _ = router.receiveFromAccessory(.startServiceACK(session: session), at: now)
            lanes.append((app, Traffic.request(session: session, bytes: 1024)))
        }
        _ = router.takeActions()
        let toAccessory = Micro(setting, operations: frames) {
            for index in 0..<frames {
                let lane = lanes[index & 3]
                precondition(router.receive(lane.frame, from: lane.app, at: now) == .toLink)
            }
        }
        findings.add("app to head unit", "SessionRouter", toAccessory, per: "frame")
        let toApp = Micro(setting, operations: frames) {
            for index in 0..<frames {
                let lane = lanes[index & 3]
                let decision = router.receiveFromAccessory(lane.frame, at: now)
                precondition(decision == .toApp(lane.app))
            }
        }
        findings.add("head unit to app", "SessionRouter", toApp, per: "frame")
        return findings
    }
}
