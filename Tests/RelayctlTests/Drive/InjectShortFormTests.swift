import ArgumentParser
import ControlAPI
import NIOCore
import SDLProtocol
import Testing

@testable import relayctl

@Suite("The short forms of relayctl inject")
struct InjectShortFormTests {
    @Test(
        "each is built from the specification as it stands",
        arguments: [
            ("press", ["OK"]), ("press", ["OK", "long"]), ("press", ["7"]),
            ("press", ["PRESET_1", "short"]),
            ("touch", ["400,240"]), ("hmi", ["FULL"]), ("hmi", ["limited"]),
            ("hmi", ["BACKGROUND"]),
            ("hmi", ["NONE"]),
            ("vehicle", ["speed=88", "gps.latitudeDegrees=42.3", "gps.longitudeDegrees=-83"]),
            ("driver-distraction", ["on"]), ("driver-distraction", ["off"]),
        ])
    func valid(name: String, arguments: [String]) throws {
        let words = try InjectShortForm.expand(name, arguments)
        #expect(!words.isEmpty)
        for said in words {
            let built = try RPCBuilder(.builtIn).build(
                .init(
                    said.rpc, type: .notification,
                    assignments: try said.set.map { try RPCAssignment($0) }), from: .accessory)
            #expect(built.type == .notification)
        }
    }

    @Test("a press is down, up and press, as head units say it")
    func press() throws {
        let words = try InjectShortForm.expand("press", ["7", "long"])
        #expect(words.map(\.rpc) == ["OnButtonEvent", "OnButtonEvent", "OnButtonPress"])
        #expect(
            words[2].set == [
                "buttonName=CUSTOM_BUTTON", "customButtonID=7", "buttonPressMode=LONG",
            ])
    }

    @Test(
        "what does not fit is told with an example",
        arguments: [
            ("press", [], "press OK"), ("press", ["OK", "twice"], "press BUTTON long"),
            ("touch", ["400"], "touch 400,240"), ("touch", ["4,5,6"], "touch 400,240"),
            ("touch", ["-1,5"], "touch 400,240"), ("hmi", ["HALF"], "one of FULL"),
            ("hmi", [], "one of FULL"), ("vehicle", [], "vehicle speed=88"),
            ("vehicle", ["speed"], "has no value"),
            ("driver-distraction", ["maybe"], "driver-distraction on"),
        ])
    func wrong(name: String, arguments: [String], words: String) {
        do {
            _ = try InjectShortForm.expand(name, arguments)
            Issue.record("\(name) \(arguments) was taken")
        } catch let error as ValidationError {
            #expect(error.message.contains(words), "\(error.message)")
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("a voice command is the app's")
    func voice() throws {
        let commands = [CommandReport(id: 4, spoken: ["play", "go on"])]
        #expect(
            try InjectShortForm.voice("Play", commands) == [
                .init(rpc: "OnCommand", set: ["cmdID=4", "triggerSource=VR"])
            ])
        let error = #expect(throws: ValidationError.self) {
            try InjectShortForm.voice("stop", commands)
        }
        #expect(error?.message.contains("\"play\", \"go on\"") == true)
        let none = #expect(throws: ValidationError.self) { try InjectShortForm.voice("stop", []) }
        #expect(none?.message.contains("it has added none") == true)
    }
}

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
