// Fuzz target: the control API from a connection's first byte to its last, without sockets and
// threads.

import ControlAPI

extension FuzzTarget {
    static let control = FuzzTarget(
        name: "control", about: "connections to the control API, at its Unix socket and TCP port",
        promise:
            "it answers in HTTP or not at all, tells nobody the token over TCP, and forgets who left",
        maximumBytes: 2048,
        words: {
            Routes.all.map(\.path) + [
                "GET /", "POST /", "PUT /", "HEAD /", " HTTP/1.1\r\nHost: 127.0.0.1\r\n",
                "Content-Length: ", "Transfer-Encoding: chunked\r\n", "\r\n\r\n",
                "Accept: text/event-stream\r\n", "Accept: text/html\r\n", "Connection: close\r\n",
                "Authorization: Bearer $token\r\n", "Origin: http://127.0.0.1",
                "Last-Event-ID: fuzz/1\r\n",
                "%2F", "//v1/dashboard", "/v1/messages/1", "Expect: 100-continue\r\n",
                "/v1/messages?limit=3&follow=0&since=-30s", "/v1/apps/1", "{\"active\":false}",
                "{\"reason\":\"", "{\"level\":\"debug\"}",
            ]
        },
        seeds: {
            Routes.all.flatMap { route in
                (0..<UInt8(ControlWorld.doors)).map { door in
                    let hasBody = route.method != "GET"
                    let text = """
                        \(route.method) \(route.path) HTTP/1.1\r
                        Host: 127.0.0.1\r
                        Authorization: Bearer $token\r
                        \(hasBody ? "Content-Length: 2\r\n" : "")\r

                        """
                    return [door] + Array((text + (hasBody ? "{}" : "")).utf8)
                }
            }
        },
        run: { bytes in
            guard let door = bytes.first else { return }
            let world = try ControlWorld(Int(door))
            let answer = try world.exchange(bytes.dropFirst())
            try ensure(
                answer.isEmpty || answer.starts(with: Array("HTTP/1.1 ".utf8)),
                "an answer of \(String(decoding: answer.prefix(200), as: UTF8.self))")
            try ensure(
                world.mayTellToken || !answer.contains(ControlWorld.token),
                "the token is told: \(String(decoding: answer, as: UTF8.self))")
        })
}
