package import NIOCore

extension Relay {
    /// Sends an RPC in an app's session, in place of the app (`.fromApp`) or of the head unit
    /// (`.fromAccessory`).
    ///
    /// - Parameters:
    ///   - session: Nil for the first that is open.
    ///   - patience: How long to wait for the answer to a request; for an injection, how long to wait for the
    ///     end of a head unit's message that is half delivered.
    /// - Throws: `DriveRefusal` when nothing was sent; `CancellationError` when the task is cancelled while it
    ///   waits: an RPC not sent yet is then not sent, and a later answer is discarded.
    package func drive(
        _ rpc: DrivenRPC, _ direction: Direction, app: AppID, session: UInt8? = nil,
        patience: TimeAmount
    ) async throws -> DrivenAnswer {
        let answer = loop.makePromise(of: DrivenAnswer.self)
        let asked = NIOLoopBoundBox.makeEmptyBox(
            valueType: OwnRequestID.self, eventLoop: loop)
        onLanguage { language in
            let waiting = Waiting(answer)
            do throws(DriveRefusal) {
                guard let language = language as? SDLLanguage else { throw .notSDL }
                asked.value = try language.drive(
                    rpc, direction, app: app, session: session, patience: patience
                ) { waiting.tell($0) }
            } catch {
                waiting.fail(error)
            }
        }
        return try await withTaskCancellationHandler {
            try await answer.futureResult.get()
        } onCancel: {
            onLanguage { language in
                // Before `giveUp` releases the waiting caller, which would be told that the session is over.
                answer.fail(CancellationError())
                if let id = asked.value { (language as? SDLLanguage)?.giveUp(id) }
            }
        }
    }

    /// A caller that must get an answer, even when the hub ends before one comes.
    private final class Waiting {
        private var promise: EventLoopPromise<DrivenAnswer>?

        init(_ promise: EventLoopPromise<DrivenAnswer>) { self.promise = promise }

        deinit { tell(.sessionOver) }

        func tell(_ answer: DrivenAnswer) {
            promise?.succeed(answer)
            promise = nil
        }

        func fail(_ error: any Error) {
            promise?.fail(error)
            promise = nil
        }
    }
}
