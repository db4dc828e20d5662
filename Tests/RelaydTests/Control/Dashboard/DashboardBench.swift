import ControlAPI
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import ServiceLifecycle
import Synchronization
import Testing

@testable import relayd

// A dashboard on a port of its own and browsers that talk to it, for the tests of the dashboard's server.

/// The dashboard over real sockets.
enum DashboardBench {
    static func dashboard(
        tokenToRead: Bool = false, port: Int = 0, enabled: Bool = true
    ) -> DashboardEndpoint {
        var configuration = Config.Dashboard()
        configuration.enabled = enabled
        configuration.address = ListenAddress(host: "127.0.0.1", port: port)
        configuration.tokenToRead = tokenToRead
        configuration.tokenFile = ""
        return DashboardEndpoint(configuration, logger: ControlTestServer.quiet)
    }

    /// Serves a dashboard and a control socket around `body`.
    static func with(
        _ dashboard: DashboardEndpoint, _ body: (ControlTestServer, Browser) async throws -> Void
    ) async throws {
        let port = try port(of: dashboard)
        try await ControlTestServer.with(dashboard: dashboard) { test in
            try await body(test, Browser(test: test, port: port))
        }
    }

    static func port(of dashboard: DashboardEndpoint) throws -> Int {
        let url = try #require(dashboard.report.url)
        return try #require(url.split(separator: ":").last.flatMap { Int($0.dropLast()) })
    }

    /// Speaks HTTP to the port.
    struct Browser: Sendable {
        let test: ControlTestServer
        let port: Int

        func connect() throws -> Int32 { try ControlTestServer.connect(toPort: port) }

        func connected() async throws -> Int32 {
            let port = port
            return try await blocking { try ControlTestServer.connect(toPort: port) }
        }

        func ask(
            _ path: String, method: String = "GET", host: String? = nil, _ headers: String...
        ) async throws -> Answer {
            let lines =
                ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")"]
                + headers + ["Connection: close", "", ""]
            let browser = self
            return try await blocking {
                let descriptor = try browser.connect()
                defer { close(descriptor) }
                browser.test.send(lines.joined(separator: "\r\n"), to: descriptor)
                return Answer(
                    try #require(
                        browser.test.readToEnd(descriptor), "the server did not close"))
            }
        }
    }

    struct Answer: Sendable {
        let status: String
        /// Header fields; their names are in lower case.
        let headers: [String: String]
        let body: String

        init(_ text: String) {
            let end = text.firstRange(of: "\r\n\r\n")
            let head = text[..<(end?.lowerBound ?? text.endIndex)].split(separator: "\r\n")
            status = String(head.first?.dropFirst(9).prefix(3) ?? "")
            var fields: [String: String] = [:]
            for line in head.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                fields[line[..<colon].lowercased()] = String(value)
            }
            headers = fields
            body = end.map { String(text[$0.upperBound...]) } ?? ""
        }
    }
}
