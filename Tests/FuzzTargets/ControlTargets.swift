// Fuzz targets: requests to the control API, as far as they are decided without a connection.

import ControlAPI
import HummingbirdCore
import RelayCore
import SDLProtocol

@testable import relayd

extension FuzzTarget {
    static let gate = FuzzTarget(
        name: "gate", about: "heads of requests at the doors of the control API",
        promise: "without the token nothing is changed and no secret told over TCP",
        maximumBytes: 1024,
        words: {
            Routes.all.map(\.path) + [
                "GET", "POST", "127.0.0.1:2777", "[::1]:2777", "http://localhost:2777",
                "same-origin", "cross-site", "Bearer ", "localhost",
            ]
        },
        run: { bytes in
            let lines = bytes.split(separator: 0x0A, maxSplits: 6, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            func line(_ index: Int) -> String? {
                index < lines.count && !lines[index].isEmpty ? lines[index] : nil
            }
            let head = RequestGate.Head(
                method: line(0) ?? "GET", path: line(1) ?? "/", authority: line(2), origin: line(3),
                fetchSite: line(4), authorization: line(5))
            for gate in gates {
                guard (try? gate.check(head)) != nil else { continue }
                _ = gate.access(head)
                guard gate.token != nil else { continue }
                // The token is random, so no input brings it.
                let isRead = head.method == "GET" || head.method == "HEAD"
                try ensure(isRead, "\(head) was let in without the token")
                try ensure(head.path != Routes.dashboard, "\(head) may see the token")
            }
        })

    private static let gates: [RequestGate] = {
        let token = DashboardToken()
        return [
            .unixSocket,
            RequestGate(hosts: .named("bench.local"), token: token, readsNeedToken: false),
            RequestGate(hosts: .anyAddress, token: token, readsNeedToken: true),
        ]
    }()

    static let query = FuzzTarget(
        name: "query", about: "queries and path segments of requests for messages and events",
        promise: "a query is understood, or refused in one line of printable text",
        maximumBytes: 512,
        words: {
            [
                "after=", "instance=", "limit=", "last=", "follow=", "app=", "function=", "type=",
                "service=", "priority=", "failed=", "slower_than=", "since=", "format=", "color=",
                "-30s", "2026-11-21T10:31:07Z", "9999-12-31T00:00:00Z", "%20", "%ff",
                "RegisterAppInterface",
                "!", "#1", "notification", "warning", "9223372036854775807",
            ]
        },
        run: { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else { return }
            let parameters = URI("/v1/messages?" + text).queryParameters
            let now = WallTime(nanoseconds: 1_795_257_067_000_000_000)
            for route in [MessageRequest.Route.list, .stream, .events, .eventStream] {
                do throws(MessageRequest.Problem) {
                    _ = try MessageRequest(parameters, for: route, now: now)
                } catch {
                    guard !error.message.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                        throw BrokenPromise("a refusal of \(error.message.debugDescription)")
                    }
                }
            }
            _ = PercentEncoding.decoded(text)
        })
}
