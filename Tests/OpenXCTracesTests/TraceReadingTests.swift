import CZlib
import Foundation
import NIOCore
import OpenXCProtocol
import RelayTesting
import Testing

@testable import OpenXCTraces

@Suite("Traces in OpenXC's own form") struct TraceReadingTests {
    /// The lines as text, such as "1: 12.5 vehicle_speed" or "3: bad", read in pieces of the given size.
    private static func read(_ text: String, pieces: Int = .max) -> [String] {
        var reader = TraceLineReader()
        var words: [String] = []
        func tell(_ line: TraceLineReader.Line) {
            switch line {
            case .message(let message, let time, let number):
                var name = "?"
                if case .measurement(let measurement) = message.content {
                    name = measurement.name
                }
                words.append("\(number): \(time.map { "\($0)" } ?? "–") \(name)")
            case .header(let number): words.append("\(number): header")
            case .bad(_, let number): words.append("\(number): bad")
            }
        }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
            while let line = reader.next() { tell(line) }
        }
        if let line = reader.finish() { tell(line) }
        return words
    }

    private static let speed = #"{"name":"vehicle_speed","value":1"#

    @Test("lines, CR LF, blank lines, and a last one without an end", arguments: [1, 7, 4096])
    func lines(pieces: Int) {
        let text =
            "\(Self.speed),\"timestamp\":10.5}\r\n\n\(Self.speed),\"timestamp\":11}\n\(Self.speed)}"
        #expect(
            Self.read(text, pieces: pieces)
                == ["1: 10.5 vehicle_speed", "3: 11.0 vehicle_speed", "4: – vehicle_speed"])
    }

    @Test("milliseconds, SD cards, the old form, and a first line about the trace")
    func forms() {
        #expect(
            Self.read("\(Self.speed),\"timestamp\":1332432977835}\n")
                == ["1: 1332432977.835 vehicle_speed"])
        // On SD cards, times are in milliseconds even if the clock was never set.
        #expect(
            Self.read("\(Self.speed),\"timestamp\":2500}\0\(Self.speed),\"timestamp\":2600}\0")
                == ["1: 2.5 vehicle_speed", "2: 2.6 vehicle_speed"])
        #expect(
            Self.read("1332432977.835: \(Self.speed)}\n") == ["1: 1332432977.835 vehicle_speed"])
        #expect(
            Self.read(#"{"metadata":{"version":"v3.0"}}"# + "\n\(Self.speed)}\n")
                == ["1: header", "2: – vehicle_speed"])
    }

    @Test("bad lines are told with their number, and the rest is read")
    func badLines() {
        let long = String(repeating: "x", count: TraceLineReader.maximumLineBytes + 1)
        let text =
            "rubbish\n\(Self.speed)}\n{\"name\":\n\(long)\n\(Self.speed)}\nabc: \(Self.speed)}\n"
        #expect(
            Self.read(text)
                == [
                    "1: bad", "2: – vehicle_speed", "3: bad", "4: bad", "5: – vehicle_speed",
                    "6: bad",
                ])
    }

    // MARK: Files

    private static func gzip(_ text: String) throws -> [UInt8] {
        let bytes = Array(text.utf8)
        var stream = z_stream()
        try #require(
            deflateInit2_(
                &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK)
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: bytes.count + 1000)
        input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                _ = deflate(&stream, Z_FINISH)
            }
        }
        return Array(output.prefix(Int(stream.total_out)))
    }

    private static func messages(_ path: String) throws -> (count: Int, problem: String?) {
        let file = try OpenXCTraceFile(path)
        var count = 0
        while true {
            let batch = file.next()
            for case .message in batch.lines { count += 1 }
            if batch.isLast { return (count, batch.problem) }
        }
    }

    @Test("a file that is compressed is read as the one before, also in several members")
    func compressed() async throws {
        let text = String(repeating: "\(Self.speed)}\n", count: 10_000)
        try await TemporaryDirectory.run { directory in
            let path = directory.file("drive.json.gz")
            let member = try Self.gzip(text)
            try Data(member + member).write(to: URL(fileURLWithPath: path))
            let read = try Self.messages(path)
            #expect(read.count == 20_000 && read.problem == nil)
            #expect(OpenXCTraceFile.isTrace(path))
            // Cut off: the part that is there is read, and the end is explained.
            try Data(member.dropLast(20)).write(to: URL(fileURLWithPath: path))
            let cut = try Self.messages(path)
            #expect(cut.count > 0 && cut.problem == "the compressed file is cut short")
            var damaged = member
            damaged[member.count / 2] ^= 0xFF
            try Data(damaged).write(to: URL(fileURLWithPath: path))
            #expect(try Self.messages(path).problem == "the compressed file is damaged")
        }
    }

    @Test("what can be unpacked of a file that is damaged soon is read, and it is a trace")
    func damagedSoon() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("drive.json.gz")
            // Lines that do not repeat, so that the damage is far after the first of them.
            let lines = (0..<400).map { #"{"name":"speed","value":\#($0 * 7919 % 977)}"# + "\n" }
            var bytes = try Self.gzip(lines.joined())
            bytes[bytes.count - 200] ^= 0xFF
            bytes[bytes.count - 199] ^= 0xFF
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            #expect(OpenXCTraceFile.isTrace(path))
            let read = try Self.messages(path)
            #expect(read.count > 100 && read.problem == "the compressed file is damaged")
        }
    }

    @Test("a file of which nothing is left when it is unpacked does not hold its reader")
    func nothingInside() async throws {
        try await TemporaryDirectory.run { directory in
            let empty = try Self.gzip("")
            let path = directory.file("empty.gz")
            let members = Array(repeatElement(empty, count: 200_000).joined())
            try Data(members).write(to: URL(fileURLWithPath: path))
            let file = try OpenXCTraceFile(path)
            var batches = 1
            while !file.next().isLast { batches += 1 }
            #expect(batches >= members.count / OpenXCTraceFile.batchBytes)
            #expect(!OpenXCTraceFile.isTrace(path))

            // A hole in the file after a member: much to read, nothing to unpack.
            let hole = directory.file("hole.gz")
            try Data(try Self.gzip("\(Self.speed)}\n")).write(to: URL(fileURLWithPath: hole))
            #expect(truncate(hole, 1 << 40) == 0)
            let messages = try Self.messages(hole)
            #expect(messages.count == 1)
            #expect(messages.problem == "64 MiB without a message: no trace from there on")
        }
    }

    @Test("what is no trace is not taken for one")
    func others() async throws {
        try await TemporaryDirectory.run { directory in
            let a = try directory.write("hello\n", to: "a")
            #expect(!OpenXCTraceFile.isTrace(a))
            let b = try directory.write("", to: "b")
            #expect(!OpenXCTraceFile.isTrace(b))
            let c = try directory.write("{\"a\":1}\n", to: "c")
            #expect(!OpenXCTraceFile.isTrace(c))
            #expect(!OpenXCTraceFile.isTrace(directory.path))
            #expect(!OpenXCTraceFile.isTrace(directory.file("absent")))
            let d = try directory.write("\(Self.speed)}\n", to: "d")
            #expect(OpenXCTraceFile.isTrace(d))
            // A recording of a vehicle interface contains its messages, even when it is compressed.
            let e = directory.file("e")
            try Data(try Self.gzip("\n\r\r\n\n\(Self.speed)}\n")).write(to: URL(fileURLWithPath: e))
            #expect(!OpenXCTraceFile.isTrace(e))
        }
        for name in ["driving-excerpt.json", "generated-all-types.json", "python-tests-trace.json"]
        {
            #expect(
                OpenXCTraceFile.isTrace(
                    Checkout.fixtures.appending(path: "openxc").appending(path: name).path))
        }
    }
}
