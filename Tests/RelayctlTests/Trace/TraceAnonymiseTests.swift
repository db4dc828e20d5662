import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Traces
@testable import relayctl

@Suite("relayctl trace anonymise") struct TraceAnonymiseTests {
    private static let items: [TapItem] = {
        var talk = TwoApps()
        talk.connect(TwoApps.radio, "Radio", session: 1, at: 1)
        talk.notify(
            TwoApps.radio, 1, .onVehicleData,
            #"{"vin":"WVWZZZ1JZXW000001","gps":{"latitudeDegrees":47.123,"longitudeDegrees":8.5},"speed":88.5}"#,
            at: 2)
        talk.request(
            TwoApps.radio, 1, .dialNumber, 2, ##"{"number":"+41791234567"}"##, at: 3)
        talk.request(
            TwoApps.radio, 1, .putFile, 3,
            #"{"syncFileName":"cover.png","fileType":"GRAPHIC_PNG"}"#,
            bulk: ByteBuffer(string: "SECRETPICTURE"), at: 4)
        talk.send(
            Frame(
                version: 5, type: .single, service: .video, sessionID: 1, messageID: 9,
                payload: ByteBuffer(string: "SECRETSCREEN")), TwoApps.radio, .fromApp, at: 5)
        talk.add(
            .bytes(
                TappedBytes(
                    bytes: ByteBuffer(string: "SECRETBYTES"), direction: .fromApp,
                    app: TwoApps.radio, offset: 0, time: TwoApps.at(6))))
        talk.add(
            .appClosed(
                TwoApps.radio, reason: "connection reset by 192.168.1.7:40001", time: TwoApps.at(7))
        )
        return talk.items
    }()

    private func anonymise(_ arguments: String...) async throws -> (text: String, out: String) {
        var result = ("", "")
        try await TraceSamples.run(
            ["trace", "anonymise", "a.pcapng", "-o", "@b.pcapng"] + arguments,
            on: ["a.pcapng": TraceSamples.bytes(Self.items)]
        ) { code, out, error, directory in
            #expect(code == 0, "\(error)")
            let data = try Data(contentsOf: URL(fileURLWithPath: directory.file("b.pcapng")))
            result = (String(decoding: data, as: UTF8.self), out)
        }
        return result
    }

    @Test("nothing of people, cars and networks is left, and the rest stays") func secrets()
        async throws
    {
        let (text, out) = try await anonymise()
        for secret in [
            "WVWZZZ", "47.123", "Degrees\":8.5", "4179", "SECRET", "192.168.1.7", "192.168.1.20",
        ] {
            #expect(!text.contains(secret), "\(secret)")
        }
        for kept in [
            "xxxxxxxxxxxxxxxxx", "11.111", "\"speed\":88.5", "Radio", "cover.png", "tcp:masked",
            "anonymised by relayctl",
        ] {
            #expect(text.contains(kept), "\(kept)")
        }
        #expect(out.contains("frames masked. Look through it before you send it."))
    }

    @Test("--mask adds to the list, --keep takes from it") func lists() async throws {
        let (text, _) = try await anonymise(
            "--mask", "syncFileName", "--keep", "vin", "--keep", "bulk", "--keep", "streams")
        #expect(!text.contains("cover.png") && !text.contains("47.123"))
        for kept in ["WVWZZZ1JZXW000001", "SECRETPICTURE", "SECRETSCREEN"] {
            #expect(text.contains(kept), "\(kept)")
        }
        try await TraceSamples.run(
            ["trace", "anonymise", "a", "-o", "b", "--keep", "speed"], on: [:]
        ) { code, _, error, _ in
            #expect(code == 64 && error.contains("--keep is \"speed\"; expected one of vin, gps"))
        }
    }

    @Test("it still is a trace of the same messages") func same() async throws {
        for capture in ["js-full-1", "java-zero-message-id-1"] {
            let bytes = try TraceSamples.bytes(capture)
            try await TraceSamples.run(
                ["trace", "anonymise", "a.pcapng", "-o", "@b.pcapng"], on: ["a.pcapng": bytes]
            ) { code, _, error, directory in
                #expect(code == 0, "\(error)")
                let before = try TraceCutTests.messages(directory.file("a.pcapng"))
                let after = try TraceCutTests.messages(directory.file("b.pcapng"))
                #expect(before == after)
            }
        }
    }

    @Test("a token in a control frame is overwritten where it lies") func token() throws {
        var payload = ByteBuffer()
        let text = "SECRETTOKEN"
        var document = ByteBuffer()
        document.writeBytes([0x02])
        document.writeString("authToken\0")
        document.writeInteger(UInt32(text.utf8.count + 1), endianness: .little)
        document.writeString(text + "\0")
        payload.writeInteger(UInt32(document.readableBytes + 5), endianness: .little)
        payload.writeImmutableBuffer(document)
        payload.writeBytes([0])
        let frame = Frame(
            version: 5, type: .control, service: .rpc, info: 2, sessionID: 1, payload: payload)
        let entry = TraceEntry(
            time: TwoApps.at(0),
            content: .frame(
                TappedFrame(
                    frame: frame, direction: .fromAccessory, app: TwoApps.radio,
                    time: TwoApps.at(0)), omitted: 0, isMasked: false))
        var anonymiser = TraceAnonymiser(.init(names: ["authToken"])) { $0 }
        guard case .frame(let masked, _, true) = anonymiser.mask(entry).content else {
            Issue.record("not masked")
            return
        }
        #expect(ControlPayload(masked.frame).document?.string("authToken") == "xxxxxxxxxxx")
        #expect(anonymiser.changedFrames == 1)
        // It is also found twice in one document, and after an invalid length.
        var again = document
        for _ in 0..<2 { again.writeImmutableBuffer(document) }
        again.setInteger(UInt32.max, at: 11, endianness: .little)
        var twice = ByteBuffer()
        twice.writeInteger(UInt32(again.readableBytes + 5), endianness: .little)
        twice.writeImmutableBuffer(again)
        twice.writeBytes([0])
        let repeated = TraceEntry(
            time: TwoApps.at(0),
            content: .frame(
                TappedFrame(
                    frame: Frame(
                        version: 5, type: .control, service: .rpc, info: 2, sessionID: 1,
                        payload: twice), direction: .fromAccessory, app: TwoApps.radio,
                    time: TwoApps.at(0)), omitted: 0, isMasked: false))
        guard case .frame(let both, _, true) = anonymiser.mask(repeated).content else {
            Issue.record("not masked")
            return
        }
        let left = String(buffer: both.frame.payload).components(separatedBy: text).count - 1
        #expect(left == 1, "behind the length that is a lie")
        // A false length does not make it read too far.
        var lie = frame.wire
        lie.setInteger(UInt32.max, at: 12 + 4 + 11, endianness: .little)
        let lying = TraceEntry(
            time: TwoApps.at(0),
            content: .frame(
                TappedFrame(
                    frame: Frame(checked: lie), direction: .fromAccessory, app: nil,
                    time: TwoApps.at(0)), omitted: 0, isMasked: false))
        guard case .frame(_, _, false) = anonymiser.mask(lying).content else {
            Issue.record("masked")
            return
        }
    }
}
