// What is overwritten before a trace is written, and what is not.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Traces

@Suite("Values that are overwritten")
struct TraceMaskTests {
    private static func masked(_ json: String, _ names: [String]) throws -> String {
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 7, type: .notification, functionID: 32769,
            correlationID: 0, json: json)
        let entries = try Made.entries(
            Made.trace([
                .frames([
                    TappedFrame(
                        frame: frame, direction: .fromAccessory, app: AppID(rawValue: 1),
                        time: Made.start)
                ])
            ]) { $0.masked = names })
        guard case .frame(let tapped, _, let isMasked) = entries[entries.count - 2].content else {
            return ""
        }
        let payload = tapped.frame.payload
        let text = String(
            buffer: payload.getSlice(at: payload.readerIndex + 12, length: json.utf8.count)!)
        #expect(isMasked == (text != json))
        return text
    }

    @Test(
        "as the page says",
        arguments: [
            (#"{"vin":"1HGBH41J","rpm":42}"#, #"{"vin":"xxxxxxxx","rpm":42}"#),
            (#"{"rpm":42,"vin" : "12"}"#, #"{"rpm":42,"vin" : "xx"}"#),
            (#"{"VIN":-12.5e3}"#, #"{"VIN":-11.1e1}"#),
            (
                #"{"vin":{"a":[1,{"b":"c"}],"d":false},"e":false}"#,
                #"{"vin":{"a":[1,{"b":"x"}],"d":true },"e":false}"#
            ),
            (
                #"{"vin":[true,false,null,"a\"b"],"vim":"1"}"#,
                #"{"vin":[true,true ,null,"xxxx"],"vim":"1"}"#
            ),
            (#"{"a":{"vin":"1"},"b":["vin","2"]}"#, #"{"a":{"vin":"x"},"b":["vin","2"]}"#),
            (#"{"v\u0069n":"1","vi":"2"}"#, #"{"v\u0069n":"x","vi":"2"}"#),
            (#"{"vin":"ü😀"}"#, #"{"vin":"xxxxxx"}"#),
            (#"{"x":"vin","vin":"","y":"\\"}"#, #"{"x":"vin","vin":"","y":"\\"}"#),
        ])
    func table(json: String, expected: String) throws {
        #expect(try Self.masked(json, ["vin"]) == expected)
    }

    @Test("a message cut into frames anywhere is overwritten as a whole one is")
    func cut() throws {
        let json = #"{"a":1,"vin":{"b":["x\"12",true,-3.5]},"c":"d"}"#
        let expected = try Self.masked(json, ["vin"])
        var message = ByteBuffer()
        RPCHeader(type: .request, functionID: 32, correlationID: 9, jsonBytes: json.utf8.count)
            .write(to: &message)
        message.writeString(json)
        message.writeString("bulk")
        for size in 1...message.readableBytes {
            var mask = TraceMask(["vin", "bulk"])
            var rest = message
            var result = ByteBuffer()
            var number: UInt8 = 0
            let first = Frame(
                version: 5, type: .first, service: .rpc, sessionID: 1, messageID: 7,
                payload: ByteBuffer(repeating: 0, count: 8))
            var firstWire = first.wire
            _ = mask.cover(&firstWire, Self.tapped(first))
            while let piece = rest.readSlice(length: min(size, rest.readableBytes)),
                piece.readableBytes > 0
            {
                number += 1
                let frame = Frame(
                    version: 5, type: .consecutive, service: .rpc,
                    info: rest.readableBytes == 0 ? 0 : number, sessionID: 1, messageID: 7,
                    payload: piece)
                var wire = frame.wire
                _ = mask.cover(&wire, Self.tapped(frame))
                wire.moveReaderIndex(forwardBy: 12)
                result.writeImmutableBuffer(wire)
            }
            result.moveReaderIndex(forwardBy: 12)
            #expect(String(buffer: result) == expected + "\0\0\0\0", "frames of \(size)")
        }
    }

    @Test("the middle of a message whose beginning was not seen is overwritten whole")
    func blind() {
        var mask = TraceMask(["vin"])
        let frame = Frame(
            version: 5, type: .consecutive, service: .rpc, info: 3, sessionID: 1, messageID: 7,
            payload: ByteBuffer(string: "1HGBH"))
        var wire = frame.wire
        #expect(mask.cover(&wire, Self.tapped(frame)))
        #expect(wire.readableBytesView.suffix(5).allSatisfy { $0 == 0 })
    }

    @Test("what is encrypted stays, and so do audio, video and a control frame that has none of it")
    func others() {
        var mask = TraceMask(["vin", "bulk"])
        let payload = ByteBuffer(string: #"{"vin":"1"}"#)
        for frame in [
            Frame(
                version: 5, isEncrypted: true, type: .single, service: .rpc, sessionID: 1,
                messageID: 7, payload: payload),
            Frame(
                version: 5, type: .single, service: .video, sessionID: 1, messageID: 7,
                payload: payload),
            .startServiceACK(session: 1),
        ] {
            var wire = frame.wire
            #expect(!mask.cover(&wire, Self.tapped(frame)) && wire == frame.wire)
        }
    }

    @Test("a token in a control frame, which is BSON, is overwritten where it lies")
    func control() throws {
        let document: BSONDocument = [
            "protocolVersion": .string("5.4.0"), "authToken": .string("SECRET"),
        ]
        let frame = Frame(
            version: 5, type: .control, service: .rpc,
            info: ControlFrameType.startServiceACK.rawValue, sessionID: 1, payload: document.bytes)
        var mask = TraceMask(["AUTHTOKEN"])
        var wire = frame.wire
        #expect(mask.cover(&wire, Self.tapped(frame)))
        let masked = try #require(ControlPayload(Frame(checked: wire)).document)
        #expect(masked.string("authToken") == "xxxxxx")
        #expect(masked.string("protocolVersion") == "5.4.0")
    }

    @Test("two messages of one number on two services are two")
    func services() {
        var mask = TraceMask(["vin"])
        func cover(_ service: ServiceType, _ type: FrameType, _ payload: ByteBuffer) -> String {
            let frame = Frame(
                version: 5, type: type, service: service, info: type == .first ? 0 : 1,
                sessionID: 1, messageID: 7, payload: payload)
            var wire = frame.wire
            _ = mask.cover(&wire, Self.tapped(frame))
            wire.moveReaderIndex(forwardBy: 12)
            return String(buffer: wire)
        }
        var start = ByteBuffer()
        let json = #"{"vin":"12","vin":"34"}"#
        RPCHeader(type: .request, functionID: 32, correlationID: 9, jsonBytes: json.utf8.count)
            .write(to: &start)
        start.writeString(#"{"vin":"12","#)
        for service in [ServiceType.rpc, .bulk] {
            _ = cover(service, .first, ByteBuffer(repeating: 0, count: 8))
            #expect(cover(service, .consecutive, start).hasSuffix(#"{"vin":"xx","#))
        }
        for service in [ServiceType.rpc, .bulk] {
            let rest = ByteBuffer(string: #""vin":"34"}"#)
            #expect(cover(service, .consecutive, rest) == #""vin":"xx"}"#)
        }
    }

    @Test("deeper than anybody nests, everything is overwritten")
    func deep() throws {
        let nested = String(repeating: "[", count: 300) + #"{"vin":"1HG"}"#
        let json = #"{"a":"# + nested + String(repeating: "]", count: 300) + #","b":"c"}"#
        let masked = try Self.masked(json, ["vin"])
        #expect(!masked.contains("1HG") && masked.hasSuffix(#","b":"c"}"#), "\(masked)")
    }

    @Test("JSON behind the end that the header says is JSON all the same")
    func short() {
        let json = #"{"a":1,"vin":"1HG"}"#
        var payload = ByteBuffer()
        RPCHeader(type: .request, functionID: 32, correlationID: 9, jsonBytes: 5)
            .write(to: &payload)
        payload.writeString(json)
        let frame = Frame(
            version: 5, type: .single, service: .rpc, sessionID: 1, messageID: 7, payload: payload)
        var mask = TraceMask(["vin"])
        var wire = frame.wire
        #expect(mask.cover(&wire, Self.tapped(frame)))
        #expect(String(buffer: wire).hasSuffix(#"{"a":1,"vin":"xxx"}"#))
    }

    @Test(
        "a file that is overwritten still has the CRC that its PutFile says, in one frame and in many",
        arguments: [4, 15, 16, 17, 1000, 100_003])
    func crc(count: Int) throws {
        let file = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
        let crc = CRC32.checksum(of: ByteBuffer(bytes: file))
        let json = #"{"syncFileName":"a","crc":\#(crc),"fileType":"BINARY"}"#
        var message = ByteBuffer()
        RPCHeader(type: .request, functionID: 32, correlationID: 9, jsonBytes: json.utf8.count)
            .write(to: &message)
        message.writeString(json)
        message.writeBytes(file)
        let head = RPCHeader.bytes + json.utf8.count
        func check(_ payload: ByteBuffer) {
            let covered = Array(payload.readableBytesView.dropFirst(head))
            // A short file could be reconstructed from its CRC.
            let isSame = CRC32.checksum(of: ByteBuffer(bytes: covered)) == crc
            #expect(covered != file && isSame == (count >= 16))
            #expect(covered.dropFirst(count < 16 ? 0 : 4).allSatisfy { $0 == 0 })
        }
        if message.readableBytes < 65_536 {
            let frame = Frame(
                version: 5, type: .single, service: .rpc, sessionID: 1, messageID: 7,
                payload: message)
            var mask = TraceMask(["bulk"])
            var wire = frame.wire
            #expect(mask.cover(&wire, Self.tapped(frame)))
            wire.moveReaderIndex(forwardBy: 12)
            check(wire)
        }
        let whole = Self.frames(of: message, pieces: head + 2)
        var mask = TraceMask(["bulk"])
        var result = ByteBuffer()
        for frame in whole {
            var wire = frame.wire
            _ = mask.cover(&wire, Self.tapped(frame))
            wire.moveReaderIndex(forwardBy: 12)
            if frame.type == .consecutive { result.writeImmutableBuffer(wire) }
        }
        check(result)
    }

    @Test("bytes that were no frame are overwritten where anything is")
    func noFrames() throws {
        let run = TappedBytes(
            bytes: ByteBuffer(string: "SECRET"), direction: .fromApp, app: AppID(rawValue: 1),
            offset: 7, time: Made.start)
        for names in [[], ["vin"]] {
            let entries = try Made.entries(Made.trace([.bytes(run)]) { $0.masked = names })
            guard case .bytes(let read) = entries[entries.count - 2].content else {
                Issue.record("no bytes")
                return
            }
            #expect(read.offset == 7 && read.bytes.readableBytes == 6)
            #expect((String(buffer: read.bytes) == "SECRET") == names.isEmpty)
        }
    }

    @Test("in version 1 the whole message is JSON")
    func versionOne() {
        var mask = TraceMask(["vin"])
        let frame = Frame.rpcV1(
            sessionID: 1, type: .notification, name: "OnVehicleData", correlationID: 0,
            parameters: #"{"vin":"12"}"#)
        var wire = frame.wire
        #expect(mask.cover(&wire, Self.tapped(frame)))
        #expect(String(buffer: wire).hasSuffix(#"{"vin":"xx"}}}"#))
    }

    private static func frames(of message: ByteBuffer, pieces size: Int) -> [Frame] {
        var announcement = ByteBuffer()
        announcement.writeMultipleIntegers(UInt32(message.readableBytes), UInt32(1))
        func frame(_ type: FrameType, _ info: UInt8, _ payload: ByteBuffer) -> Frame {
            Frame(
                version: 5, type: type, service: .rpc, info: info, sessionID: 1, messageID: 7,
                payload: payload)
        }
        var frames = [frame(.first, 0, announcement)]
        var rest = message
        while let piece = rest.readSlice(length: min(size, rest.readableBytes)),
            piece.readableBytes > 0
        { frames.append(frame(.consecutive, rest.readableBytes == 0 ? 0 : 1, piece)) }
        return frames
    }

    private static func tapped(_ frame: Frame) -> TappedFrame {
        TappedFrame(frame: frame, direction: .fromApp, app: AppID(rawValue: 1), time: Made.start)
    }
}
