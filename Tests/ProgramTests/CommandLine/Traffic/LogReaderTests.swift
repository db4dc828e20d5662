// relayd's standard output when its reader goes away or hangs: relayed traffic must not wait for it.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd and the reader of its log", .serialized)
struct LogReaderTests {
    @Test("a reader that goes away stops the log and nothing else")
    func readerGone() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await relayd.process.closeOutput()
                for number in 1...100 as ClosedRange<UInt32> {
                    try await headUnit.checkBothWays(app, session: 1, number)
                }
                let status = try await relayd.until("lines are missed") {
                    $0.log.droppedLines > 0
                }
                #expect(status.apps.count == 1)
            }
        }
    }

    @Test("a reader that hangs costs lines, which are counted, and no frame; relayd stops in time")
    func readerHangs() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)", ["--log-format", "json"],
                readsOutput: false
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                // More than the pipe and the log's own queue of 4 MiB can hold; larger parameters are left out.
                let text = String(repeating: "x", count: 14_000)
                for number in 1...400 as ClosedRange<UInt32> {
                    let frame = Frame.rpc(
                        session: 1, message: number, .notification, .onVehicleData,
                        json: #"{"text":"\#(text)"}"#)
                    try await headUnit.send(frame)
                    try requireEqual(try await app.next().wire, frame.wire, "frame \(number)")
                }
                try await headUnit.checkBothWays(app, session: 1)
                try await relayd.until("lines are missed") {
                    $0.log.droppedLines + $0.log.droppedBatches > 0
                }
                relayd.process.signal(15)
                _ = try await relayd.process.ended()
            }
        }
    }
}
