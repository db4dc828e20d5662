// Files that are not traces, are damaged, or are made to do harm.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Traces

@Suite("Hostile traces")
struct HostileTraceTests {
    private let whole: ByteBuffer

    init() throws {
        whole = Made.trace(Array(try Capture.items("js-killed-1").prefix(12)))
    }

    @Test("cut anywhere, all whole packets before the cut are read, and nothing is wrong")
    func cut() throws {
        let all = try Made.entries(whole).map(\.summary)
        for count in stride(from: 0, to: whole.readableBytes, by: Effort.isFull ? 7 : 61) {
            let piece = try #require(whole.getSlice(at: whole.readerIndex, length: count))
            let found = try Made.entries(piece).map(\.summary)
            #expect(found == Array(all.prefix(found.count)))
        }
    }

    @Test("bytes changed at random are read, or refused with words")
    func mutated() throws {
        var random = SeededGenerator(seed: 16)
        for _ in 0..<1000 {
            var copy = whole
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                copy.setInteger(
                    UInt8.random(in: 0...255, using: &random),
                    at: Int.random(in: 0..<copy.writerIndex, using: &random))
            }
            do throws(TraceError) {
                _ = try Made.entries(copy)
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }

    @Test(
        "what else people have at hand is named",
        arguments: [
            ([0xD4, 0xC3, 0xB2, 0xA1, 0, 0], "older pcap"), ([0x1F, 0x8B, 8, 0, 0, 0], "gzip"),
            ([0x7B, 0x22, 0x61, 0x22], "begins with 7B 22 61 22"), ([0x47], "begins with 47"),
        ] as [([UInt8], String)])
    func others(bytes: [UInt8], word: String) throws {
        let error = #expect(throws: TraceError.self) {
            try Made.entries(ByteBuffer(bytes: bytes))
        }
        #expect(error?.description.contains(word) == true, "\(String(describing: error))")
    }

    @Test("lengths that cannot be are refused at once, without waiting for so many bytes")
    func lengths() throws {
        let start = whole.readerIndex
        for length in [0, 4, 13, 0x8000_0000, .max] as [UInt32] {
            var copy = whole
            copy.setInteger(length, at: start + 4, endianness: .little)
            let error = #expect(throws: TraceError.self) { try Made.entries(copy) }
            #expect(error?.description.contains("\(length) bytes") == true)
        }
    }

    @Test("a packet longer than its block, and one of an interface that is not described")
    func packets() throws {
        var blocks = TraceBlocks()
        PcapngWriter.append(PcapngSection(), to: &blocks)
        PcapngWriter.append(PcapngInterface(linkType: ExportedPDU.linkType), to: &blocks)
        let packet = blocks.count
        PcapngWriter.packet(
            interface: 0, nanoseconds: 1, direction: .inbound, head: ExportedPDU.frame,
            bytes: Frame.data(session: 1, bytes: 4).wire, to: &blocks)
        let block = blocks.joined
        var long = block
        long.setInteger(UInt32.max, at: packet + 20, endianness: .little)
        #expect(throws: TraceError.self) { try Made.entries(long) }
        var strange = block
        strange.setInteger(UInt32(7), at: packet + 8, endianness: .little)
        #expect(throws: TraceError.noInterface(7)) { try Made.entries(strange) }
    }

    /// A file of one packet.
    private static func packet(_ direction: PcapngDirection) -> ByteBuffer {
        var file = TraceBlocks()
        PcapngWriter.append(PcapngSection(), to: &file)
        PcapngWriter.append(PcapngInterface(linkType: ExportedPDU.linkType), to: &file)
        PcapngWriter.packet(
            interface: 0, nanoseconds: 1, direction: direction, head: ExportedPDU.frame,
            bytes: Frame.data(session: 1, bytes: 4).wire, to: &file)
        return file.joined
    }

    @Test("a trace whose first packet another tool has cut away is read, and said to be one")
    func noBeginning() throws {
        var reader = TraceReader()
        reader.append(Self.packet(.inbound))
        #expect(try reader.next() != nil)
        #expect(try reader.next() == nil)
        #expect(throws: TraceError.noBeginning) { try reader.finish() }
    }

    @Test("a frame that does not say who sent it is nobody's")
    func noDirection() {
        #expect(throws: TraceError.noDirection) { try Made.entries(Self.packet(.unknown)) }
    }

    @Test("a later version is refused, and says what to do")
    func later() {
        let error = #expect(throws: TraceError.self) {
            try Made.entries(Made.trace([]) { $0.version = 2 })
        }
        #expect(error == .newer(version: 2))
    }

    @Test("a file of another program has no trace in it")
    func foreign() throws {
        var section = PcapngSection()
        section.application = "dumpcap"
        var blocks = TraceBlocks()
        PcapngWriter.append(section, to: &blocks)
        var reader = TraceReader()
        reader.append(blocks.joined)
        #expect(try reader.next() == nil)
        #expect(throws: TraceError.notATrace(application: "dumpcap")) { try reader.finish() }
    }
}
