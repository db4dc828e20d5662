// The dashboard's token: created, read from a file, compared.

import Foundation
import Glibc
import RelayCore
import Testing

@testable import relayd

@Suite("The dashboard's token")
struct DashboardTokenTests {
    @Test("it has 128 bits in hexadecimal, and each is another one")
    func content() {
        let texts = (0..<100).map { _ in DashboardToken().text }
        #expect(texts.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        #expect(Set(texts).count == texts.count)
    }

    @Test("looking needs it, unless somebody has said otherwise")
    func isNeeded() {
        #expect(Config().dashboard.tokenToRead)
    }

    @Test("only itself, whole, is itself")
    func comparison() {
        let token = DashboardToken()
        #expect(token.isBrought(by: "Bearer \(token.text)"))
        for wrong in [
            nil, "", "Bearer", "Bearer ", "Bearer \(token.text.dropLast())",
            "Bearer \(token.text)0", "Bearer \(token.text.dropLast())g", "Bearer  \(token.text)",
            "Basic \(token.text)", token.text, "Bearer \(DashboardToken().text)",
        ] {
            #expect(!token.isBrought(by: wrong), "\(wrong ?? "none")")
        }
    }

    @Test("a file holds the same token at each start")
    func file() throws {
        let text = String(repeating: "0123456789abcdef", count: 4)
        for content in [text, text + "\n", text + "\r\n", "Ab-._~+/" + text] {
            try Self.withFile(content) { path in
                let token = try DashboardToken(file: path)
                #expect(token.text == content.filter { !$0.isNewline })
                #expect(!token.isNewAtEachStart && token.isBrought(by: "Bearer \(token.text)"))
            }
        }
        let none = try DashboardToken(file: "")
        #expect(none.isNewAtEachStart)
    }

    @Test(
        "a file without a token is refused, with what a token is",
        arguments: [
            "", "\n", String(repeating: "a", count: 31), String(repeating: "a", count: 257),
            String(repeating: "a", count: 40) + "\n" + String(repeating: "b", count: 40),
            " " + String(repeating: "a", count: 40), "\u{e4}" + String(repeating: "a", count: 40),
        ])
    func notAToken(content: String) throws {
        try Self.withFile(content) { path in
            let failure = try #require(throws: DashboardToken.Failure.self) {
                try DashboardToken(file: path)
            }
            #expect(failure.description.hasPrefix("\(path): no token; one line of 32 to 256 "))
            #expect(!failure.description.contains("aaaa"))
        }
    }

    @Test("a file that other users can read and a missing one are refused")
    func notAllowed() throws {
        let text = String(repeating: "a", count: 64)
        try Self.withFile(text, mode: 0o644) { path in
            let failure = #expect(throws: DashboardToken.Failure.self) {
                try DashboardToken(file: path)
            }
            #expect(failure?.description.hasSuffix("; chmod o= \(path)") == true)
        }
        try Self.withFile(text, mode: 0o640) { path in
            let token = try DashboardToken(file: path)
            #expect(token.text == text)
        }
        try ScratchDirectory.use { directory in
            let missing = #expect(throws: DashboardToken.Failure.self) {
                try DashboardToken(file: directory + "/none")
            }
            #expect(missing?.description.contains("cannot be read: No such file") == true)
        }
    }

    @Test("with a bad file the dashboard is not served, and the reason is told")
    func notServed() throws {
        var configuration = Config.Dashboard()
        configuration.enabled = true
        configuration.address = ListenAddress(host: "127.0.0.1", port: 0)
        try Self.withFile("short") { path in
            configuration.tokenFile = path
            let report = DashboardEndpoint(configuration, logger: ControlTestServer.quiet).report
            #expect(!report.enabled && report.url == nil)
            #expect(
                report.reason?.hasPrefix(
                    "the dashboard is not served: dashboard.token_file: \(path): no token") == true)
        }
        try Self.withFile(String(repeating: "5", count: 32)) { path in
            configuration.tokenFile = path
            let report = DashboardEndpoint(configuration, logger: ControlTestServer.quiet).report
            #expect(report.enabled && report.token == String(repeating: "5", count: 32))
        }
    }

    private static func withFile(
        _ content: String, mode: mode_t = 0o600, _ body: (String) throws -> Void
    ) throws {
        try ScratchDirectory.use { directory in
            let path = directory + "/token"
            try content.write(toFile: path, atomically: true, encoding: .utf8)
            try #require(chmod(path, mode) == 0)
            try body(path)
        }
    }
}
