import ArgumentParser
import ControlAPI
import NIOCore
import SDLProtocol
import Testing

@testable import relayctl

@Suite("A file is sent by PutFile in pieces")
struct FileUploadTests {
    private let request = DriveRequest(
        rpc: "PutFile", set: ["syncFileName=a", "fileType=BINARY"])

    @Test(
        "each piece has its place and its checksum; together they are the file",
        arguments: [1, 10, 11, 25, 30])
    func pieces(count: Int) throws {
        let bytes = (0..<count).map { UInt8($0 &* 7 & 0xFF) }
        let upload = try FileUpload(bytes, request, pieceBytes: 10)
        var whole: [UInt8] = []
        for piece in upload.pieces {
            let bulk = try #require(piece.bulk)
            let data = try #require(Base64.decoded(bulk))
            let set = try #require(piece.set)
            #expect(set.contains("crc=\(CRC32.checksum(of: data))"))
            if count > 10 {
                #expect(set.contains("offset=\(whole.count)"))
                #expect(set.contains("length=\(whole.isEmpty ? count : data.count)"))
            } else {
                #expect(!set.contains { $0.hasPrefix("offset=") })
            }
            whole += data
        }
        #expect(whole == bytes)
    }

    @Test("what somebody says of offset, length or checksum counts; an empty file is none")
    func given() throws {
        var request = request
        request.set?.append("crc=1")
        let upload = try FileUpload([1, 2, 3], request)
        #expect(upload.pieces[0].set?.filter { $0.hasPrefix("crc") } == ["crc=1"])
        #expect(throws: ValidationError.self) { try FileUpload([], request) }
    }
}
