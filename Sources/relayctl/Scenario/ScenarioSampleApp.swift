import ArgumentParser
import ControlAPI
import NIOCore
import NIOPosix
import SampleApp

/// The sample app beside a scenario: it behaves like `relayctl sample-app --stay`.
struct ScenarioSampleApp: Sendable {
    private let channel: any Channel
    private let outcome: EventLoopFuture<SampleApp.Outcome>

    private struct NoPort: Error, CustomStringConvertible {
        let description =
            "relayd runs, but apps cannot connect to it: relayctl status has the reason"
    }

    /// - Throws: `ControlClientError` when relayd cannot be asked, or the error of the connection.
    static func start(
        _ name: String, _ appID: String, _ client: ControlClient
    ) async throws -> ScenarioSampleApp {
        guard let place = try await client.status().value.server.nearestEndpoint,
            let endpoint = SampleAppCommand.endpoint(place)
        else { throw NoPort() }
        var configuration = SampleApp.Configuration()
        (configuration.name, configuration.appID) = (name, appID)
        configuration.stays = true
        let app = SampleApp(configuration: configuration)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let outcome = loop.makePromise(of: SampleApp.Outcome.self)
        do {
            let channel = try await ClientBootstrap(group: loop)
                .connectTimeout(.seconds(10))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            SampleAppHandler(app, outcome: outcome) { _ in })
                    }
                }
                .connect(host: endpoint.host, port: endpoint.port).get()
            return ScenarioSampleApp(channel: channel, outcome: outcome.futureResult)
        } catch {
            outcome.fail(error)
            throw error
        }
    }

    /// Says goodbye if possible, and ends the connection.
    func leave() async {
        let channel = channel
        channel.eventLoop.execute {
            let handler = try? channel.pipeline.syncOperations.handler(type: SampleAppHandler.self)
            handler?.leave()
        }
        // The app does not leave in the middle of its tasks; the wait is limited to what a person would
        // accept.
        let patience = channel.eventLoop.scheduleTask(in: .seconds(3)) {
            channel.close(promise: nil)
        }
        _ = try? await outcome.get()
        patience.cancel()
    }
}
