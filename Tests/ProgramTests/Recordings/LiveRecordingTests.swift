// `relayctl record --stdout`: a recording that goes to the tool, and not into a file of relayd's.

import ControlAPI
import Foundation
import RelayTesting
import Testing

@Suite("The built relayd records live", .serialized)
struct LiveRecordingTests {
    @Test("live to standard output, for as long as somebody reads")
    func live() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let done = try await ChildProcess.run(
                "/bin/sh",
                ["-c", "\(Program.relayctl.path()) record --stdout | head -c 200 | od -An -tx1"],
                environment: Program.environment(["RELAYD_SOCKET": relayd.controlSocket]))
            #expect(done.output.hasPrefix(" 0a 0d 0d 0a"), "\(done.errors)")
        }
    }

    @Test(
        "live, to the end of relayd: whole if it stops, and said to be incomplete if it is killed",
        arguments: [(SIGTERM, ChildProcess.Ending.exited(0)), (SIGKILL, .exited(2))])
    func liveToTheEnd(signal: Int32, ending: ChildProcess.Ending) async throws {
        let end = signal == SIGKILL ? ChildProcess.Ending.killed(by: SIGKILL) : .exited(0)
        try await Relayd.run(accessory: "sim:", endsBy: end) { relayd in
            let file = relayd.directory.file("live.pcapng")
            let recording = try await ChildProcess.start(
                "/bin/sh", ["-c", "exec \(Program.relayctl.path()) record --stdout > \(file)"],
                environment: Program.environment(["RELAYD_SOCKET": relayd.controlSocket]))
            try await relayd.until(
                "it has begun", ask: { try? Data(contentsOf: URL(fileURLWithPath: file)) },
                { $0?.isEmpty == false })
            relayd.process.signal(signal)
            #expect(try await recording.ended() == ending)
            let errors = try await recording.errors.untilEnd()
            let isIncomplete = errors.contains { $0.contains("in the middle of its answer") }
            #expect(isIncomplete == (signal == SIGKILL), "\(errors)")
        }
    }
}
