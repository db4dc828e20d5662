package import NIOCore

extension Relay {
    /// Says something in an app's session, in the app's place (`.fromApp`) or in that of the head unit
    /// (`.fromAccessory`).
    ///
    /// - Parameters:
    ///   - session: Nil for the first that is open.
    ///   - patience: How long to wait for the answer to a request; of an injection, for the end of a message
    ///     of the head unit's that is half delivered.
    /// - Throws: `DriveRefusal` when nothing has been said; `CancellationError` when the task is cancelled while
    ///   it waits: what is not said yet is not said then, and an answer that comes later reaches nobody.
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
                // Before the one who asked is let go, who would hear that the session is over.
                answer.fail(CancellationError())
                if let id = asked.value { (language as? SDLLanguage)?.giveUp(id) }
            }
        }
    }

    /// Somebody who must hear an answer, also when the hub ends before one comes.
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
