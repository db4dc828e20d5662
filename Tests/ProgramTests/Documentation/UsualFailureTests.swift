// The failures that "Connect your app" describes, provoked in the built programs with each library's first
// frames: relayd prints what the page says. The output of the libraries themselves, and relayd's silence
// about an app that never reaches it, cannot be shown here.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Connect your app, and what goes wrong there", .serialized)
struct UsualFailureTests {
    /// A part of the page, under a heading of its own.
    private struct Section {
        let spans: [String]
        let blocks: [String]

        init(_ heading: String) throws {
            let page = try #require(
                try MarkdownPage.all().first { $0.path == "Documentation/connect-your-app.md" })
            let lines = page.text.split(separator: "\n", omittingEmptySubsequences: false)
            let start = try #require(lines.firstIndex { $0 == "## \(heading)" }, "\(heading)")
            let rest = lines[(start + 1)...]
            let end = rest.firstIndex { $0.hasPrefix("## ") } ?? rest.endIndex
            // Lines of a page count from 1.
            let numbers = start + 1...end
            spans = page.codeSpans.filter { numbers.contains($0.line) }.map(\.text)
            blocks = page.blocks.filter { numbers.contains($0.line) }.map(\.text)
        }

        /// The quotation that begins like this.
        func quotation(_ start: String) throws -> String {
            try #require(spans.first { $0.hasPrefix(start) }, "the page quotes no \"\(start)…\"")
        }
    }

    /// Whether the words were printed; "…" and numbers stand for what changes from case to case.
    private static func isPrinted(_ words: String, in text: String) -> Bool {
        var rest = text[...]
        for part in words.split(separator: #/…|[0-9]+/#) {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return true
    }

    private static func expect(_ words: String, in text: String) {
        #expect(isPrinted(words, in: text), "the page says \"\(words)\", and relayd \"\(text)\"")
    }

    private static func library(_ heading: String) throws -> ConnectYourAppTests.Library {
        try #require(ConnectYourAppTests.libraries.first { $0.heading == heading })
    }

    // MARK: The first two minutes

    @Test("a bench in order, without an app, and its sample app") func inOrder() async throws {
        let page = try Section("The first two minutes")
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let status = try await relayd.relayctl("status").output
            Self.expect(try page.quotation("point your app at"), in: status)
            #expect(status.contains(#/(?m)^App port +listening +127\.0\.0\.1:\d+/#))
            #expect(status.contains(#/(?m)^Apps +none/#))
            let doctor = try await relayd.relayctl("doctor")
            #expect(doctor.ending == .exited(0))
            let last = try #require(
                doctor.output.split(separator: "\n").last { !$0.hasPrefix(" ") })
            #expect(last.hasPrefix(try page.quotation("– app")))
            Self.expect(try page.quotation("no app is connected"), in: String(last))
            let sample = try await relayd.relayctl("sample-app")
            #expect(sample.output.hasSuffix(try page.quotation("sample-app: done")))
        }
    }

    // MARK: iOS

    @Test("a head unit that is absent") func absent() async throws {
        let page = try Section("iOS (sdl_ios)")
        let words = try Self.library("iOS (sdl_ios)").firstWords()
        try await UnusedPort.run { nobody in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(nobody)") { relayd in
                let app = try await relayd.connectApp()
                try await app.send(bytes: words[0])
                try await relayd.until("the app waits") {
                    $0.apps.first?.state == .waitingForHeadUnit
                }
                Self.expect(
                    try page.quotation("(waiting"), in: try await relayd.relayctl("status").output)
                try await Self.expectNoGrant(page, relayd)
                let doctor = try await relayd.relayctl("doctor")
                #expect(doctor.output.contains("✗ head unit"), "\(doctor.output)")
                await app.close()
            }
        }
    }

    @Test("a head unit that is silent") func silent() async throws {
        let page = try Section("iOS (sdl_ios)")
        let words = try Self.library("iOS (sdl_ios)").firstWords()
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await app.send(bytes: words[0])
                _ = try await headUnit.next()
                // After ten seconds of silence.
                let line = try await relayd.process.output.first(containing: "has no answer")
                Self.expect(try page.quotation("StartService rpc has no answer"), in: line)
                try await Self.expectNoGrant(page, relayd)
                await app.close()
            }
        }
    }

    private static func expectNoGrant(_ page: Section, _ relayd: Relayd) async throws {
        let tail = try await relayd.relayctl("tail", "--once", "-n", "100").output
        expect(try page.quotation("StartService rpc"), in: tail)
        #expect(!tail.contains(try page.quotation("StartServiceACK rpc")))
    }

    // MARK: JavaScript

    @Test("a head unit that is gone") func gone() async throws {
        let page = try Section("JavaScript under Node")
        let words = try Self.library("JavaScript under Node").firstWords()
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await app.send(bytes: words[0])
                try await headUnit.grant(session: 1)
                _ = try await app.next()
                try await headUnit.reset()
                try await app.closed()
                let line = try await relayd.process.output.first(containing: "app closed")
                Self.expect(try page.quotation("app closed: the head unit is gone"), in: line)
                _ = try await accessory.nextLink()
            }
        }
    }

    @Test("apps in a browser", arguments: ["WebSocket", "TLS", "HTTP"])
    func browser(language: String) async throws {
        let page = try Section("Apps in a browser")
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let app = try await relayd.connectApp()
            try await app.send(bytes: ByteBuffer(bytes: Self.greeting(language)))
            let line = try await relayd.process.errors.first(containing: "not SDL")
            Self.expect(try page.quotation("speaks \(language)"), in: line)
            #expect(line.contains("relayctl explain wrong_port"))
            let more = try await relayd.relayctl("explain", "wrong_port")
            #expect(more.ending == .exited(0) && more.output.contains(language))
            await app.close()
        }
    }

    /// What a browser says first.
    private static func greeting(_ language: String) -> [UInt8] {
        let get = "GET / HTTP/1.1\r\nHost: 127.0.0.1:2776\r\n"
        switch language {
        case "WebSocket":
            return Array(
                """
                \(get)Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n
                """.utf8)
        case "HTTP": return Array("\(get)Accept: text/html\r\n\r\n".utf8)
        default:
            // A handshake record of 512 bytes with a ClientHello (RFC 8446, 4.1.2 and 5.1).
            return [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]
                + Array(repeating: 0xA5, count: 506)
        }
    }

    // MARK: Every app

    @Test("two apps with one app ID") func twins() async throws {
        let page = try Section("The same for every app")
        let block = try #require(page.blocks.first { $0.contains("is also that of") })
        // One line, broken on the page.
        let words = block.split(separator: "\n").joined(separator: " ")
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            var apps: [FramePeer] = []
            for session in 1...2 as ClosedRange<UInt8> {
                let app = try await relayd.connectApp()
                apps.append(app)
                for var frame in try Self.library("iOS (sdl_ios)").firstWords() {
                    // The recorded number is that of the only session.
                    let isFirst = frame.getInteger(at: 3, as: UInt8.self) == 0
                    if !isFirst { frame.setInteger(session, at: 3) }
                    try await app.send(bytes: frame)
                    _ = try await app.next()
                }
            }
            let line = try await relayd.process.errors.first(containing: "is also that of")
            Self.expect(words, in: line)
            for app in apps { await app.close() }
        }
    }

    @Test("an address that may not connect") func notAllowed() async throws {
        let page = try Section("The same for every app")
        let config = """
            apps:
              allow: ["192.0.2.0/24"]

            """
        try await Relayd.run(accessory: "sim:", config: config) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let app = try await relayd.connectApp()
            let line = try await relayd.process.errors.first(containing: "connection refused")
            Self.expect(try page.quotation("connection refused: "), in: line)
            #expect(line.contains("apps.allow"))
            try await app.closed()
        }
    }

    @Test("words that are not printed would be found") func comparison() {
        #expect(Self.isPrinted("no answer for 10.0 s", in: "12:00 no answer for 12.7 s"))
        #expect(Self.isPrinted("gone (…)", in: "gone (the cable)"))
        #expect(!Self.isPrinted("gone (…)", in: "gone"))
        #expect(!Self.isPrinted("is also that of", in: "is that of"))
    }
}
