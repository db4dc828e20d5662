package import NIOCore
package import SDLProtocol

extension Relay {
    /// Starts an audio or video service in an app's session, in place of the app.
    ///
    /// - Parameters:
    ///   - wish: What to ask the head unit for, where the protocol version has room for it.
    ///   - session: Nil for the first that is open.
    ///   - patience: How long to wait for the head unit's answer.
    /// - Returns: The service, and the head unit's answer. The service runs only with `.granted`, and must then
    ///   be ended.
    /// - Throws: `DriveRefusal` when the head unit has not been asked.
    package func stream(
        _ service: ServiceType, _ wish: BSONDocument, app: AppID, session: UInt8? = nil,
        patience: TimeAmount
    ) async throws -> (RelayStream, StreamNews) {
        let answer = loop.makePromise(of: StreamNews.self)
        let over = loop.makePromise(of: StreamNews.self)
        let started = loop.makePromise(of: OwnRequestID.self)
        onLanguage { language in
            do throws(DriveRefusal) {
                guard let language = language as? SDLLanguage else { throw .notSDL }
                started.succeed(
                    try language.stream(
                        service, wish, app: app, session: session, patience: patience,
                        answer: answer, over: over))
            } catch {
                started.fail(error)
                answer.fail(error)
                over.fail(error)
            }
        }
        let id = try await started.futureResult.get()
        let stream = RelayStream(relay: self, id: id, over: over.futureResult)
        let news = try await answer.futureResult.get()
        if case .granted = news { return (stream, news) }
        onLanguage { ($0 as? SDLLanguage)?.forgetStream(id) }
        return (stream, news)
    }
}

/// A service that relayd uses in place of an app.
package struct RelayStream: Sendable {
    fileprivate let relay: Relay
    fileprivate let id: OwnRequestID
    /// Succeeds when the service has ended, with what ended it.
    package let over: EventLoopFuture<StreamNews>

    /// Sends data; returns when the link has taken most of it.
    ///
    /// - Throws: `StreamIsOver`.
    package func say(_ data: ByteBuffer) async throws {
        let said = relay.loop.makePromise(of: Void.self)
        let id = id
        relay.onLanguage { language in
            guard let language = language as? SDLLanguage else {
                return said.fail(StreamIsOver(news: .sessionOver))
            }
            language.streamData(data, in: id, said: said)
        }
        try await said.futureResult.get()
    }

    /// Ends the service, even in a cancelled task.
    ///
    /// - Returns: What ended the service: this call, or an earlier event.
    package func end() async -> StreamNews {
        let id = id
        relay.onLanguage { ($0 as? SDLLanguage)?.endStream(id) }
        let news = (try? await over.get()) ?? .sessionOver
        relay.onLanguage { ($0 as? SDLLanguage)?.forgetStream(id) }
        return news
    }
}
