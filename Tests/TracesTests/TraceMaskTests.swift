// What is overwritten before it is written, and what is not.

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

    @Test("what is encrypted stays, and so do control frames, audio and video")
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

    private static func tapped(_ frame: Frame) -> TappedFrame {
        TappedFrame(frame: frame, direction: .fromApp, app: AppID(rawValue: 1), time: Made.start)
    }
}
