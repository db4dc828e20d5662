// Apps of a relayd with `drive.enabled`.

import ControlAPI
import RelayTesting
import SDLProtocol

extension Relayd {
    /// `drive.enabled`, and goodbyes that hold up no test.
    static let driving = quickGoodbyes + "drive:\n  enabled: true\n"

    /// An app that is registered with the simulated head unit, with its session.
    func registered(_ name: String) async throws -> (FramePeer, session: UInt8) {
        let app = try await connectApp()
        let session = try await app.startSession().sessionID
        try await app.register(name, session: session)
        try await knows(name)
        return (app, session)
    }

    /// An app that is registered with a head unit of the test's own, in session 1.
    func registered(_ name: String, with headUnit: FramePeer) async throws -> FramePeer {
        let app = try await connectApp()
        try await headUnit.start(1, for: app)
        try await headUnit.register(app, session: 1, name: name)
        try await knows(name)
        return app
    }

    /// Observers learn the names, and they lag behind the traffic.
    private func knows(_ name: String) async throws {
        try await until("\(name) is registered") { status in
            status.apps.contains { $0.appName == name }
        }
    }
}
