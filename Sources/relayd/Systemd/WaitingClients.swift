import CSystemd
import ControlAPI
import Glibc

/// Ends the connections of clients that wait on systemd's sockets for a relayd that will not run.
/// Used by `Relayd` when its configuration is refused.
///
/// systemd starts relayd as long as a client waits on a socket it listens on. If relayd left them
/// waiting, it would be restarted at once, until the limit of the unit is reached, and then the sockets
/// would be gone, too.
enum WaitingClients {
    /// More than wait on a bench; if any are left, relayd is started once more.
    private static let maximumClients = 1_000
    /// How long a client of the control socket may take to send its request. An answer sent while the
    /// client is still writing would be lost.
    private static let patienceMilliseconds: CInt = 200

    /// Accepts and closes waiting connections. relayctl is told why; the apps' protocol has no
    /// message for that.
    static func sendAway(because reason: String) {
        let answer = answer(reason)
        let count = sd_listen_fds(0)
        guard count > 0 else { return }
        // SD_LISTEN_FDS_START: after standard input, output and error.
        for socket in 3..<3 + count {
            let isControl = InheritedSockets.isListening(socket, .unix)
            guard isControl || InheritedSockets.isListening(socket, .tcp) else { continue }
            for _ in 0..<maximumClients {
                guard isReady(socket, within: 0) else { break }
                let client = accept(socket, nil, nil)
                guard client >= 0 else { break }
                if isControl { tell(client, answer) }
                close(client)
            }
        }
    }

    private static func tell(_ client: CInt, _ answer: [UInt8]) {
        guard isReady(client, within: patienceMilliseconds) else { return }
        // A request of relayctl fits into this.
        var request = [UInt8](repeating: 0, count: 16_384)
        guard recv(client, &request, request.count, 0) > 0 else { return }
        _ = send(client, answer, answer.count, CInt(MSG_NOSIGNAL))
    }

    private static func isReady(_ descriptor: CInt, within milliseconds: CInt) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, milliseconds) > 0
    }

    private static func answer(_ reason: String) -> [UInt8] {
        let message = "relayd does not start: \(reason)"
        let body = (try? APICoding.encode(APIError(.conflict, message))) ?? []
        let head = [
            "HTTP/1.1 409 Conflict", "Server: relayd/\(Version.current)",
            "Content-Type: application/json",
            "Content-Length: \(body.count)", "Connection: close", "", "",
        ]
        return Array(head.joined(separator: "\r\n").utf8) + body
    }
}
