// A walk through "Connect your app": each library's first frames go through the built relayd to the simulated
// head unit, and what relayctl tail then shows is what the page shows.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Connect your app, walked through", .serialized)
struct ConnectYourAppTests {
    /// A section of the page, and the first frames of an app with its library.
    struct Library: CustomStringConvertible, Sendable {
        let heading: String
        let firstWords: @Sendable () throws -> [ByteBuffer]

        var description: String { heading }
    }

    static let libraries = [
        Library(heading: "iOS (sdl_ios)", firstWords: { try handMade() }),
        Library(
            heading: "Android (sdl_java_suite)",
            firstWords: { try recorded("java-zero-message-id-1") }),
        Library(heading: "JavaScript under Node", firstWords: { try recorded("js-full-1") }),
    ]

    /// StartService and RegisterAppInterface as they were recorded.
    private static func recorded(_ name: String) throws -> [ByteBuffer] {
        let file = Capture.folder.appending(path: "\(name).up.bin")
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(ByteBuffer(bytes: try Data(contentsOf: file)))
        return try (0..<2).map { _ in try #require(try decoder.next()).wire }
    }

    /// There is no recording of sdl_ios. These frames are made by hand from the protocol specification:
    /// StartService in a frame of version 1 with the highest version (4.2.2.2), and the parameters that the
    /// library's lifecycle configuration produces from the lines on the page.
    private static func handMade() throws -> [ByteBuffer] {
        let start =
            "100701000000002020000000"
            + "0270726f746f636f6c56657273696f6e0006000000352e342e310000"
        let bytes = stride(from: 0, to: start.count, by: 2).compactMap { offset in
            UInt8(start.dropFirst(offset).prefix(2), radix: 16)
        }
        let registration = """
            {"appName":"My App","appID":"8675309a00","fullAppID":"8675309a-0000-4000-8000-000000000001",\
            "isMediaApplication":false,"appHMIType":["DEFAULT"],"languageDesired":"EN-US",\
            "hmiDisplayLanguageDesired":"EN-US",\
            "syncMsgVersion":{"majorVersion":8,"minorVersion":0,"patchVersion":0}}
            """
        return [
            ByteBuffer(bytes: bytes),
            Frame.rpc(
                session: 1, .request, .registerAppInterface, correlation: 1, json: registration
            ).wire,
        ]
    }

    /// The lines that the page shows for a library.
    private static func shown(_ heading: String) throws -> [String] {
        let page = try #require(
            try MarkdownPage.all().first { $0.path == "Documentation/connect-your-app.md" })
        let start = try #require(page.text.firstRange(of: "\n## \(heading)\n")).lowerBound
        let line = page.text[..<start].filter { $0 == "\n" }.count
        let block = try #require(
            page.blocks.first { $0.line > line && $0.language.isEmpty }, "\(heading)")
        return block.text.split(separator: "\n").map(String.init)
    }

    /// Whether a line is as the page shows it: its number and time are ignored, and "…" stands for anything.
    private static func isAsShown(_ line: String, _ shown: String) -> Bool {
        func rest(_ line: String) -> String {
            String(line.trimmingPrefix(#/(?: *\d+ )?\d\d:\d\d:\d\d\.\d+/#))
        }
        var remaining = rest(line)[...]
        let parts = rest(shown).components(separatedBy: "…")
        for (index, part) in parts.enumerated() {
            if index == 0 {
                guard remaining.hasPrefix(part) else { return false }
                remaining = remaining.dropFirst(part.count)
            } else if index == parts.count - 1 {
                guard remaining.hasSuffix(part) else { return false }
                remaining = ""
            } else {
                guard let found = remaining.firstRange(of: part) else { return false }
                remaining = remaining[found.upperBound...]
            }
        }
        return remaining.isEmpty
    }

    @Test("relayctl tail shows what the page shows", arguments: libraries)
    func walk(library: Library) async throws {
        let shown = try Self.shown(library.heading)
        #expect(shown.count >= 5)
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let app = try await relayd.connectApp()
            for words in try library.firstWords() {
                try await app.send(bytes: words)
                // The library waits for each answer.
                _ = try await app.next()
            }
            try await relayd.until("on the screen") { $0.apps.first?.hmiLevel == "FULL" }
            // The status knows it a moment before the log does.
            let tail = try await relayd.until(
                "in the log",
                ask: { try await relayd.relayctl("tail", "--once", "-n", "100") },
                { $0.output.contains("FULL") })
            #expect(tail.ending == .exited(0))
            var lines = tail.output.split(separator: "\n").map(String.init)[...]
            for line in shown {
                guard let index = lines.firstIndex(where: { Self.isAsShown($0, line) }) else {
                    Issue.record("the page shows\n\(line)\nand relayctl tail\n\(tail.output)")
                    break
                }
                lines = lines[(index + 1)...]
            }
            await app.close()
        }
    }

    @Test("a line that is not as shown would be found") func comparison() {
        let shown = "10:31:07.137  #1  ←  control   StartServiceACK rpc  session 1  …  mtu …"
        #expect(
            Self.isAsShown(
                "08:00:00.000  #1  ←  control   StartServiceACK rpc  session 1  a  mtu 7", shown))
        #expect(
            !Self.isAsShown(
                "08:00:00.000  #1  ←  control   StartServiceNAK rpc  session 1  a  mtu 7", shown))
        #expect(
            !Self.isAsShown(
                "08:00:00.000  #1  ←  control   StartServiceACK rpc  session 1  a", shown))
        #expect(!Self.isAsShown("08:00:00.000  My App  1 B", "10:00:00.000  My App  1 B and more"))
        #expect(!Self.isAsShown("08:00:00.000  My App  1 B and more", "10:00:00.000  My App  1 B"))
    }
}
