// The later files of a ring, each read without the others.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Traces

@Suite("A later file of a recording can be read by itself")
struct RingFileTests {
    /// A recorded session whose second half is in a file of its own.
    private static func ring(
        _ masked: [String] = []
    ) throws -> (first: [TraceEntry], second: [TraceEntry], items: [TapItem]) {
        let items = try Capture.items("js-full-1")
        var encoder = TraceEncoder(Made.header { $0.masked = masked }, isSeveral: true)
        var files = [ByteBuffer(), ByteBuffer()]
        encoder.begin(started: Made.started, at: Made.start, into: &files[0])
        let half = items.count / 2
        for item in items[..<half] { encoder.append(item, at: Made.start, into: &files[0]) }
        encoder.end(because: "the next file follows", at: Made.start, into: &files[0])
        encoder.begin(started: Made.started, at: Made.start, into: &files[1])
        for item in items[half...] { encoder.append(item, at: Made.start, into: &files[1]) }
        encoder.end(because: "stopped", at: Made.start, into: &files[1])
        return (try Made.entries(files[0]), try Made.entries(files[1]), items)
    }

    private static func frames(_ entries: [TraceEntry]) -> [TappedFrame] {
        entries.compactMap(\.frame)
    }

    @Test("it begins with grants and registrations, as they were, and counts none of them")
    func begins() throws {
        let (first, second, items) = try Self.ring()
        let earlier = Self.frames(second).filter(\.isEarlier)
        #expect(earlier.contains { $0.grant == .opens })
        let registered = earlier.filter {
            $0.frame.type != .control
                && RPCHeader($0.frame.payload)?.functionID
                    == FunctionID.registerAppInterface.rawValue
        }
        #expect(registered.map(\.direction) == [.fromApp, .fromAccessory])
        // Each is also in the first file, and comes before everything else.
        let told = Set(first.map(\.summary))
        #expect(
            second.allSatisfy { entry in
                guard var tapped = entry.frame, tapped.isEarlier else { return true }
                tapped.isEarlier = false
                return told.contains(
                    TraceEntry(
                        time: entry.time, content: .frame(tapped, omitted: 0, isMasked: false)
                    ).summary)
            })
        #expect(!Self.frames(second).drop { $0.isEarlier }.contains { $0.isEarlier })
        #expect(!Self.frames(first).contains { $0.isEarlier })
        let all = Self.frames(first + second).filter { !$0.isEarlier }
        let passed = items.reduce(0) {
            if case .frames(let frames) = $1 { $0 + frames.count } else { $0 }
        }
        #expect(all.count == passed)
        guard case .record(.end(let end)) = second.last?.content else {
            Issue.record("it has no end")
            return
        }
        #expect(end.frames == all.count - Self.frames(first).count)
    }

    @Test("what is masked in the first file is masked there")
    func masked() throws {
        let (_, second, _) = try Self.ring(["appName"])
        let registration = try #require(
            second.first {
                $0.frame?.isEarlier == true && $0.frame?.frame.type == .single
                    && $0.frame?.direction == .fromApp
            })
        guard case .frame(let tapped, _, let isMasked) = registration.content else { return }
        #expect(isMasked)
        let text = String(decoding: tapped.frame.payload.readableBytesView, as: UTF8.self)
        #expect(text.contains(#""appName":"xxx"#))
    }

    @Test("a trace that is written from it says the same")
    func written() throws {
        let (_, second, _) = try Self.ring()
        var writer = TraceWriter(Made.header())
        var buffer = ByteBuffer()
        writer.begin(at: Made.start, into: &buffer)
        for entry in second { writer.append(entry, into: &buffer) }
        let again = try Made.entries(buffer)
        #expect(
            Self.frames(again).filter(\.isEarlier).count
                == Self.frames(second).filter(\.isEarlier).count)
        #expect(writer.sum.frames == Self.frames(second).filter { !$0.isEarlier }.count)
    }
}
