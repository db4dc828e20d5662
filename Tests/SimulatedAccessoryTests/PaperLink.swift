// A link to the simulator on paper: the app sends frames, the test reads the answers, time is a number. Used by
// all tests of this target.

import NIOCore
import RelayTesting
import SDLProtocol
import SimulatedAccessory
import Testing

/// One link, one simulated head unit, a manual clock.
struct PaperLink {
    var accessory: SimulatedAccessory
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var messageID: UInt32 = 0

    init(_ options: [String: String] = [:]) throws {
        accessory = SimulatedAccessory(
            configuration: try .init(options: options), generator: SeededGenerator(seed: 1))
    }

    mutating func says(_ frame: Frame) -> [Frame] { accessory.receive(frame, at: now) }

    /// Sends one or more frames written as hex.
    mutating func says(hex: String) throws -> [Frame] {
        try frames(ByteBuffer(bytes: bytes(hex: hex))).flatMap { accessory.receive($0, at: now) }
    }

    mutating func passes(_ time: TimeAmount) -> [Frame] {
        now = now + time
        return accessory.advance(to: now)
    }

    /// Starts a session as an app of protocol 5 does.
    mutating func opensSession() throws -> SessionGrant {
        SessionGrant(try #require(try says(hex: Hex.startServiceV1WithBSON).first))
    }

    /// Sends a request of v2 or later and returns the answer.
    mutating func requests(
        _ function: FunctionID, _ json: String = "{}", session: UInt8 = 1,
        correlationID: Int32 = 7, version: UInt8 = 5, service: ServiceType = .rpc,
        bulk: [UInt8] = []
    ) -> [Answer] {
        messageID += 1
        let request = Frame.rpc(
            version: version, service: service, sessionID: session, messageID: messageID,
            type: .request, functionID: function.rawValue, correlationID: correlationID,
            json: json, bulk: ByteBuffer(bytes: bulk))
        return answers(says(request))
    }

    /// Registers an app in a session of its own.
    mutating func registers(
        _ name: String, appID: String, version: Int = 8, isMedia: Bool = false, more: String = ""
    ) throws -> [Answer] {
        let grant = try opensSession()
        return requests(
            .registerAppInterface,
            registration(name, appID: appID, version: version, isMedia: isMedia, more: more),
            session: grant.sessionID)
    }

    /// Registers an app and waits until it is on the screen.
    ///
    /// - Parameters:
    ///   - type: A value of AppHMIType.
    ///   - media: Whether it is a media application.
    /// - Returns: Its session.
    @discardableResult
    mutating func brings(
        _ name: String = "A", type: String = "DEFAULT", media: Bool = false, version: Int = 8
    ) throws -> UInt8 {
        let response = try registers(
            name, appID: name, version: version, isMedia: media,
            more: #","appHMIType":["\#(type)"]"#)
        let session = try #require(response.first?.session)
        _ = passes(.milliseconds(100))
        return session
    }

    /// Sends a request and returns its result code and info, which must come at once.
    mutating func result(
        _ function: FunctionID, _ json: String = "{}", session: UInt8 = 1
    ) -> String? {
        requests(function, json, session: session).first { $0.type == .response }?.result
    }

    /// Stores a small file with that name.
    mutating func stores(_ name: String, session: UInt8 = 1) {
        let answer = requests(
            .putFile, #"{"syncFileName":"\#(name)","fileType":"GRAPHIC_PNG"}"#, session: session,
            bulk: [1])
        #expect(answer.map(\.result) == ["SUCCESS"])
    }
}

/// An RPC from the head unit.
struct Answer {
    var session: UInt8
    var type: RPCType
    var function: FunctionID
    var correlationID: Int32?
    var parameters: JSONObject
    var bulkBytes: Int

    var result: String? { parameters.string("resultCode") }
    var info: String? { parameters.string("info") }

    /// The parts of OnHMIStatus: session, level, sound, video, context.
    var status: String {
        ["hmiLevel", "audioStreamingState", "videoStreamingState", "systemContext"]
            .compactMap { parameters.string($0) }.reduce("\(session)") { "\($0) \($1)" }
    }
}

extension [Answer] {
    var statuses: [String] { filter { $0.function == .onHMIStatus }.map(\.status) }
    /// Functions of responses with their results.
    var results: [String] {
        filter { $0.type == .response }.map { "\($0.function) \($0.result ?? "")" }
    }
}

func registration(
    _ name: String, appID: String, version: Int = 8, isMedia: Bool = false, more: String = ""
) -> String {
    """
    {"syncMsgVersion":{"majorVersion":\(version),"minorVersion":0},"appName":"\(name)",\
    "isMediaApplication":\(isMedia),"languageDesired":"EN-US","hmiDisplayLanguageDesired":"EN-US",\
    "appID":"\(appID)"\(more)}
    """
}

/// Cuts a stream into frames.
func frames(_ bytes: ByteBuffer) throws -> [Frame] {
    var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
    decoder.append(bytes)
    var frames: [Frame] = []
    while let frame = try decoder.next() { frames.append(frame) }
    return frames
}

/// The RPCs in the frames, reassembled.
func answers(_ frames: [Frame]) -> [Answer] {
    var assembler = MessageAssembler()
    return frames.compactMap { frame in
        guard frame.service.carriesRPC, frame.type != .control,
            case .message(let message, nil) = assembler.receive(frame, at: 0),
            let rpc = try? RPCMessage(message)
        else { return nil }
        return Answer(
            session: frame.sessionID, type: rpc.type, function: rpc.functionID,
            correlationID: rpc.correlationID, parameters: rpc.parameters,
            bulkBytes: rpc.bulkBytes)
    }
}

func bytes(hex: String) -> [UInt8] {
    let digits = hex.filter(\.isHexDigit)
    return stride(from: 0, to: digits.count, by: 2).compactMap { offset in
        let start = digits.index(digits.startIndex, offsetBy: offset)
        return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
    }
}

/// Frames of the protocol, field by field.
enum Hex {
    /// v1 header, control, service 7, StartService, session 0, no payload.
    static let startServiceV1 = "10 07 01 00  00000000"
    /// The same with BSON {protocolVersion: "5.4.1"}.
    static let startServiceV1WithBSON = """
        10 07 01 00  00000020
        20000000  02 70726f746f636f6c56657273696f6e00 06000000 352e342e3100  00
        """
    /// v5 header, as the JavaScript suite sends it, {protocolVersion: "5.4.0"}.
    static let startServiceV5 = """
        50 07 01 00  00000020  00000000
        20000000  02 70726f746f636f6c56657273696f6e00 06000000 352e342e3000  00
        """
    /// v1 UnregisterAppInterface in its JSON wrapper.
    static let unregisterV1 = """
        11 07 00 01  0000004f
        7b2272657175657374223a7b226e616d65223a22556e7265676973746572417070496e74657266616365222c22
        636f7272656c6174696f6e4944223a362c22706172616d6574657273223a7b7d7d7d
        """
}
