package import Logging
package import NIOCore

/// The hub as the rest of the daemon sees it.
///
/// Its internals live on one event loop, where routing is a plain method call; these methods hop there and
/// bring back values.
package final class Relay: Sendable {
    package let loop: any EventLoop
    /// What the observers read.
    package let tapQueue: TapQueue
    private let switchboard: NIOLoopBound<Switchboard>

    /// The language of head units.
    package static let sdl: @Sendable (Switchboard) -> any AccessoryLanguage = { SDLLanguage($0) }

    /// - Parameter language: Makes the language that the accessory speaks; SDL by default.
    package static func start(
        on loop: any EventLoop, configuration: RelayConfiguration, accessoryAddress: String,
        logger: Logger,
        language: @escaping @Sendable (Switchboard) -> any AccessoryLanguage = sdl
    ) async throws -> Relay {
        try await loop.submit {
            Relay(
                loop: loop, configuration: configuration, accessoryAddress: accessoryAddress,
                logger: logger, language: language)
        }.get()
    }

    private init(
        loop: any EventLoop, configuration: RelayConfiguration, accessoryAddress: String,
        logger: Logger, language: @escaping (Switchboard) -> any AccessoryLanguage
    ) {
        self.loop = loop
        tapQueue = TapQueue(maximumBytes: configuration.tapQueueBytes)
        let switchboard = Switchboard(
            loop: loop, configuration: configuration, accessoryAddress: accessoryAddress,
            tapQueue: tapQueue, logger: logger, language: language)
        self.switchboard = NIOLoopBound(switchboard, eventLoop: loop)
    }

    /// Makes a channel to the accessory the hub's link. To be called while the channel is being
    /// initialised; the channel must be on `loop`.
    ///
    /// - Parameter kernelBytes: Bytes written to the channel that the kernel has not sent, as far as
    ///   it can tell; called on `loop` while the channel is active.
    package func configureLink(
        _ channel: any Channel, kernelBytes: @escaping () -> Int = { 0 }
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(
                .writeBufferWaterMark, value: LinkConnection.waterMark)
            let handler = LinkConnection(hub: switchboard.value, kernelBytes: kernelBytes)
            try channel.pipeline.syncOperations.addHandler(handler)
        }
    }

    /// Makes an accepted connection an app. The channel must be on `loop`.
    ///
    /// - Parameters:
    ///   - entrance: where the connection came in, as the configuration names it.
    ///   - name: what to call the app; nil for its address.
    package func configureApp(
        _ channel: any Channel, at entrance: String = "", as name: String? = nil
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try switchboard.value.gate.accept(channel, at: entrance, as: name)
        }
    }

    /// Makes a connection of relayd's own an app.
    ///
    /// - Returns: The app's number; nil when there is no room for it, and it is told why.
    package func configureOwnApp(
        _ channel: any Channel, as name: String
    ) -> EventLoopFuture<AppID?> {
        channel.eventLoop.makeCompletedFuture {
            try switchboard.value.gate.accept(channel, at: name, as: name)
        }
    }

    /// Looks after a listening socket. To be called while it is being initialised, on `loop`.
    package func configureListener(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try switchboard.value.gate.guardListener(channel)
        }
    }

    package func snapshot() async throws -> RelaySnapshot {
        let missed = tapQueue.missedBatches
        return try await loop.submit {
            self.switchboard.value.snapshot(missedBatches: missed)
        }.get()
    }

    /// Calls `body` on the loop with the accessory's language, for questions that only one language can
    /// answer.
    package func withLanguage<Value: Sendable>(
        _ body: @escaping @Sendable (any AccessoryLanguage) throws -> Value
    ) async throws -> Value {
        try await loop.submit { try body(self.switchboard.value.language) }.get()
    }

    /// Calls `body` in the same way, without an answer; does not wait.
    package func onLanguage(_ body: @escaping @Sendable (any AccessoryLanguage) -> Void) {
        loop.execute { body(self.switchboard.value.language) }
    }

    /// Sets `observer` to be called, on the loop, when a limit is hit for the first time and then at every
    /// power of two.
    package func onLimit(
        _ observer: @escaping @Sendable (RelayLimit, LimitHits) -> Void
    ) async throws {
        try await loop.submit { self.switchboard.value.reporter.onLimit = observer }.get()
    }

    /// Sets `observer` to be called, on the loop, when an app leaves as if it had crashed, or the link ends
    /// without relayd ending it.
    package func onLoss(_ observer: @escaping @Sendable (RelayLoss) -> Void) async throws {
        try await loop.submit { self.switchboard.value.reporter.onLoss = observer }.get()
    }

    /// Sets the address of the page for browsers, for those who look for it on the apps' port.
    package func serves(dashboard url: String?) async throws {
        try await loop.submit { self.switchboard.value.dashboardURL = url }.get()
    }

    /// Adds a sink to the tap. The sink is first told of the link and the connected apps, with the times at
    /// which they came, and of the frames that opened their sessions and registered them; from then on it
    /// sees all traffic. When its queue is full, only this sink misses frames, and the queue counts them.
    package func attach(_ queue: TapQueue, _ policy: TapPolicy) async throws {
        try await loop.submit { self.switchboard.value.attach(queue, policy) }.get()
    }

    /// Removes the sink; its queue ends after what it has been given.
    package func detach(_ queue: TapQueue) async throws {
        try await loop.submit { self.switchboard.value.tap.detach(queue) }.get()
    }

    /// Inserts a note among the frames of all sinks but the observers', and returns once it is in place.
    ///
    /// - Returns: False when there is no such sink.
    package func note(_ note: TapNote) async throws -> Bool {
        try await loop.submit { self.switchboard.value.tap.record(note, at: .now()) }.get()
    }

    /// Inserts a note without waiting.
    package func noteSoon(_ note: TapNote) {
        loop.execute { self.switchboard.value.tap.record(note, at: .now()) }
    }

    /// Hands over what the sinks have collected and would otherwise get some milliseconds later.
    package func handOver() async throws {
        try await loop.submit { self.switchboard.value.tap.emit() }.get()
    }

    /// Waits until the observers have dealt with everything that has passed so far, but no longer than
    /// `patience`: on a busy machine they may be far behind.
    package func observersCatchUp(within patience: TimeAmount) async {
        let seen = loop.makePromise(of: Void.self)
        loop.execute { [loop, tapQueue] in
            let limit = loop.scheduleTask(in: patience) { seen.succeed() }
            self.switchboard.value.tap.emit()
            tapQueue.whenSeen {
                limit.cancel()
                seen.succeed()
            }
        }
        try? await seen.futureResult.get()
    }

    /// Ends the app's sessions politely on both sides and closes its connection.
    ///
    /// - Returns: False when there is no such app, or it is closing already.
    package func disconnect(_ app: AppID, because reason: CloseReason) async throws -> Bool {
        try await loop.submit {
            self.switchboard.value.disconnect(app, because: reason)
        }.get()
    }

    /// Disconnects every app in the same way.
    ///
    /// - Returns: The number of apps, without those that are closing already.
    package func disconnectAll(because reason: CloseReason) async throws -> Int {
        try await loop.submit {
            let switchboard = self.switchboard.value
            return switchboard.apps.keys.sorted()
                .count { switchboard.disconnect($0, because: reason) }
        }.get()
    }

    /// Changes what can be changed at run time; `tapQueueBytes` cannot.
    package func reconfigure(
        _ configuration: RelayConfiguration, accessoryAddress: String
    ) async throws {
        try await loop.submit {
            self.switchboard.value.reconfigure(configuration, accessoryAddress: accessoryAddress)
        }.get()
    }

    /// Closes the link; the supervisor opens it again.
    package func reopenLink(reason: String) async throws {
        try await loop.submit { self.switchboard.value.reopenLink(reason: reason) }.get()
    }

    /// Announces that the link, if there is one, is about to be closed from outside the hub, for this reason.
    package func linkWillClose(because reason: String) async {
        try? await loop.submit { self.switchboard.value.linkWillClose(because: reason) }.get()
    }

    /// Ends all sessions politely and closes the apps, waiting at most `farewellTimeout` for the
    /// head unit's confirmation and for apps that have not hung up; ends the tap.
    package func shutDown() async {
        let done = loop.makePromise(of: Void.self)
        loop.execute {
            let switchboard = self.switchboard.value
            let timeout = switchboard.configuration.farewellTimeout
            let limit = self.loop.scheduleTask(in: timeout) { done.succeed() }
            switchboard.shutDown {
                limit.cancel()
                done.succeed()
            }
        }
        try? await done.futureResult.get()
        try? await loop.submit { self.switchboard.value.tap.finish() }.get()
        // Also when the loop did not run it.
        tapQueue.finish()
    }
}
