// Sessions of a real head unit with a real app library, decoded to lines that people have read.

import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct CaptureTests {
    /// Set to rewrite the expected files after looking at every changed line.
    private static let isRewriting =
        ProcessInfo.processInfo.environment["RELAYD_REWRITE_EXPECTED"] != nil

    @Test(
        "a recorded session decodes to the expected lines",
        arguments: [
            ("js-full-1", .text), ("js-full-1", .json), ("js-killed-1", .text),
            ("js-core-stops-1", .text),
        ] as [(String, TrafficFormat)])
    func decodesToExpectedLines(name: String, format: TrafficFormat) throws {
        let configuration = TrafficLog.Configuration(
            format: format, timeZone: .fixed(seconds: 0))
        let text = try Capture.lines(name, configuration).joined(separator: "\n") + "\n"
        let ending = format == .text ? "txt" : "jsonl"
        let file = Capture.folder.appending(path: "\(name).expected.\(ending)")
        if Self.isRewriting { try text.write(to: file, atomically: true, encoding: .utf8) }
        let expected = try String(contentsOf: file, encoding: .utf8)
        // Line by line, so that a failure shows the line and not the file.
        let (lines, expectedLines) = (text.split(separator: "\n"), expected.split(separator: "\n"))
        for (line, expected) in zip(lines, expectedLines) { #expect(line == expected) }
        #expect(lines.count == expectedLines.count)
    }

    @Test("the params of a JSON line equal what travelled")
    func paramsEqualOriginal() throws {
        let entries = try Capture.entries("js-full-1")
        let lines = try Capture.lines("js-full-1", TrafficLog.Configuration(format: .json))
        for (entry, line) in zip(entries, lines) {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let keys = try #require(object as? NSDictionary)
            #expect(keys["kind"] as? String == entry.content.kind)
            guard case .rpc(let rpc) = entry.content else { continue }
            let original = try JSONSerialization.jsonObject(
                with: Data(rpc.message.parameters.bytes.readableBytesView))
            #expect(keys["params"] as? NSDictionary == original as? NSDictionary)
        }
    }
}
