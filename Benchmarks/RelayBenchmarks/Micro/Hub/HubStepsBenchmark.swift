// The same work of the hub's event loop in every run, so that its instructions can be counted.

import NIOCore
import NIOPosix

/// The hub between socketpairs, a few frames at a time: the next ones are sent when the last have arrived. It
/// measures no time: valgrind counts instructions, and two builds are compared. See Documentation/performance.md.
enum HubStepsBenchmark: Benchmark {
    static let name = "hub-steps"
    static let summary =
        "the hub between socketpairs, step by step: to be run by valgrind, which counts instructions"
    static let runsOnlyWhenNamed = true

    private static let framesPerStep = 16

    static func run(_ setting: Setting) async throws -> Findings {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let hub = try await HubInProcess(on: group.next(), decodes: false)
        let steps = setting.isQuick ? 100 : 2000
        for direction in StreamDirection.allCases {
            let chunk = Traffic.wire(
                (1...UInt32(framesPerStep)).map { number in
                    direction == .fromApp
                        ? Traffic.request(
                            session: hub.session, bytes: 64, message: number,
                            correlation: Int32(number))
                        : Traffic.response(
                            session: hub.session, bytes: 64, message: number,
                            correlation: Int32(number))
                })
            try hub.moveInSteps(chunk, steps, direction)
        }
        await hub.close()
        try await group.shutdownGracefully()
        return Findings(notes: [
            "\(2 * steps * framesPerStep) frames of 64 B, half of them each way, \(framesPerStep) at a time"
        ])
    }
}
