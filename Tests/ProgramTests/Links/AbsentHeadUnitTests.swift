// Apps that come before their head unit, and links that come and go.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd without a head unit", .serialized)
struct AbsentHeadUnitTests {
    @Test("refuse: an app gets a NAK with the reason and is closed")
    func refuse() async throws {
        try await UnusedPort.run { port in
            let config = """
                apps:
                  when_accessory_absent: refuse

                """
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)", config: config) {
                relayd in
                let app = try await relayd.connectApp()
                try await app.send(.startService(headerVersion: 5))
                let answer = try await app.next()
                #expect(answer.controlType == .startServiceNAK)
                #expect(
                    ControlPayload(answer).document?.string(ControlKey.reason)
                        == "no head unit is connected to relayd")
                try await app.closed()
                let status = try await relayd.status()
                #expect(status.recentDepartures.first?.reason == "no head unit is connected")
            }
        }
    }

    @Test("hold: an app waits without an answer and gets its grant when the head unit comes")
    func hold() async throws {
        try await UnusedPort.run { port in
            let config = """
                apps:
                  when_accessory_absent: hold
                  hold_timeout: 60s

                """
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)", config: config) {
                relayd in
                let app = try await relayd.connectApp()
                try await app.send(.startService())
                let status = try await relayd.until("the app is held") {
                    $0.apps.first?.state == .waitingForHeadUnit && $0.accessory.state == .waiting
                }
                #expect(status.accessory.reason?.code == "refused")
                #expect(status.accessory.reason?.remedy.contains("sdl_core") == true)
                try await FakeAccessory.run(port: port) { accessory in
                    let headUnit = try await accessory.nextLink()
                    #expect(try await headUnit.next() == .startService())
                    try await headUnit.send(.startServiceACK(session: 7))
                    #expect(try await app.next() == .startServiceACK(session: 7))
                    try await headUnit.checkBothWays(app, session: 7)
                }
            }
        }
    }

    @Test("hold_timeout: an app that waited in vain gets a NAK and is closed")
    func holdTimeout() async throws {
        try await UnusedPort.run { port in
            let config = """
                apps:
                  hold_timeout: 1s

                """
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)", config: config) {
                relayd in
                let app = try await relayd.connectApp()
                try await app.send(.startService())
                #expect(try await app.next().controlType == .startServiceNAK)
                try await app.closed()
                try await relayd.process.errors.first(
                    containing: "no head unit was connected within 1 s")
            }
        }
    }

    @Test("a head unit that hangs up is called again; its apps are closed each time")
    func hangUps() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                // Each link lasts less than a second, so relayd waits a little longer each time.
                for _ in 1...4 {
                    let headUnit = try await accessory.nextLink()
                    let app = try await relayd.connectApp()
                    try await headUnit.start(1, for: app)
                    try await headUnit.register(app, session: 1, name: "Phoenix")
                    await headUnit.close()
                    try await app.closed()
                }
                _ = try await accessory.nextLink()
                let status = try await relayd.until("open") { $0.accessory.state == .open }
                #expect(status.accessory.openedCount == 5)
            }
        }
    }
}
