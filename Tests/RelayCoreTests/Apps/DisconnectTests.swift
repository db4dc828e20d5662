import NIOCore
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import RelayCore

@Suite("Apps sent away by hand", .serialized)
struct DisconnectTests {
    @Test("its sessions end on both sides, its connection closes, the others hear nothing")
    func one() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let other = try await bench.openSession(1, on: headUnit)
            let app = try await bench.openSession(2, on: headUnit)
            let id = try #require(
                try await bench.relay.snapshot().apps
                    .first { $0.sessions.map(\.sessionID) == [2] }?.id)
            #expect(try await bench.relay.disconnect(id, because: .byOperator("makes room")))

            let end = try await app.next()
            #expect(end.controlType == .endService && end.sessionID == 2)
            try await app.closed()
            let unregister = try await headUnit.next()
            #expect(RPCHeader(unregister.payload)?.functionID == 2)
            try await headUnit.answer(unregister)
            #expect(try await headUnit.next().controlType == .endService)

            let proof = Frame.rpc(session: 1)
            try await other.send(proof)
            #expect(try await headUnit.next() == proof)
            try await bench.until { $0.departures.count == 1 }
            let reason = try await bench.relay.snapshot().departures[0].reason
            #expect("\(reason)" == "disconnected through the control API: makes room")
            let again = try await bench.relay.disconnect(id, because: .byOperator(nil))
            #expect(!again)
        }
    }

    @Test("all of them go, also those without a session") func all() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let registered = try await bench.openSession(1, on: headUnit)
            let silent = try await bench.connectApp()
            try await bench.until { $0.apps.count == 2 }
            #expect(try await bench.relay.disconnectAll(because: .serverOff) == 2)
            #expect(try await registered.next().controlType == .endService)
            try await registered.closed()
            try await silent.closed()
            try await bench.until { $0.apps.isEmpty && $0.departures.count == 2 }
            #expect(try await bench.relay.disconnectAll(because: .serverOff) == 0)
        }
    }

    @Test("a limit is told when it is hit first and then at powers of two") func limits()
        async throws
    {
        try await RelayBench.run {
            $0.maximumApps = 1
        } _: { bench in
            let told = Mutex<[UInt64]>([])
            try await bench.relay.onLimit { limit, hits in
                if limit == .maximumApps { told.withLock { $0.append(hits.count) } }
            }
            _ = try await bench.connectApp()
            try await bench.until { $0.apps.count == 1 }
            for count in 1...5 {
                let refused = try await bench.connectApp()
                try await refused.closed()
                try await bench.until { $0.limits[.maximumApps]?.count == UInt64(count) }
            }
            #expect(told.withLock { $0 } == [1, 2, 4])
        }
    }
}
