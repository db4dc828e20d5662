import ControlAPI
import Synchronization
import Testing

@Suite("A client of a relayd that has much else to do")
struct BusyAnswerTests {
    /// Holds an answer back until it is released.
    private final class Gate: Sendable {
        private let waiting = Mutex<CheckedContinuation<Void, Never>?>(nil)

        func pass() async {
            await withCheckedContinuation { continuation in
                waiting.withLock { $0 = continuation }
            }
        }

        func open() { waiting.withLock { $0.take() }?.resume() }
    }

    @Test("however long relayd takes, it answers what was asked whole") func late() throws {
        let gate = Gate()
        let world = try ControlWorld(0) {
            await gate.pass()
            return ControlWorld.status
        }
        let request = "GET /v1/status HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\r\n"
        let answer = try world.exchange(Array(request.utf8)) { gate.open() }
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 200 OK"))
    }

    @Test("who does not send the rest of a body is not waited for") func trickle() throws {
        let request = "POST /v1/server HTTP/1.1\r\nHost: relayd\r\nContent-Length: 20\r\n\r\n{\"act"
        let answer = try ControlWorld(0).exchange(Array(request.utf8))
        #expect(!String(decoding: answer, as: UTF8.self).contains("200 OK"))
    }
}
