import ControlAPI
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayTesting
import SDLTraffic
import ServiceLifecycle
import Testing

@testable import relayctl
@testable import relayd

/// relayd's control server with a ring of messages, on a socket in a directory of its own.
final class LiveServer: Sendable {
    let directory: String
    var path: String { directory + "/c.sock" }

    private static var quiet: Logger {
        Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    }

    init() throws {
        var template = Array("/tmp/relayctl-live-XXXXXX".utf8CString)
        directory = String(cString: try #require(mkdtemp(&template)))
    }

    deinit {
        unlink(path)
        rmdir(directory)
    }

    /// Runs relayctl against the server, with patience for a busy machine.
    func execute(_ arguments: [String], output: Output) async -> Int32 {
        await ControlClient.$defaultTimeout.withValue(FramePeer.patience) {
            await RelayCtl.execute(arguments + ["--socket", path], output: output)
        }
    }

    /// Serves `ring` while `body` runs, then stops as the daemon does.
    ///
    /// - Parameter advisor: Gives advice on the messages in the ring.
    func serve<Value>(
        _ ring: MessageRing, advisor: TrafficAdvisor? = nil, _ body: () async throws -> Value
    ) async throws -> Value {
        let server = try ControlServer(
            configuration: .init(socketPath: path),
            status: {
                StatusSnapshot(
                    relayd: Samples.relayd,
                    accessory: AccessoryStatus(
                        kind: "sim", address: "sim:", state: .open, since: Samples.start),
                    link: LinkStatus(state: .idle), server: ServerStatus(state: .listening))
            },
            messages: MessageHandlers(
                ring: ring, advice: { advisor?.told(after: $0, through: $1) ?? [] }),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: Self.quiet)
        let group = ServiceGroup(services: [server], logger: Self.quiet)
        async let running: Void = group.run()
        let result: Result<Value, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await running
        return try result.get()
    }
}
