// Fuzz targets: requests to the control API, as far as they are decided without a connection.

import ControlAPI
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
                authority: line(2), origin: line(3), fetchSite: line(4), authorization: line(5))
            for gate in gates {
                let admitted = try? access.admit(
                    line(0) ?? "GET", line(1) ?? "/", head, by: gate)
                let told = gate.access(head, DriveSwitch(true))
                try ensure(
                    !told.drives || gate.tellsToken && !head.isFromBrowser,
                    "\(head) is told that it may drive the conversation")
                guard let admitted else { continue }
                let needed = admitted.route.access
                // The token is random, so no input can contain it.
                if head.isFromBrowser || !gate.tellsToken {
                    try ensure(needed != .write, "\(head) was let in without the token")
                    try ensure(needed != .kept, "\(head) may see recordings")
                    try ensure(needed != .secret, "\(head) may see the token")
                    try ensure(needed != .drive, "\(head) may drive the conversation")
                }
                try ensure(
                    admitted.route.path.contains(":") || line(1) == nil
                        || line(1)?.utf8.prefix { $0 != UInt8(ascii: "?") }
                            .elementsEqual(admitted.route.path.utf8) == true,
                    "\(line(1) ?? "") is another spelling of \(admitted.route.path)")
            }
        })

    private static let access = AccessControl()
    private static let gates: [RequestGate] = {
        let token = DashboardToken()
        return [
            .unixSocket(token), .port(.named("bench.local"), token, readsNeedToken: false),
            .port(.anyAddress, token, readsNeedToken: true),
        ]
    }()

    static let query = FuzzTarget(
        name: "query",
        about: "queries and path segments of requests for messages, events and a vehicle's stream",
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
            let now = WallTime(nanoseconds: 1_795_257_067_000_000_000)
            let readings: [(RequestQuery) throws -> Void] = [
                { query in _ = try MessageRequest(query, for: .list, now: now) },
                { query in _ = try MessageRequest(query, for: .stream, now: now) },
                { query in _ = try EventRequest(query, for: .list) },
                { query in _ = try EventRequest(query, for: .stream) },
                { query in _ = try VehicleStreamRequest(query) },
            ]
            for read in readings {
                do {
                    try read(RequestQuery("/v1/messages?" + text))
                } catch let error as APIError {
                    let message = error.error.message
                    guard !message.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                        throw BrokenPromise("a refusal of \(message.debugDescription)")
                    }
                }
            }
            _ = PercentEncoding.decoded(text)
        })
}
