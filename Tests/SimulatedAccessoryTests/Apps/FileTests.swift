import NIOCore
import SDLProtocol
import SimulatedAccessory
import Testing

@Suite struct FileTests {
    private func put(_ name: String, more: String = "") -> String {
        #"{"syncFileName":"\#(name)","fileType":"GRAPHIC_PNG"\#(more)}"#
    }

    @Test("a file on the bulk service is stored, listed and deleted")
    func storesFile() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        // {"syncFileName":"icon","fileType":"GRAPHIC_PNG","offset":0,"length":8} and 8 bytes.
        let frames = try link.says(
            hex: """
                51 0f 00 01  0000005a  00000009
                00000020 00000009 00000046
                7b2273796e6346696c654e616d65223a2269636f6e222c2266696c6554797065223a2247524150
                4849435f504e47222c226f6666736574223a302c226c656e677468223a387d
                89504e470d0a1a0a
                """)
        let stored = try #require(answers(frames).first)
        #expect(stored.function == .putFile && stored.result == "SUCCESS")
        #expect(stored.info == "File was downloaded")
        #expect(stored.parameters.integer("spaceAvailable") == 104_857_592)
        let list = try #require(link.requests(.listFiles).first)
        let names = try #require(list.parameters.array("filenames"))
        #expect(names.elements.compactMap(names.string) == ["icon"])
        let icon = #"{"syncFileName":"icon"}"#
        #expect(link.requests(.setAppIcon, icon).map(\.result) == ["SUCCESS"])
        #expect(link.requests(.deleteFile, icon).map(\.result) == ["SUCCESS"])
        let none = try #require(link.requests(.listFiles).first)
        #expect(none.parameters.value("filenames") == nil, "as sdl_core says that there are none")
        #expect(link.requests(.deleteFile, icon).map(\.result) == ["REJECTED"])
        #expect(link.requests(.setAppIcon, icon).map(\.result) == ["INVALID_DATA"])
    }

    @Test("a file in chunks is listed when it is whole; a wrong offset is refused")
    func chunks() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        func listed() -> Int {
            link.requests(.listFiles).first?.parameters.array("filenames")?.elements.count ?? 0
        }
        let chunk = [UInt8](repeating: 7, count: 100)
        let first = put("big", more: #","offset":0,"length":200"#)
        let next = put("big", more: #","offset":100,"length":100"#)
        #expect(link.requests(.putFile, next, bulk: chunk).map(\.result) == ["INVALID_DATA"])
        #expect(link.requests(.putFile, first, bulk: chunk).map(\.result) == ["SUCCESS"])
        #expect(listed() == 0)
        #expect(link.requests(.putFile, next, bulk: chunk).map(\.result) == ["SUCCESS"])
        #expect(listed() == 1)
    }

    @Test("a wrong checksum, no bulk data and names with a path are refused")
    func refusals() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        let text = Array("123456789".utf8)
        // The check value of CRC-32/IEEE.
        let right = put("f", more: #","crc":3421780262"#)
        let wrong = put("f", more: #","crc":3421780263"#)
        #expect(link.requests(.putFile, right, bulk: text).map(\.result) == ["SUCCESS"])
        #expect(link.requests(.putFile, wrong, bulk: text).map(\.result) == ["CORRUPTED_DATA"])
        #expect(link.requests(.putFile, put("f")).map(\.result) == ["INVALID_DATA"])
        #expect(
            link.requests(.putFile, put("../f"), bulk: text).map(\.result) == ["INVALID_DATA"])
    }

    @Test("temporary files go with the registration, persistent ones stay")
    func persistence() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        _ = link.requests(.putFile, put("temporary"), bulk: [1])
        _ = link.requests(
            .putFile, put("persistent", more: #","persistentFile":true"#), bulk: [1])
        _ = link.requests(.unregisterAppInterface)
        _ = link.requests(.registerAppInterface, registration("A", appID: "1"))
        let names = try #require(link.requests(.listFiles).first?.parameters.array("filenames"))
        #expect(names.elements.compactMap(names.string) == ["persistent"])
    }

    @Test("what an app stores is bounded: the length of a name, and the number of files")
    func bounds() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        let longest = String(repeating: "n", count: 255)
        #expect(link.requests(.putFile, put(longest), bulk: [1]).map(\.result) == ["SUCCESS"])
        for length in [256, 8 << 20] {
            let name = String(repeating: "n", count: length)
            let answers = link.requests(.putFile, put(name), bulk: [1])
            #expect(answers.map(\.result) == ["INVALID_DATA"])
        }
        for number in 1..<1000 {
            let answers = link.requests(.putFile, put("file \(number)"), bulk: [1])
            try #require(answers.map(\.result) == ["SUCCESS"])
        }
        let full = try #require(link.requests(.putFile, put("one more"), bulk: [1]).first)
        #expect(full.result == "OUT_OF_MEMORY")
        #expect(full.parameters.string("info") == "1000 files are already stored")
        let again = link.requests(.putFile, put("file 1"), bulk: [1])
        #expect(again.map(\.result) == ["SUCCESS"], "one that is there may be replaced")
    }

    @Test("files of the app that has been away longest make room for those of others")
    func stores() throws {
        var link = try PaperLink()
        _ = try link.opensSession()
        func names(_ link: inout PaperLink, of app: Int) throws -> [String] {
            _ = link.requests(.registerAppInterface, registration("App \(app)", appID: "\(app)"))
            let list = try #require(link.requests(.listFiles).first)
            _ = link.requests(.unregisterAppInterface)
            guard let names = list.parameters.array("filenames") else { return [] }
            return names.elements.compactMap(names.string)
        }
        for app in 0..<320 {
            _ = link.requests(.registerAppInterface, registration("App \(app)", appID: "\(app)"))
            let answers = link.requests(
                .putFile, put("logo", more: #","persistentFile":true"#), bulk: [1])
            try #require(answers.map(\.result) == ["SUCCESS"])
            _ = link.requests(.unregisterAppInterface)
            _ = link.passes(.seconds(1))
        }
        #expect(try names(&link, of: 0) == [])
        #expect(try names(&link, of: 19) == [])
        #expect(try names(&link, of: 20) == ["logo"])
        #expect(try names(&link, of: 319) == ["logo"])
    }

    @Test("a file in a multi-frame message arrives whole; one that lacks a frame is dropped")
    func multiFrame() throws {
        var link = try PaperLink()
        _ = try link.registers("A", appID: "1")
        let json = put("video")
        var message = ByteBuffer()
        RPCHeader(
            type: .request, functionID: FunctionID.putFile.rawValue, correlationID: 3,
            jsonBytes: json.utf8.count
        ).write(to: &message)
        message.writeString(json)
        message.writeRepeatingByte(0x55, count: 300 * 100)
        // More than 255 consecutive frames, so that the counter wraps from 255 to 1.
        let frames = multiFrame(message, sliceBytes: 100, messageID: 5)
        #expect(frames.count > 257)
        let heard = frames.flatMap { link.says($0) }
        #expect(answers(heard).map(\.result) == ["SUCCESS"])

        var gap = multiFrame(message, sliceBytes: 100, messageID: 6)
        gap.remove(at: 20)
        #expect(gap.flatMap { link.says($0) }.isEmpty)
        #expect(link.accessory.counters.malformedMessages > 0)
    }

    private func multiFrame(_ message: ByteBuffer, sliceBytes: Int, messageID: UInt32) -> [Frame] {
        let count = (message.readableBytes + sliceBytes - 1) / sliceBytes
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(message.readableBytes))
        announcement.writeInteger(UInt32(count))
        var rest = message
        return [
            Frame(
                version: 5, type: .first, service: .bulk, sessionID: 1, messageID: messageID,
                payload: announcement)
        ]
            + (1...count).map { index in
                Frame(
                    version: 5, type: .consecutive, service: .bulk,
                    info: index == count ? 0 : UInt8((index - 1) % 255 + 1), sessionID: 1,
                    messageID: messageID,
                    payload: rest.readSlice(length: min(sliceBytes, rest.readableBytes))
                        ?? ByteBuffer())
            }
    }
}
