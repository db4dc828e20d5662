import Glibc
import NIOCore

/// What a connection's failure is called in logs and in the status.
package enum ErrorWords {
    /// - Parameter peer: whose end of the connection it is: "app", "head unit".
    package static func text(_ error: any Error, by peer: String) -> String {
        switch error {
        case let error as IOError: text(errno: error.errnoCode, by: peer)
        case ChannelError.eof, ChannelError.inputClosed: "the \(peer) closed the connection"
        case ChannelError.connectTimeout: "the \(peer) did not answer in time"
        case is ChannelError: "the connection is closed"
        default: "\(error)"
        }
    }

    /// The system's words where they say all there is to say.
    private static func text(errno error: CInt, by peer: String) -> String {
        switch error {
        case ECONNRESET: "the \(peer) reset the connection"
        case EPIPE: "the \(peer) does not read any more"
        case ETIMEDOUT: "the \(peer) stopped answering"
        default: strerror(error).map { String(cString: $0) } ?? "error \(error)"
        }
    }
}
