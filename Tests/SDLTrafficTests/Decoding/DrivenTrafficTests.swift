import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import RelayCore

/// Messages that relayd sends or receives in the place of an app or the head unit, as observers see them.
@Suite struct DrivenTrafficTests {
    private let ok = #"{"success":true,"resultCode":"SUCCESS"}"#
    /// A correlation ID in relayd's range.
    private let own: Int32 = 0x7000_0001

    private func registered() -> Dialogue {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        return talk
    }

    @Test("a request of relayd's and its answer are paired, marked, and counted for relayd")
    func request() throws {
        var talk = registered()
        let before = talk.entries.count
        talk.rpc(.fromApp, .request, .listFiles, own, fate: .byRelay)
        #expect(talk.lastLine?.contains("by relayd") == true, "\(talk.lastLine ?? "")")
        talk.milliseconds += 5
        talk.app = nil
        talk.rpc(
            .fromAccessory, .response, .listFiles, own, ok, fate: .dropped(.answersRelay))
        #expect(talk.lastLine?.contains("to relayd") == true, "\(talk.lastLine ?? "")")
        #expect(talk.rpc?.request?.functionID == .listFiles && talk.rpc?.latency == 5_000_000)
        let counter = TrafficStatistics()
        counter.consume(Array(talk.entries[before...]))
        #expect(Set(counter.current.lanes.keys.map(\.app)) == ["relayd"])
    }

    @Test("an answer to relayd in several frames is one message")
    func inFrames() throws {
        var talk = registered()
        talk.rpc(.fromApp, .request, .listFiles, own, fate: .byRelay)
        let before = talk.entries.count
        let payload = DrivenRPC(.listFiles, .response, ok).payload(correlationID: own)
        for frame in Frame.message(
            version: 5, sessionID: 1, messageID: 900, payload: payload, limit: 20)
        {
            talk.says(.fromAccessory, frame, fate: .dropped(.answersRelay))
        }
        #expect(talk.entries.count == before + 1)
        #expect(talk.rpc?.outcome?.success == true && talk.rpc?.request != nil)
        #expect(talk.entries.last?.isOfRelay == true)
    }

    @Test("a request of relayd's in several frames is one message; what ends an app's half is none")
    func requestInFrames() throws {
        var talk = registered()
        let payload = DrivenRPC(.putFile, bulk: ByteBuffer(repeating: 7, count: 100))
            .payload(correlationID: own)
        let frames = Frame.message(
            version: 5, service: .bulk, sessionID: 1, messageID: 900, payload: payload, limit: 50)
        #expect(frames.count > 2)
        for frame in frames { talk.says(.fromApp, frame, fate: .byRelay) }
        #expect(talk.rpc?.message.functionID == .putFile && talk.rpc?.message.bulkBytes == 100)
        let before = talk.entries.count
        talk.app = nil
        for frame in frames { talk.says(.fromApp, frame, fate: .byRelay) }
        #expect(talk.entries.count == before)
    }

    @Test("what is injected changes nothing of what is known about app and head unit")
    func injected() throws {
        var talk = registered()
        talk.notification(.onHMIStatus, #"{"hmiLevel":"LIMITED"}"#)
        talk.rpc(
            .fromAccessory, .notification, .onHMIStatus, 0, #"{"hmiLevel":"FULL"}"#, fate: .byRelay)
        #expect(talk.lastLine?.contains("by relayd") == true)
        var table = FactsTable()
        for entry in talk.entries { table.apply(entry) }
        #expect(table.apps[AppID(rawValue: 1)]?.hmiLevel == .limited)
    }

    @Test("an injected answer does not take the place of the head unit's")
    func injectedAnswer() {
        var talk = registered()
        talk.request(.show, 5)
        talk.rpc(.fromAccessory, .response, .show, 5, ok, fate: .byRelay)
        #expect(talk.rpc != nil && talk.rpc?.request == nil)
        talk.milliseconds += 30
        talk.response(.show, 5, ok)
        #expect(talk.rpc?.request?.functionID == .show && talk.rpc?.latency == 30_000_000)
    }
}
