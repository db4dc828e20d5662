import ControlAPI
import Logging
import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Synchronization
import Testing

@testable import relayd

@Suite struct LogControlTests {
    @Test("traffic is filtered and switched from the next message on") func traffic() async throws {
        let lines = Mutex<[String]>([])
        let log = try LogControl(
            Config.Log(), threshold: LogThreshold(.info), format: TrafficLog.Configuration()
        ) { batch in
            lines.withLock { $0 += batch.map { String(decoding: $0.text, as: UTF8.self) } }
        }
        var feed = TrafficFeed()
        feed.request(.show, 1)
        feed.request(.alert, 2)
        func logged() async -> [String] {
            lines.withLock { $0 = [] }
            await log.consume(feed.entries)
            return lines.withLock { $0 }
        }
        #expect(await logged().count == 2)
        _ = try await log.change(LogSettings(functions: ["Show"]))
        #expect(await logged().count == 1)
        _ = try await log.change(LogSettings(traffic: false))
        #expect(await logged().isEmpty)
        _ = try await log.change(LogSettings(traffic: true, functions: []))
        #expect(await logged().count == 2)
        _ = try await log.change(LogSettings(filter: "rpc:sho*"))
        #expect(await logged().count == 1)
        // Whether they fail is not known yet.
        _ = try await log.change(LogSettings(filter: "!ok"))
        #expect(await logged().isEmpty)
        feed.response(.show, 1, #"{"success":false,"resultCode":"REJECTED"}"#)
        #expect(await logged().count == 1)
        _ = try await log.change(LogSettings(filter: ""))
        #expect(await logged().count == 3)
    }

    @Test("a changed threshold counts for every logger that has no level of its own")
    func threshold() {
        let threshold = LogThreshold(.info)
        let writer = LineWriter(.journal(send: { _ in true }))
        var handlers = (0..<2).map { _ in
            WriterLogHandler(label: "x", format: .json, threshold: threshold, writer: writer)
        }
        handlers[1].logLevel = .error
        for level in Logger.Level.allCases {
            threshold.level = level
            #expect(handlers.map(\.logLevel) == [level, .error])
        }
    }
}
