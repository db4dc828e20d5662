import NIOCore

/// What one client had sent and taken at one moment. `ControlClients` asks when relayd stops.
package struct ClientProgress: Sendable, Equatable {
    /// Bytes that came from it.
    package var received: Int
    /// Bytes of its answers that its system has taken.
    package var taken: Int
    /// Bytes of its answers that wait for it.
    package var unsent: Int
    /// Whether it has sent all of what it asks.
    package var isRequestWhole: Bool
}

extension ClientProgress {
    /// Nil when the channel is closed or not a client's. On its loop.
    init?(of channel: any Channel) {
        let operations = channel.pipeline.syncOperations
        guard let bytes = try? operations.handler(type: PlaceHandler.self),
            let last = try? operations.handler(type: LastAnswerHandler.self),
            let unsent = try? channel.syncOptions?.getOption(.bufferedWritableBytes)
        else { return nil }
        self.init(
            received: bytes.received, taken: bytes.written - unsent, unsent: unsent,
            isRequestWhole: last.conversation.isInputWhole)
    }

    /// Whether it was the client's turn and it did something, or it is relayd's turn.
    ///
    /// How much waits for it says nothing about that: an answer grows at the other end meanwhile.
    package func goesOn(since before: ClientProgress) -> Bool {
        if unsent > 0 { return taken != before.taken }
        return isRequestWhole || received != before.received
    }
}
