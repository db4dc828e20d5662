import DecodedTraces
import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@testable import relayctl

@Suite("relayctl trace merge") struct TraceMergeTests {
    private func merge(
        _ files: [String: ByteBuffer]
    ) async throws -> (code: Int32, lines: [String], error: String) {
        var result: (Int32, [String], String) = (0, [], "")
        try await TraceSamples.run(
            ["trace", "merge"] + files.keys.sorted() + ["-o", "@merged.pcapng"], on: files
        ) { code, _, error, directory in
            let lines =
                code == 0 ? try TraceCutTests.messages(directory.file("merged.pcapng")) : []
            result = (code, lines, error)
        }
        return result
    }

    /// The items recorded in two files, the first and the second half, which overlap by this many items.
    private func files(_ items: [TapItem], overlap: Int) -> [String: ByteBuffer] {
        let half = items.count / 2
        var whole = TraceEncoder(TraceSamples.header())
        var late = TraceEncoder(TraceSamples.header())
        var (first, second, unused) = (ByteBuffer(), ByteBuffer(), ByteBuffer())
        for (index, item) in items.enumerated() {
            let time = item.time ?? TwoApps.at(0)
            if index == 0 { whole.begin(started: "", at: time, into: &first) }
            if index == half - overlap { late.begin(started: "", at: time, into: &second) }
            if index < half { whole.append(item, at: time, into: &first) }
            if index < half - overlap {
                late.append(item, at: time, into: &unused)
            } else {
                late.append(item, at: time, into: &second)
            }
        }
        return ["a.pcapng": second, "b.pcapng": first]
    }

    @Test("cut and merge keep records of a later version byte for byte, anonymise their names only")
    func later() async throws {
        let json = #"{"place":{"lat":48.1},"app":1,"record":"position","z":[1,2]}"#
        let later = try TraceRecord(json: ByteBuffer(string: json))
        let items = TwoApps.usual().items
        let bytes = TraceSamples.bytes(items, notes: [(later, TwoApps.at(15))])
        func records(_ arguments: String...) async throws -> [String] {
            var found: [String] = []
            try await TraceSamples.run(
                ["trace"] + arguments + ["-o", "@new.pcapng"], on: ["a.pcapng": bytes]
            ) { code, _, error, directory in
                #expect(code == 0, "\(error)")
                var files = TraceFiles([directory.file("new.pcapng")])
                while let entry = try files.nextEntry() {
                    guard case .record(let record) = entry.content, case .other = record else {
                        continue
                    }
                    #expect(entry.app == TwoApps.radio && entry.time == TwoApps.at(15))
                    found.append(String(buffer: record.json))
                }
            }
            return found
        }
        #expect(try await records("merge", "a.pcapng", "a.pcapng") == [json])
        #expect(try await records("cut", "a.pcapng", "--app", "Radio") == [json])
        #expect(try await records("cut", "a.pcapng", "--app", "Map") == [])
        #expect(try await records("cut", "a.pcapng", "--from", "+25s") == [])
        #expect(
            try await records("anonymise", "a.pcapng") == [#"{"app":1,"record":"position"}"#])
    }

    @Test("files of a ring, and recordings that overlap, make the whole", arguments: [0, 1, 4, 7])
    func whole(overlap: Int) async throws {
        let items = TwoApps.usual().items
        let alone = try await merge([
            "a.pcapng": TraceSamples.bytes(items), "b.pcapng": TraceSamples.bytes(items),
        ])
        #expect(alone.code == 0 && alone.lines.count == items.count)
        let merged = try await merge(files(items, overlap: overlap))
        #expect(merged.lines == alone.lines, "\(merged.error)")
    }

    @Test("traces of two relayds at the same time are refused") func two() async throws {
        var other = TwoApps()
        other.add(.appConnected(TwoApps.radio, peer: "10.0.0.1:5", time: TwoApps.at(3)))
        let merged = try await merge([
            "a.pcapng": TraceSamples.bytes(TwoApps.usual().items),
            "b.pcapng": TraceSamples.bytes(other.items),
        ])
        #expect(merged.code == 3 && merged.error.contains("are of two relayds"))
    }

    @Test("one trace is nothing to merge") func one() async throws {
        let merged = try await merge(["a.pcapng": try TraceSamples.bytes("js-killed-1")])
        #expect(merged.code == 64 && merged.error.contains("1 trace to merge; expected 2 to 256"))
    }
}
