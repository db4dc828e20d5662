// The file of a recording: its contents, and the disk space it takes.

import Foundation
import Glibc
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@testable import relayd

@Suite("Room on the disk ahead of a file")
struct RoomAheadTests {
    private static let step = RoomAhead.stepBytes
    private static let least = RoomAhead.leastBytes

    /// Returns the step of room that is asked for before a piece of this size; nil for none.
    private static func asks(_ room: inout RoomAhead, at start: Int, _ bytes: Int) -> Range<Int>? {
        let step = room.step(before: start..<start + bytes)
        if let step { room.asked(for: step, isRefused: false) }
        return step
    }

    @Test("is asked for in steps, once the file is no longer small")
    func steps() {
        var room = RoomAhead(limit: .max)
        #expect(Self.asks(&room, at: 0, 100) == nil)
        #expect(Self.asks(&room, at: Self.least - 1, 100_000) == nil)
        let first = Self.least..<Self.least + Self.step
        #expect(Self.asks(&room, at: Self.least, 100_000) == first)
        #expect(Self.asks(&room, at: Self.least + 100_000, 100_000) == nil)
        #expect(Self.asks(&room, at: first.upperBound - 100_000, 100_000) == nil)
        // A piece that reaches beyond the end of the room.
        #expect(
            Self.asks(&room, at: first.upperBound - 1, 100_000)
                == first.upperBound..<first.upperBound + Self.step)
    }

    @Test("of a file that is to end, nothing behind its end")
    func limit() {
        let limit = Self.least + 100_000
        var room = RoomAhead(limit: limit)
        #expect(Self.asks(&room, at: Self.least, 60_000) == Self.least..<limit)
        #expect(Self.asks(&room, at: Self.least + 60_000, 60_000) == nil)
        #expect(Self.asks(&room, at: limit + 20_000, 60_000) == nil)
    }

    @Test("is not asked for again where there is none")
    func refused() throws {
        var room = RoomAhead(limit: .max)
        let piece = Self.least..<Self.least + 100
        room.asked(for: try #require(room.step(before: piece)), isRefused: true)
        #expect(Self.asks(&room, at: Self.least + Self.step, Self.step) == nil)
    }
}

@Suite("The file of a recording")
struct RecordingFileTests {
    private static func new(
        in directory: TemporaryDirectory, limit: Int = .max
    ) throws -> RecordingFile {
        RecordingFile(try RecordingFolder(directory.path).create("a.pcapng"), limit: limit)
    }

    /// - Returns: The bytes in the file, and the bytes it occupies on disk.
    private static func size(_ path: String) throws -> (bytes: Int, occupied: Int) {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return (Int(status.st_size), Int(status.st_blocks) * 512)
    }

    @Test("reserves room while it grows, and gives back what it has not used")
    func room() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("a.pcapng")
            let piece = TraceBlocks(copyingBehind: ByteBuffer(repeating: 7, count: 1 << 20))
            try {
                var file = try Self.new(in: directory)
                try file.append(piece)
                #expect(try Self.size(path).bytes == 1 << 20)
                #expect(try Self.size(path).occupied < 2 << 20)
                try file.append(piece)
                #expect(try Self.size(path).bytes == 2 << 20)
                #expect(try Self.size(path).occupied >= RoomAhead.stepBytes)
            }()
            let (bytes, occupied) = try Self.size(path)
            #expect(bytes == 2 << 20 && occupied < 3 << 20)
        }
    }

    @Test("takes no more of the disk than it may become large")
    func limit() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("a.pcapng")
            var file = try Self.new(in: directory, limit: 3 << 20)
            let piece = TraceBlocks(copyingBehind: ByteBuffer(repeating: 7, count: 700_000))
            for _ in 0..<5 { try file.append(piece) }
            let (bytes, occupied) = try Self.size(path)
            #expect(bytes == 3_500_000 && occupied < 4 << 20)
            #expect(file.bytes == bytes)
        }
    }

    @Test("holds what was lent at its place, however it was cut into writes")
    func gathers() async throws {
        try await TemporaryDirectory.run { directory in
            var file = try Self.new(in: directory)
            var encoder = TraceEncoder(
                TraceHeader(program: "relayd", accessory: "sim:", started: ""))
            var expected = encoder
            var blocks = TraceBlocks()
            var bytes = ByteBuffer()
            let time = WallTime(nanoseconds: 1)
            encoder.begin(started: "", at: time, into: &blocks)
            expected.begin(started: "", at: time, into: &bytes)
            for round in 0..<3 {
                for number in 0..<100 as Range<UInt32> {
                    let frame = TappedFrame(
                        frame: .data(
                            session: 1, message: number,
                            bytes: number % 3 == 0 ? 20 : 9000 + Int(number),
                            filledWith: UInt8(number)),
                        direction: .fromApp, app: nil, time: time)
                    encoder.append(.frames([frame]), at: time, into: &blocks)
                    expected.append(.frames([frame]), at: time, into: &bytes)
                }
                #expect(blocks.count > 512 << 10, "several pieces at once")
                try file.append(blocks)
                blocks.clear()
                #expect(blocks.count == 0, "round \(round)")
            }
            #expect(file.bytes == bytes.readableBytes)
            let found = try Data(contentsOf: URL(filePath: directory.file("a.pcapng")))
            #expect(found == Data(bytes.readableBytesView))
        }
    }

    /// A pcapng block of this type and size.
    private static func block(_ type: UInt32, bytes: Int) -> ByteBuffer {
        var block = ByteBuffer()
        block.writeInteger(type, endianness: .little)
        block.writeInteger(UInt32(bytes), endianness: .little)
        block.writeRepeatingByte(7, count: bytes - 12)
        block.writeInteger(UInt32(bytes), endianness: .little)
        return block
    }

    /// A non-blocking pipe that is not read accepts some of the data and then no more.
    @Test("ends behind the last block that fitted, when it may not grow any more")
    func fits() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        try #require(fcntl(writing, F_SETFL, O_NONBLOCK) == 0)
        var file = RecordingFile(path: "/nowhere/pipe", descriptor: writing)
        try file.append(TraceBlocks(copyingBehind: Self.block(10, bytes: 128)))
        var blocks = ByteBuffer()
        for _ in 0..<2000 { blocks.writeImmutableBuffer(Self.block(6, bytes: 1000)) }
        let error = #expect(throws: RecordingFailure.self) {
            try file.append(TraceBlocks(copyingBehind: blocks))
        }
        #expect(error?.description.hasPrefix("/nowhere/pipe cannot be written") == true)
        var taken = [UInt8](repeating: 0, count: 2_000_000)
        let count = read(reading, &taken, taken.count)
        #expect(file.bytes > 128 && (file.bytes - 128) % 1000 == 0)
        #expect(file.bytes..<file.bytes + 1000 ~= count, "\(count) were taken")
    }
}
