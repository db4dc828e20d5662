import NIOCore

/// What one client had sent and taken at one moment. `ControlClients` asks for it when relayd
/// stops.
package struct ClientProgress: Sendable, Equatable {
    /// Bytes received from the client.
    package var received: Int
    /// Bytes of its answers that the kernel has taken.
    package var taken: Int
    /// Bytes of its answers that are still buffered.
    package var unsent: Int
    /// Whether it has sent its whole request.
    package var isRequestWhole: Bool
}

extension ClientProgress {
    /// Nil if the channel is closed or not a client's. Called on its loop.
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

    /// Whether the client did something when it was its turn, or it is relayd's turn.
    ///
    /// The number of unsent bytes does not tell: meanwhile an answer grows at its other end.
    package func goesOn(since before: ClientProgress) -> Bool {
        if unsent > 0 { return taken != before.taken }
        return isRequestWhole || received != before.received
    }
}
