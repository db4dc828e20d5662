import SDLProtocol
import Testing

@testable import Media

@Suite("Files out of the traffic") struct MediaUploadTests {
    @Test("files of one and of several pieces, kept apart by app and name, in any order")
    func uploads() throws {
        var shelf = Shelf()
        shelf.register()
        shelf.register("Radio", session: 2)
        shelf.put("a.bin", #","offset":0,"length":6"#, [1, 2], 2)
        shelf.put("b.bin", [7], 3)
        shelf.put("a.bin", #","offset":0,"length":2"#, [8, 9], 4, session: 2)
        shelf.put("a.bin", #","offset":4,"length":2"#, [5, 6], 5)
        shelf.put("a.bin", #","offset":2,"length":2"#, [3, 4], 6)
        shelf.finish()
        #expect(
            shelf.files.map(\.item.fileName) == [
                "Navigation-b.bin", "Radio-a.bin", "Navigation-a.bin",
            ])
        #expect(shelf.files.map(\.bytes) == [[7], [8, 9], [1, 2, 3, 4, 5, 6]])
        #expect(shelf.files.allSatisfy { $0.summary.problems.isEmpty })
    }

    @Test("checksums, refusals, holes and second tries are told")
    func trouble() throws {
        var shelf = Shelf()
        shelf.register()
        let crc = CRC32.checksum(of: [1, 2, 3])
        shelf.put("right", #","crc":\#(crc)"#, [1, 2, 3], 2)
        shelf.put("wrong", #","crc":\#(crc)"#, [1, 2, 4], 3, answer: "CORRUPTED_DATA")
        shelf.put("half", #","offset":0,"length":9"#, [1, 2, 3], 4)
        shelf.put("half", #","offset":0,"length":9"#, [1, 2, 3], 5)
        shelf.put("half", #","offset":6,"length":3"#, [7, 8, 9], 6)
        shelf.put("far", #","offset":1999999999,"length":3"#, [7, 8, 9], 7)
        shelf.put("before", #","offset":-1"#, [7], 8)
        shelf.finish()
        func told(_ title: String) -> [MediaSummary] {
            shelf.files.filter { $0.item.title == title }.map(\.summary)
                + shelf.left.filter { $0.item.title == title }.map(\.summary)
        }
        #expect(told("right").map(\.isChecksumRight) == [true])
        #expect(told("right").first?.problems == [])
        #expect(told("wrong").map(\.isChecksumRight) == [false])
        #expect(
            told("wrong").first?.problems == [
                .wrongChecksum(pieces: 1), .refused("CORRUPTED_DATA"),
            ])
        #expect(
            told("half").map(\.problems) == [
                [.incomplete(missing: 3..<9, of: 9), .replaced],
                [.incomplete(missing: 3..<6, of: 9)],
            ])
        let tooLarge = MediaProblem.tooLarge(bytes: MediaLimits.maximumUploadBytes)
        #expect(told("far").first?.problems.contains(tooLarge) == true)
        #expect(told("before").first?.problems.contains(tooLarge) == true)
    }

    @Test("a file of few bytes does not reach far, and many of them not together")
    func extent() {
        var shelf = Shelf()
        shelf.register()
        shelf.put("far", #","offset":1999999999,"length":1"#, [1], 2)
        for number in 0..<64 {
            shelf.put("f\(number)", #","offset":16777216,"length":1"#, [1], Int32(number + 3))
        }
        shelf.finish()
        let bytes = shelf.files.map(\.summary.bytes)
        #expect(!bytes.isEmpty && bytes.reduce(0, +) <= MediaLimits.maximumHoleBytes + 64)
        let tooFar = MediaProblem.tooFarApart(bytes: MediaLimits.maximumHoleBytes)
        #expect(shelf.left.allSatisfy { $0.summary.problems == [tooFar] })
        #expect(shelf.left.contains { $0.item.title == "far" })
        // Pieces that arrive in reverse order leave no hole.
        var backwards = Shelf()
        backwards.register()
        for number in (0..<64).reversed() {
            backwards.put(
                "b", #","offset":\#(number * 300_000),"length":300000"#,
                [UInt8](repeating: 7, count: 300_000), Int32(number + 3))
        }
        backwards.finish()
        #expect(backwards.files.map(\.summary.bytes) == [19_200_000])
        #expect(backwards.files.first?.summary.problems == [])
    }

    @Test("names of apps and of their files cannot lead out of a folder")
    func names() {
        var shelf = Shelf()
        shelf.register(#"..\/..\/"#)
        shelf.put(#"..\/..\/etc\/passwd"#, [1], 2)
        shelf.put(#".\u0000\u202e.x"#, [1], 3)
        shelf.put(String(repeating: "n", count: 4096), [1], 4)
        shelf.put("", [1], 5)
        shelf.finish()
        let names = shelf.files.map(\.item.fileName)
        #expect(names.prefix(2) == ["app-etc-passwd", "app-x"])
        #expect(names.allSatisfy { $0.utf8.count <= MediaLimits.maximumNameBytes + 10 })
        #expect(names.allSatisfy { !$0.contains("/") && !$0.hasPrefix(".") })
        #expect(names.last == "app-file")
    }

    @Test("what was masked is not taken for what it was")
    func masked() {
        var shelf = Shelf()
        shelf.register()
        shelf.isBulkMasked = true
        shelf.put("a", [0, 0], 2)
        shelf.put("b", [0, 0], 3)
        shelf.finish()
        #expect(shelf.files.isEmpty)
        #expect(shelf.left.map(\.summary.problems) == [[.masked]])
    }

    @Test("pieces that lie apart are counted up to a limit")
    func scattered() {
        var ranges = ByteRanges()
        for number in 0..<MediaLimits.maximumUploadRanges {
            let isKept = ranges.insert(number * 10..<number * 10 + 5)
            #expect(isKept)
        }
        var isKept = ranges.insert(1_000_000..<1_000_001)
        #expect(!isKept)
        // A piece that joins two ranges needs no new one.
        isKept = ranges.insert(5..<10)
        #expect(isKept)
        #expect(ranges.ranges.first == 0..<15)
        #expect(ranges.firstHole(before: 30) == 15..<20)
        isKept = ranges.insert(0..<1_000_000)
        #expect(
            isKept && ranges.ranges == [0..<1_000_000] && ranges.firstHole(before: 1_000_000) == nil
        )
        #expect(ByteRanges().firstHole(before: 0) == nil)
        #expect(ByteRanges().firstHole(before: 3) == 0..<3)
    }
}
