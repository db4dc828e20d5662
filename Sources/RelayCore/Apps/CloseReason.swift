package import NIOCore
package import SDLProtocol

/// Why an app's connection ended, in words for the log, the status and the app's developer.
package enum CloseReason: Hashable, Sendable {
    /// It closed the connection itself.
    case left(AppLeaving)
    case connectionError(String)
    /// Its end of the connection was reset.
    case reset
    /// Bytes that are not a frame: where, why, what they look like.
    case garbage(GarbageFromApp)
    /// The app did not read while this many bytes waited.
    case tooSlow(queuedBytes: Int)
    /// The app read, but fewer bytes than came, although the link was slowed for it.
    case fellBehind(queuedBytes: Int)
    /// The app sent no whole frame.
    case silent(TimeAmount)
    case linkLost(String)
    /// No head unit; `waited` is nil when the app was refused at once.
    case noAccessory(waited: TimeAmount?)
    case foreignFrame(session: UInt8)
    /// Began a message of 0 bytes, after which sdl_core never reads the link again.
    case emptyMessage
    /// Began a message of more bytes than a message may have.
    case messageTooLarge(bytes: Int, limit: Int)
    /// Sent a frame that the head unit would count as malformed.
    case frameTooLarge(bytes: Int, limit: Int)
    /// Sent a control frame larger than relayd passes on; none needs to be that large.
    case controlFrameTooLarge(bytes: Int, limit: Int)
    case shutdown
    /// Somebody entitled to do so asked for it, with the reason they gave.
    case byOperator(String?)
    /// Nobody may connect at the moment, because the server was switched off.
    case serverOff
    /// Closed by this fault rule, which took a message of the app.
    case fault(UInt32)

    package struct GarbageFromApp: Hashable, Sendable {
        /// Stream position of the first bad byte, counted from 0.
        package var offset: UInt64
        package var error: FrameError
        package var excerpt: ByteBuffer
        package var recognised: WrongProtocol?
    }
}

extension CloseReason: CustomStringConvertible {
    package var description: String { words(of: "app") }

    /// - Parameter name: What the closed client is called.
    package func words(of name: String) -> String {
        switch self {
        case .left(.client): "the \(name) closed the connection"
        case .left(let how): "\(how)"
        case .connectionError(let error): "connection broke: \(error)"
        case .reset:
            "the \(name) vanished: it reset the connection, as one does that is killed or crashes"
        case .garbage(let garbage):
            garbage.recognised.map(\.adviceOnAppPort)
                ?? "not an SDL frame at byte \(garbage.offset): \(garbage.error)"
        case .tooSlow(let bytes):
            "the \(name) did not read while \(bytes) bytes waited for it (apps.queue_limit)"
        case .fellBehind(let bytes):
            "the app reads more slowly than the head unit sends: \(bytes) bytes waited for it "
                + "although the link was slowed down (apps.queue_limit, apps.when_slow)"
        case .silent(let timeout):
            "sent no SDL frame within \(timeout.seconds) s (apps.silent_timeout)"
        case .linkLost(let reason): "the head unit is gone (\(reason))"
        case .noAccessory(nil): "no head unit is connected"
        case .noAccessory(.some(let waited)):
            "no head unit was connected within \(waited.seconds) s"
        case .foreignFrame(let session): "used session \(session), which is not its own"
        case .emptyMessage:
            "began a message of 0 bytes: a head unit may never read its link again after one, so "
                + "it was not passed on"
        case .messageTooLarge(let bytes, let limit):
            "began a message of \(bytes) bytes, at most \(limit) are passed on "
                + "(apps.message_limit)"
        case .frameTooLarge(let bytes, let limit):
            "sent a frame of \(bytes) payload bytes, the head unit takes \(limit) (mtu): it counts "
                + "larger ones as malformed and closes the link for all apps after ten"
        case .controlFrameTooLarge(let bytes, let limit):
            "sent a control frame of \(bytes) payload bytes, at most \(limit) are passed on: a head "
                + "unit that does not take it reads its payload as frames of any session"
        case .shutdown: "relayd stops"
        case .byOperator(nil): "disconnected through the control API"
        case .byOperator(.some(let reason)): "disconnected through the control API: \(reason)"
        case .serverOff: "the server was switched off (relayctl server on switches it on)"
        case .fault(let rule): "closed by fault rule \(rule)"
        }
    }
}

extension CloseReason {
    /// Whether nothing is wrong, or the advice warns of it.
    var isToldElsewhere: Bool {
        switch self {
        case .left, .shutdown, .garbage: true
        default: false
        }
    }

    /// Whether the app may still read what waits for it. A queue that is too long would be kept for nothing,
    /// and behind a broken connection there is nobody to read.
    var leavesTimeForLastWords: Bool {
        switch self {
        case .tooSlow, .fellBehind, .connectionError, .reset: false
        default: true
        }
    }

    /// What a program that speaks HTTP is told in HTTP, if it has sent nothing else before; nil for all
    /// others.
    ///
    /// - Parameter dashboard: where the page for browsers is; nil when it is not served.
    func lastWords(dashboard: String?) -> ByteBuffer? {
        guard case .garbage(let garbage) = self, garbage.offset == 0,
            garbage.recognised == .http || garbage.recognised == .webSocket
        else { return nil }
        let body =
            "This port is for apps and speaks SDL (SmartDeviceLink), not HTTP.\n"
            + (dashboard.map { "relayd's dashboard is at \($0)\n" } ?? "")
        // A HEAD request gets no body.
        let isHead = garbage.excerpt.readableBytesView.starts(with: "HEAD ".utf8)
        return ByteBuffer(
            string: """
                HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
                Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\
                \(isHead ? "" : body)
                """)
    }

    /// The offending bytes, for the log.
    var excerpt: String {
        if case .garbage(let garbage) = self {
            "; bytes \(garbage.excerpt.hexExcerpt())"
        } else {
            ""
        }
    }
}
