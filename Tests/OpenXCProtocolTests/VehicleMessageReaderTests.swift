// Messages in a stream: in pieces, in either format, after garbage, and cut off.

import OpenXCProtocol
import Testing

@Suite("A stream of OpenXC messages")
struct VehicleMessageReaderTests {
    private static func measurement(_ name: String, _ value: Double) -> VehicleMessage {
        VehicleMessage(.measurement(Measurement(name, .number(value))))
    }

    private static func names(
        _ bytes: [UInt8], recovery: VehicleMessageReader.Recovery = .nextBeginning,
        by count: Int = .max
    ) -> ([String], VehicleMessageReader) {
        var reader = VehicleMessageReader(recovery: recovery)
        var names: [String] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(count))
            rest = rest.dropFirst(count)
            while let message = reader.next() {
                switch message.content {
                case .measurement(let measurement): names.append(measurement.name)
                case .diagnostic: names.append("diagnostic")
                default: names.append("other")
                }
            }
        }
        return (names, reader)
    }

    @Test("is read in pieces of any size, in each framing", arguments: MessageFraming.allCases)
    func pieces(framing: MessageFraming) throws {
        var bytes: [UInt8] = []
        for index in 0..<20 {
            // Also lengths that look like blanks, line ends and braces.
            let name = String(repeating: "n", count: 1 + index * 6)
            try framing.append(Self.measurement(name, Double(index) / 3), to: &bytes)
        }
        for count in [1, 2, 3, 7, 64, 100_000] {
            let (names, reader) = Self.names(bytes, by: count)
            #expect(names.map(\.utf8.count) == (0..<20).map { 1 + $0 * 6 })
            #expect(reader.counts.messages == 20 && reader.counts.failures == 0)
            #expect(reader.counts.garbageBytes == 0 && reader.format == framing.format)
        }
    }

    @Test(
        "each message is there as it came, in whatever pieces", arguments: MessageFraming.allCases)
    func wire(framing: MessageFraming) throws {
        var (messages, bytes): ([[UInt8]], [UInt8]) = ([], [])
        for index in 0..<20 {
            var message: [UInt8] = []
            let name = String(repeating: "n", count: 1 + index * 6)
            try framing.append(Self.measurement(name, Double(index) / 3), to: &message)
            bytes += message
            // Without the NUL or line end.
            messages.append(framing == .protobuf ? message : message.dropLast())
            // Unreadable bytes belong to no message.
            bytes += [0xFF, 0x00]
        }
        for count in [1, 7, 64, 100_000] {
            var reader = VehicleMessageReader(recovery: .nextBeginning)
            #expect(reader.latestBytes.isEmpty)
            var (seen, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], bytes[...])
            while !rest.isEmpty {
                reader.append(rest.prefix(count))
                rest = rest.dropFirst(count)
                while reader.next() != nil { seen.append(Array(reader.latestBytes)) }
            }
            #expect(seen == messages)
        }
    }

    @Test("may change its form at any message")
    func change() throws {
        var bytes: [UInt8] = []
        for framing in MessageFraming.allCases + MessageFraming.allCases.reversed() {
            try framing.append(Self.measurement(framing.rawValue, 1), to: &bytes)
        }
        let (names, reader) = Self.names(bytes, by: 1)
        #expect(names == ["json", "lines", "protobuf", "protobuf", "lines", "json"])
        #expect(reader.counts.json == 4 && reader.counts.protobuf == 2)
    }

    @Test("of protobuf may hold a long answer in JSON, as emulator builds write it")
    func mixed() throws {
        var bytes: [UInt8] = []
        try MessageFraming.protobuf.append(Self.measurement("a", 1), to: &bytes)
        bytes += #"{"timestamp":0,"frame":0,"bus":1,"id":2024,"mode":9,"payload":"0x4902"}"#.utf8
        bytes.append(0)
        try MessageFraming.protobuf.append(Self.measurement("b", 1), to: &bytes)
        #expect(Self.names(bytes).0 == ["a", "diagnostic", "b"])
    }

    @Test("goes on behind garbage and behind a message that was cut")
    func garbage() throws {
        let good = #"{"name":"good","value":1}"#
        func json(_ before: String) -> [String] { Self.names(Array((before + good).utf8)).0 }
        #expect(json("rubbish }{ [\0") == ["good"])
        #expect(json(#"{"name":"cut","val"#) == ["good"])
        #expect(json(#"{"name":"cut","value":"# + "\nnot json\n[1,2]\n") == ["good"])
        #expect(json("\0\0\r\n  ") == ["good"])
        var bytes: [UInt8] = [0xFF, 0x00, 0x05, 0x08, 0x09, 0x7B]
        try MessageFraming.protobuf.append(Self.measurement("good", 1), to: &bytes)
        #expect(Self.names(bytes).0 == ["good"])
        // A message that lost its end takes with it those that its length covers.
        var cut: [UInt8] = []
        try MessageFraming.protobuf.append(Self.measurement("cut", 1), to: &cut)
        cut.removeLast(9)
        for _ in 0..<3 { try MessageFraming.protobuf.append(Self.measurement("good", 1), to: &cut) }
        #expect(Self.names(cut).0.suffix(2) == ["good", "good"])
    }

    @Test(
        "does not wait for a length that garbage claims",
        arguments: [
            // The length of a 1,383-byte signal, without the signal.
            "e70a 0802", "ff e70a 0802", "7f 0801",
            // The same with the lengths of its parts.
            "e70a 0802 1ad00a", "e70a 0802 1ad00a 0a0161 12c00a", "e70a 0804 22d00a 0801 42b00a",
            "e70a 0803 2ad00a 0803 12b00a 0a900a", "e70a 0803 2ad00a 3ab00a 0a900a 1a800a",
            // No tag, no number, and a part longer than the whole.
            "e70a 0801 00", "e70a 0801 38 ffffffffffffffffffff", "7f 0801 12 80",
            // A text, and an unknown field.
            "e70a 0802 1ad00a 0ac00a", "e70a 0801 42d00a",
        ])
    func claims(garbage: String) {
        let good = Array(#"{"name":"good","value":1}"#.utf8)
        for framing in [MessageFraming.json, .lines] {
            let bytes = hex(garbage) + good + [framing == .json ? 0 : UInt8(ascii: "\n")]
            for count in [1, 7, 100_000] {
                let (names, reader) = Self.names(bytes, by: count)
                #expect(names == ["good"] && reader.counts.json == 1, "by \(count)")
                #expect(reader.counts.problems[.notProtobuf] ?? 0 >= 1)
            }
        }
    }

    @Test(
        "of protobuf does not wait for it either",
        arguments: [
            "e70a 0802", "ff e70a 0802", "7f 0801", "e70a 0801 00",
            // Texts: the name of a signal, a value, an answer, and the host of a server.
            "e70a 0802 1ad00a 0ac00a", "e70a 0802 1ad00a 0a0161 12c00a 0801 12b00a",
            "e70a 0805 32d00a 0801 12c00a", "e70a 0804 2ad00a 0808 3ac00a 1ab00a 0aa00a",
            // An unknown field.
            "e70a 0801 42d00a",
            // Bytes: of a frame, of a module's answer, and of a request to a module.
            "e70a 0801 12d00a 1ac00a", "e70a 0803 22d00a 0801 3ab00a",
            "e70a 0804 2ad00a 0803 12c00a 0ab00a 2aa00a",
        ])
    func claimsInProtobuf(garbage: String) throws {
        var all = hex(garbage)
        var timed = Self.measurement("timed", 1)
        timed.timestamp = 1_332_432_977_835
        for message in [Self.measurement("good", 1), timed, Self.measurement("good", 1)] {
            try MessageFraming.protobuf.append(message, to: &all)
        }
        for count in [1, 7, 100_000] {
            #expect(Self.names(all, by: count).0 == ["good", "timed", "good"], "by \(count)")
        }
    }

    @Test(
        "of long protobuf messages, whose lengths take two bytes, does not wait for it either",
        arguments: [
            "9b0a 0801 12890a 1afa09", "e70a 0803 22d00a 0801 3ab00a",
            "e70a 0804 2ad00a 0803 12c00a 0ab00a 2aa00a", "e70a 0802 1ad00a 0ac00a",
        ])
    func claimsBeforeLongMessages(garbage: String) throws {
        var all = hex(garbage)
        for count in [120, 121, 122, 140, 255] {
            let response = DiagnosticResponse(
                bus: 1, id: 0x7E8, mode: 9, pid: 2, success: true,
                payload: [UInt8](repeating: 0x31, count: count))
            try MessageFraming.protobuf.append(VehicleMessage(.diagnostic(response)), to: &all)
        }
        #expect(all.count < VehicleMessageReader.maximumProtobufBytes)
        for count in [1, 7, 100_000] {
            let (names, reader) = Self.names(all, by: count)
            #expect(names == Array(repeating: "diagnostic", count: 5), "by \(count)")
            #expect(reader.pendingBytes == 0)
        }
    }

    @Test("of protobuf may have bytes in which a message seems to begin")
    func bytesLikeBeginnings() throws {
        // Types and tags, with lengths that do not match them.
        let payload = hex("08021a 7f08021a7f 0208021a02 0a08021a")
        let response = DiagnosticResponse(
            bus: 1, id: 0x7E8, mode: 0x22, pid: 0, success: true, payload: payload)
        let frame = CANMessage(bus: 1, id: 1, data: hex("0208041a02080501"))
        for message in [VehicleMessage(.diagnostic(response)), VehicleMessage(.can(frame))] {
            var bytes: [UInt8] = []
            try MessageFraming.protobuf.append(message, to: &bytes)
            var reader = VehicleMessageReader(recovery: .nextPiece)
            for byte in bytes { reader.append([byte]) }
            #expect(reader.next() == message)
        }
    }

    @Test("of protobuf may have texts that look like JSON")
    func texts() throws {
        for text in [#"{"a"#, #"{"name":"a","value":1}"#, #"{"x":1}"# + "\n", "{\"\n"] {
            let message = VehicleMessage(.measurement(Measurement("s", .text(text))))
            var bytes: [UInt8] = []
            try MessageFraming.protobuf.append(message, to: &bytes)
            var reader = VehicleMessageReader(recovery: .nextBeginning)
            for byte in bytes { reader.append([byte]) }
            #expect(reader.next()?.json == message.json, "\(text)")
        }
    }

    @Test("of a client is taken up behind the broken piece, not inside of it")
    func clients() {
        let text = #"{"x":{"bus":1,"id":2,"data":"00"} oops} {"name":"b","value":1}"# + "\0"
        let broken = Array((text + #"{"name":"c","value":1}"#).utf8)
        #expect(Self.names(broken, recovery: .nextPiece).0 == ["c"])
        #expect(Self.names(broken, recovery: .nextPiece, by: 1).0 == ["c"])
        #expect(Self.names(broken).0 == ["other", "b", "c"])
    }

    @Test("holds no more than one message's worth of an object without an end")
    func endless() {
        let endless = Array((#"{"name":""# + String(repeating: "x", count: 100_000)).utf8)
        for recovery in [VehicleMessageReader.Recovery.nextBeginning, .nextPiece] {
            let (names, reader) = Self.names(endless, recovery: recovery, by: 1000)
            #expect(names == [] && reader.counts.problems[.tooLong] == 1)
            #expect(reader.pendingBytes <= VehicleMessageReader.maximumJSONBytes)
        }
    }

    @Test("a double where newer firmware has a field of its own is a value")
    func oldFirmware() {
        var reader = VehicleMessageReader(recovery: .nextBeginning)
        reader.append(hex("18 0803 2214 0801 10e00f 1801 200c 2801 410000000000208840"))
        guard case .diagnostic(let response)? = reader.next()?.content else {
            Issue.record("\(reader.counts)")
            return
        }
        #expect(response.value == .number(772))
    }
}
