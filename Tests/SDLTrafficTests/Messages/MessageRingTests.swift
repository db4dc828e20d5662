import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import SDLTraffic

@Suite struct MessageRingTests {
    /// Entries whose parameters have these sizes, cut from a much larger buffer.
    private func entries(_ sizes: [Int], decoder: inout TrafficDecoder) throws -> [TrafficEntry] {
        var wire = ByteBuffer()
        wire.reserveCapacity(1 << 17)
        for (index, size) in sizes.enumerated() {
            wire.writeImmutableBuffer(
                Frame.rpc(
                    version: 5, sessionID: 1, messageID: UInt32(index + 1), type: .request,
                    functionID: FunctionID.show.rawValue, correlationID: Int32(index),
                    json: #"{"mainField1":""# + String(repeating: "x", count: size) + #""}"#
                ).wire)
        }
        var cutter = FrameDecoder(rules: .fromApp(), recovery: .fail)
        cutter.append(wire)
        var frames: [TappedFrame] = []
        while let frame = try cutter.next() {
            frames.append(
                TappedFrame(
                    frame: frame, direction: .fromApp, app: AppID(rawValue: 1), time: .now()))
        }
        var entries: [TrafficEntry] = []
        decoder.receive(.frames(frames), into: &entries)
        return entries
    }

