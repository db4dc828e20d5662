// Fuzz target: traces of a vehicle interface in the OpenXC ecosystem's own format, read and played.

import CZlib
import Foundation
import NIOCore
import OpenXCProtocol
import RelayTesting

@testable import OpenXCTraces

extension FuzzTarget {
    static let openXCTraces = FuzzTarget(
        name: "openxc-traces",
        about:
            "OpenXC trace files of any bytes, compressed or not, read in pieces, from the file, and played",
        promise:
            "however it is read it has the same lines, and it is played in order and to the end, without a "
            + "longer silence than may be",
        words: {
            [
                "{\"name\":\"speed\",\"value\":1,\"timestamp\":", "1364310855.004000: {", "}\n",
                "}\r\n",
                "}\0", "1364310855004", "{\"metadata\":", "\"id\":", "\"data\":\"0x", "\u{FEFF}",
                "1e9",
            ]
        },
        seeds: { VehicleTraceWorld.seeds() },
        run: { bytes in
            var input = FuzzBytes(Array(bytes))
            let how = input.byte()
            let world = VehicleTraceWorld(text: Array(input.all()), how: how)
            try world.pieces()
            try world.file()
            try world.play()
        })
}

private struct VehicleTraceWorld {
    let text: [UInt8]
    /// Bits that choose how the text is read.
    let how: UInt8

    static func seeds() -> [[UInt8]] {
        let names = ["driving-excerpt.json", "generated-awkward.json", "python-tests-trace.json"]
        let texts = names.compactMap {
            try? Data(contentsOf: Checkout.fixtures.appending(path: "openxc/\($0)")).prefix(8 << 10)
        }
        let forms = [
            "1364310855.5: {\"name\":\"speed\",\"value\":1}\n1364310855.4: {\"name\":\"speed\",\"value\":2}\n",
            "{\"name\":\"a\",\"value\":true,\"timestamp\":1364310855004}\0{\"id\":1,\"bus\":1,\"data\":\"0x00\"}\0",
        ].map { Data($0.utf8) }
        return (texts + forms).enumerated().flatMap { index, text in
            [[UInt8(index)] + Array(text), [UInt8(index) | 0x80] + Array(text)]
        }
    }

    /// Reads the text all at once, and in pieces of one size.
    func pieces() throws {
        let size = Int(how & 0x1F) * 3 + 1
        let whole = Self.lines(of: text, pieces: max(text.count, 1))
        try ensure(
            Self.lines(of: text, pieces: size) == whole, "in pieces of \(size) it is another")
        for case .bad(let problem, let number) in whole {
            try ensure(number > 0 && !problem.words.isEmpty, "line \(number): \(problem)")
        }
    }

    private static func lines(of text: [UInt8], pieces size: Int) -> [TraceLineReader.Line] {
        var reader = TraceLineReader()
        var lines: [TraceLineReader.Line] = []
        for start in stride(from: 0, to: text.count, by: size) {
            reader.append(text[start..<min(start + size, text.count)])
            while let line = reader.next() { lines.append(line) }
        }
        return lines + (reader.finish().map { [$0] } ?? [])
    }

    /// Reads the text from a plain or a compressed file.
    func file() throws {
        let folder = try FuzzFolder()
        defer { folder.remove() }
        let isPacked = how & 0x80 != 0
        let path = try folder.write(isPacked ? Self.gzip(text) : text, to: "trace")
        let isTrace = OpenXCTraceFile.isTrace(path)
        let file = try OpenXCTraceFile(path)
        var (lines, problem): ([TraceLineReader.Line], String?) = ([], nil)
        while true {
            let batch = file.next()
            lines += batch.lines
            problem = batch.problem ?? problem
            if batch.isLast { break }
        }
        if isPacked || !text.starts(with: [0x1F, 0x8B]) {
            try ensure(problem == nil, "\(problem ?? "")")
            try ensure(
                lines == Self.lines(of: text, pieces: max(text.count, 1)), "the file is another")
        }
        try ensure(!isTrace || !lines.isEmpty, "a trace without a line")
    }

    /// Plays the text: every wait ends in time, and without a deadline nothing is left to send.
    func play() throws {
        var options = TracePlayer.Options()
        options.pace =
            [.factor(1), .factor(0.01), .fixed(.milliseconds(20)), .maximum][
                Int(how & 0x03)]
        options.loops = how & 0x40 != 0
        var player = TracePlayer(options)
        let lines = Self.lines(of: text, pieces: max(text.count, 1))
        let expected = lines.count {
            if case .message = $0 { true } else { false }
        }
        player.feed(lines, isLast: true)
        var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
        var said = 0
        for _ in 0...expected {
            let output = player.advance(to: now)
            said += output.messages.count
            guard said < expected, let next = player.nextDeadline else { break }
            let longest = Int64(options.maximumGap * 100) + 1
            try ensure(
                next > now && next - now <= .seconds(longest), "it waits for \(next - now)")
            now = next
        }
        try ensure(said == expected, "\(said) messages of \(expected)")
        try ensure(
            options.loops && expected > 0 ? player.nextDeadline != nil : player.nextDeadline == nil,
            "the end is not the end")
    }

    /// One gzip member of stored blocks (RFC 1951, 3.2.4; RFC 1952, 2.3).
    private static func gzip(_ text: [UInt8]) -> [UInt8] {
        var packed: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        var rest = text[...]
        repeat {
            let block = rest.prefix(0xFFFF)
            rest = rest.dropFirst(block.count)
            packed.append(rest.isEmpty ? 1 : 0)
            let count = UInt16(block.count)
            for word in [count, ~count] { packed += [UInt8(word & 0xFF), UInt8(word >> 8)] }
            packed += block
        } while !rest.isEmpty
        let sum = UInt32(truncatingIfNeeded: crc32(0, text, UInt32(text.count)))
        for word in [sum, UInt32(text.count)] {
            packed += (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
        return packed
    }
}