    @Test(
        "whatever comes, it stays within its bytes, keeps the newest, and counts what a reader lost",
        arguments: [1, 2, 3], [8000, 100_000])
    func randomLoads(seed: UInt64, maximum: Int) throws {
        var random = SeededGenerator(seed: seed)
        let ring = MessageRing(maximumBytes: maximum)
        var decoder = TrafficDecoder()
        var latest: UInt64 = 0
        var cursor: UInt64 = 0
        var (seen, missed) = (0, 0)
        for _ in 0..<30 {
            let sizes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Int.random(in: 0...3, using: &random) == 0
                    ? Int.random(in: 0...2000, using: &random) : 40
            }
            let batch = try entries(sizes, decoder: &decoder)
            ring.consume(batch)
            latest += UInt64(batch.count)
            #expect(ring.usage.bytes <= maximum && ring.latest == latest)
            if let range = ring.range {
                #expect(range.upperBound == latest)
                #expect(ring.usage.entries == range.count)
                #expect(ring.message(range.lowerBound)?.number == range.lowerBound)
                #expect(ring.message(range.lowerBound - 1) == nil)
            }
            // A reader that looks occasionally and takes only some messages.
            guard Int.random(in: 0...2, using: &random) == 0 else { continue }
            let reading = ring.messages(
                after: cursor, limit: Int.random(in: 0...60, using: &random))
            if let first = reading.entries.first {
                #expect(first.number == cursor + UInt64(reading.missed) + 1)
                #expect(reading.entries.map(\.number) == Array(first.number...reading.next))
            }
            seen += reading.entries.count
            missed += reading.missed
            cursor = reading.next
            #expect(UInt64(seen + missed) == cursor)
        }
        let rest = ring.messages(after: cursor, limit: .max)
        #expect(rest.next == latest)
        #expect(UInt64(seen + missed + rest.entries.count + rest.missed) == latest)
    }

    @Test("what is kept holds on to no read buffer, and to no bulk data")
    func detached() throws {
        let ring = MessageRing()
        var decoder = TrafficDecoder()
        let batch = try entries([100], decoder: &decoder)
        guard case .rpc(let original) = batch[0].content else { return }
        #expect(original.message.parameters.bytes.storageCapacity >= 1 << 17)
        ring.consume(batch)
        guard case .rpc(let kept)? = ring.message(1)?.content else {
            Issue.record("not kept")
            return
        }
        #expect(kept.message.parameters == original.message.parameters)
        #expect(kept.message.parameters.bytes.storageCapacity <= 256)

        var feed = TrafficFeed()
        feed.rpc(.fromApp, .request, .putFile, 1, bulk: ByteBuffer(repeating: 7, count: 100_000))
        guard case .rpc(let upload)? = feed.ring.message(1)?.content else {
            Issue.record("not kept")
            return
        }
        #expect(upload.message.bulkBytes == 100_000)
        #expect(upload.message.bulk.storageCapacity == 0)
        #expect(feed.ring.usage.bytes < 2000)
    }

    @Test(
        "kept entries read like those that were logged",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1"], TrafficFormat.allCases)
    func sameLines(capture: String, format: TrafficFormat) throws {
        let ring = MessageRing()
        let all = try Capture.entries(capture)
        ring.consume(all)
        let configuration = TrafficLog.Configuration(
            format: format, timeZone: .fixed(seconds: 0))
        var formatter = TrafficFormatter(configuration)
        let kept = ring.messages(after: 0, limit: .max).entries
        #expect(formatter.lines(kept).map(\.text) == formatter.lines(all).map(\.text))
    }

    @Test("a message too large to keep is kept without its parameters") func hugeMessage() throws {
        let ring = MessageRing(maximumBytes: 40_000)
        var decoder = TrafficDecoder()
        ring.consume(try entries([40, 20_000, 40], decoder: &decoder))
        #expect(ring.usage.entries == 3)
        var formatter = MessageFormatter(.json)
        var line = ByteBuffer()
        formatter.append(try #require(ring.message(2)), to: &line)
        #expect(String(buffer: line).contains(#""params_truncated":true"#))
    }

    @Test("what a head unit tells every app is kept once") func sharedDocuments() throws {
        let ring = MessageRing()
        var decoder = TrafficDecoder()
        ring.consume(try entries([20_000, 40, 30_000], decoder: &decoder))
        ring.consume(try entries([20_000, 40, 30_001], decoder: &decoder))
        func storage(_ number: UInt64) throws -> UnsafeRawPointer? {
            guard case .rpc(let rpc)? = ring.message(number)?.content else { return nil }
            return rpc.message.parameters.bytes.withUnsafeReadableBytes { $0.baseAddress }
        }
        #expect(try storage(1) != nil && storage(1) == storage(4))
        #expect(try storage(2) != storage(5), "small ones are not looked for")
        #expect(try storage(3) != storage(6))
    }

    @Test("a ring of no bytes keeps nothing and is no trouble") func off() async throws {
        var feed = TrafficFeed(ring: MessageRing(maximumBytes: 0))
        feed.tellStory()
        #expect(feed.ring.isOff && feed.ring.range == nil)
        #expect(feed.ring.messages(after: 0, limit: 10).entries.isEmpty)
        #expect(feed.ring.newest(10).entries.isEmpty && feed.ring.message(1) == nil)
    }

    @Test("whoever looks back takes so few segments at a time, and misses none between the looks")
    func looksBackInPieces() throws {
        let ring = MessageRing()
        var decoder = TrafficDecoder()
        let count = 2 * MessageRing.segmentsPerLook + 90
        // One entry each, so that each is a segment of its own.
        for _ in 0..<count { ring.consume(try entries([1], decoder: &decoder)) }
        #expect(ring.segments(before: .max).segments.count == MessageRing.segmentsPerLook)
        #expect(ring.segments(before: 3).segments.map(\.last) == [1, 2])
        #expect(ring.segments(before: 1).segments.isEmpty)
        #expect(ring.segments(before: 0).segments.isEmpty)
        let all = (1...UInt64(count)).map { $0 }
        for limit in [0, 1, 255, 256, 257, 512, 513, count - 1, count, count + 1, .max] {
            let expected = Array(all.suffix(limit))
            let reading = ring.newest(limit)
            #expect(reading.entries.map(\.number) == expected, "\(limit)")
            #expect(reading.next == UInt64(count))
            let cursor = ring.cursor(beforeNewest: limit, matching: .everything)
            let forwards = ring.messages(after: cursor, limit: .max)
            #expect(forwards.entries.map(\.number) == expected, "\(limit)")
        }
        let responses = MessageFilter(kinds: ["response"])
        #expect(ring.newest(10, matching: responses).entries.isEmpty)
        // However few messages match, each step looks at a bounded number.
        var look = LookBack(ring, 10, matching: responses)
        var steps = 0
        while look.step() { steps += 1 }
        #expect(steps == count)
        let some = ring.messages(after: 5, matching: responses, limit: 10, looks: 256)
        #expect(some.entries.isEmpty && some.next == 261 && !some.isAtEnd)
        #expect(ring.messages(after: UInt64(count) - 1, limit: 10, looks: 256).isAtEnd)
        var (reading, reads) = (MessageRing.Reading(next: 5), 1)
        while ring.read(on: &reading, matching: responses, limit: 10, looks: 100) { reads += 1 }
        #expect(reads == 6 && reading.isAtEnd && reading.next == UInt64(count))
        // The reading is the same in any number of pieces.
        for looks in [1, 3, 50, 1000] {
            var pieces = MessageRing.Reading(next: 5)
            while ring.read(on: &pieces, matching: .everything, limit: 50, looks: looks) {}
            #expect(pieces.entries.map(\.number) == Array(6...55), "\(looks)")
            #expect(pieces.next == 55 && !pieces.isAtEnd)
        }
        #expect(ring.cursor(beforeNewest: 10, matching: responses) == UInt64(count))
    }

    @Test("nothing is held before there is something to keep") func empty() {
        let ring = MessageRing(maximumBytes: 1 << 30)
        #expect(ring.usage == (0, 0) && ring.range == nil && ring.latest == 0)
        #expect(ring.response(to: 1) == nil)
        #expect(ring.instance.count == 16 && ring.instance != MessageRing().instance)
    }

    // MARK: Choosing

    private func numbers(_ filter: MessageFilter) -> [UInt64] {
        var feed = TrafficFeed()
        feed.tellStory()
        let forwards = feed.ring.messages(after: 0, matching: filter, limit: .max)
        #expect(forwards.next == 10)
        let newest = feed.ring.newest(2, matching: filter).entries.map(\.number)
        #expect(newest == forwards.entries.suffix(2).map(\.number))
        return forwards.entries.map(\.number)
    }

    @Test("readers choose by kind, function, app, failure, latency and time") func filters() throws
    {
        #expect(numbers(.everything) == Array(1...10))
        #expect(numbers(MessageFilter(kinds: ["request"])) == [1, 3, 5, 9])
        #expect(numbers(MessageFilter(kinds: ["notification", "event"])) == [7, 10])
        #expect(numbers(MessageFilter(slowerThan: 8_000_000)) == [2, 6])
        #expect(
            numbers(MessageFilter(traffic: try TrafficFilter(minimumPriority: .warning))) == [
                3, 4, 10,
            ]
        )
        #expect(
            numbers(MessageFilter(traffic: try TrafficFilter(functions: ["show"]))) == [3, 4, 10])
        #expect(
            numbers(
                MessageFilter(traffic: try TrafficFilter(apps: ["maps"]), kinds: ["request"]))
                == [9])
        let later = WallTime(nanoseconds: 1_795_257_067_000_000_000 + 100_000_000)
        #expect(numbers(MessageFilter(since: later)) == [6, 7, 8, 9, 10])
    }

    @Test("every kind of the JSON lines can be chosen") func kinds() throws {
        for entry in try Capture.entries("js-full-1") {
            #expect(MessageFilter.allKinds.contains(entry.content.kind))
        }
    }

    @Test("a request finds its response") func pairs() {
        var feed = TrafficFeed()
        feed.tellStory()
        #expect(feed.ring.response(to: 5)?.number == 6)
        #expect(feed.ring.response(to: 9) == nil && feed.ring.response(to: 99) == nil)
    }

    @Test("a cursor from another run begins at the beginning") func cursorBeyond() {
        var feed = TrafficFeed()
        feed.tellStory()
        #expect(feed.ring.messages(after: 11, limit: 1).entries.map(\.number) == [1])
        #expect(feed.ring.messages(after: 10, limit: 1).entries.isEmpty)
    }

    // MARK: Following

    @Test(
        "readers that follow see or are told of everything, at any speed", .timeLimit(.minutes(15)))
    func followers() async throws {
        let ring = MessageRing(maximumBytes: 40_000)
        let total = 3000
        try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for reader in 0..<3 {
                group.addTask {
                    let waiter = Waiter()
                    var (seen, missed) = (0, 0)
                    var cursor: UInt64 = 0
                    while cursor < total {
                        await ring.wait(waiter, after: cursor)
                        let reading = ring.messages(after: cursor, limit: 5 + 50 * reader)
                        seen += reading.entries.count
                        missed += reading.missed
                        cursor = reading.next
                        // The first is slow.
                        if reader == 0 { await Task.yield() }
                    }
                    return (seen, missed)
                }
            }
            var decoder = TrafficDecoder()
            for _ in 0..<(total / 50) {
                ring.consume(
                    try entries([Int](repeating: 30, count: 50), decoder: &decoder))
            }
            for try await (seen, missed) in group { #expect(seen + missed == total) }
        }
        #expect(ring.readers.count == 0)
    }

    @Test("a reader that waits is woken by the next entry, or by whoever it told")
    func waiting() async {
        var feed = TrafficFeed()
        feed.heartbeat()
        let ring = feed.ring
        let waiter = Waiter()
        await ring.wait(waiter, after: 0)
        async let woken: Void = ring.wait(waiter, after: 1)
        while ring.readers.count == 0 { await Task.yield() }
        feed.heartbeat()
        await woken
        async let other: Void = ring.wait(waiter, after: 2)
        while ring.readers.count == 0 { await Task.yield() }
        waiter.wake()
        await other
        #expect(ring.readers.count == 0)
        // Woken before it waits: it does not wait at all.
        waiter.wake()
        await ring.wait(waiter, after: 2)
    }

    @Test("a cancelled reader stops waiting") func cancelled() async {
        let ring = MessageRing()
        let reader = Task { await ring.wait(Waiter(), after: 0) }
        while ring.readers.count == 0 { await Task.yield() }
        reader.cancel()
        await reader.value
        #expect(ring.readers.count == 0)
    }
}
