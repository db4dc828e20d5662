// A conversation as the tap would see it, for the tests of this module: who sends what, and when.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic

/// Feeds a `TrafficDecoder` frame by frame and collects the resulting entries.
struct Dialogue {
    private var decoder: TrafficDecoder
    private(set) var entries: [TrafficEntry] = []
    /// Milliseconds since the conversation began; advance it to let time pass.
    var milliseconds: Int64 = 0
    var app: AppID? = AppID(rawValue: 1)
    var session: UInt8 = 1
    private var messageID: UInt32 = 0

    /// - Parameter validator: nil by default, because most dialogues contain only what their test is about.
    init(
        limits: MessageAssembler.Limits = MessageAssembler.Limits(), validator: RPCValidator? = nil
    ) {
        decoder = TrafficDecoder(limits: limits, validator: validator)
    }

    var time: WallTime {
        // 2026-11-21T10:31:07Z
        WallTime(nanoseconds: 1_795_257_067_000_000_000 + milliseconds * 1_000_000)
    }

    mutating func receive(_ item: TapItem) {
        decoder.receive(item, into: &entries)
    }

    /// Lets this many milliseconds pass without a message.
    mutating func silence(_ milliseconds: Int64) {
        self.milliseconds += milliseconds
        decoder.advance(to: time, into: &entries)
    }

    /// Milliseconds from now until the decoder has to be advanced again.
    var due: Int64? {
        decoder.nextDeadline.map { ($0.nanoseconds - time.nanoseconds) / 1_000_000 }
    }

    mutating func says(
        _ direction: Direction, _ frame: Frame, fate: FrameFate = .forwarded
    ) {
        receive(.frames([.seen(frame, direction, app: app, time: time, fate: fate)]))
    }

    mutating func rpc(
        _ direction: Direction, _ type: RPCType, _ function: FunctionID, _ correlationID: Int32 = 0,
        _ json: String = "{}", bulk: ByteBuffer = ByteBuffer(), fate: FrameFate = .forwarded
    ) {
        messageID += 1
        says(
            direction,
            .rpc(
                version: 5, service: bulk.readableBytes > 0 ? .bulk : .rpc, sessionID: session,
                messageID: messageID, type: type, functionID: function.rawValue,
                correlationID: correlationID, json: json, bulk: bulk), fate: fate)
    }

    /// An RPC of the app as a first frame and consecutive frames of this many bytes.
    mutating func inFrames(
        of frameBytes: Int, _ type: RPCType, _ function: FunctionID, _ json: String = "{}",
        bulk: ByteBuffer = ByteBuffer()
    ) {
        messageID += 1
        var rest = Frame.rpc(
            version: 5, sessionID: session, messageID: messageID, type: type,
            functionID: function.rawValue, correlationID: 1, json: json, bulk: bulk
        ).payload
        let frames = (rest.readableBytes + frameBytes - 1) / frameBytes
        var first = ByteBuffer()
        first.writeInteger(UInt32(rest.readableBytes))
        first.writeInteger(UInt32(frames))
        says(.fromApp, part(.first, info: 0, first))
        for number in 1...frames {
            let bytes = rest.readSlice(length: min(frameBytes, rest.readableBytes)) ?? ByteBuffer()
            // SDL protocol spec, "Frame info": 1 to 255 and again, 0 in the last.
            let info = number == frames ? 0 : UInt8((number - 1) % 255 + 1)
            says(.fromApp, part(.consecutive, info: info, bytes))
        }
    }

    private func part(_ type: FrameType, info: UInt8, _ payload: ByteBuffer) -> Frame {
        Frame(
            version: 5, type: type, service: .bulk, info: info, sessionID: session,
            messageID: messageID, payload: payload)
    }

    mutating func request(_ function: FunctionID, _ correlationID: Int32, _ json: String = "{}") {
        rpc(.fromApp, .request, function, correlationID, json)
    }

    mutating func response(_ function: FunctionID, _ correlationID: Int32, _ json: String) {
        rpc(.fromAccessory, .response, function, correlationID, json)
    }

    mutating func notification(_ function: FunctionID, _ json: String) {
        rpc(.fromAccessory, .notification, function, 0, json)
    }

    mutating func control(
        _ direction: Direction, _ type: ControlFrameType, _ service: ServiceType = .rpc,
        session: UInt8? = nil, version: UInt8 = 5, payload: ByteBuffer = ByteBuffer(),
        fate: FrameFate = .forwarded
    ) {
        says(
            direction,
            Frame(
                version: version, type: .control, service: service, info: type.rawValue,
                sessionID: session ?? self.session, payload: payload), fate: fate)
        // The hub reports this after the answer to EndService.
        guard type == .endServiceACK, let app else { return }
        let number = session ?? self.session
        if service == .rpc {
            receive(.session(.ended(number), app, time: time))
        } else if service.isStream {
            receive(.session(.serviceEnded(service, session: number), app, time: time))
        }
    }

    /// Connects the app and grants a session.
    mutating func opens() {
        receive(.linkOpened(number: 1, address: "sim:", time: time))
        if let app { receive(.appConnected(app, peer: "127.0.0.1:5000", time: time)) }
        control(.fromApp, .startService, session: 0)
        let grant: BSONDocument = [
            "protocolVersion": .string("5.4.0"), "hashId": .int32(0x10005),
            "mtu": .int64(131_072), "make": .string("Bench"), "model": .string("Sim"),
        ]
        control(.fromAccessory, .startServiceACK, payload: grant.bytes)
    }

    mutating func registers(name: String = "Relay Test", appID: String = "relay-test") {
        request(
            .registerAppInterface, 1,
            #"{"appName":"\#(name)","appID":"\#(appID)","syncMsgVersion":{"majorVersion":8}}"#)
        response(
            .registerAppInterface, 1,
            #"{"success":true,"resultCode":"SUCCESS","syncMsgVersion":{"majorVersion":7,"#
                + #""minorVersion":1},"vehicleType":{"make":"Ford","model":"Focus","#
                + #""modelYear":"2019","trim":"SE"},"sdlVersion":"8.2.0"}"#)
    }

    /// The latest RPC, if the latest entry is one.
    var rpc: RPCEntry? {
        if case .rpc(let rpc)? = entries.last?.content { rpc } else { nil }
    }

    /// Text lines since the beginning, without colours, in UTC.
    func lines(_ configuration: TrafficLog.Configuration? = nil) -> [String] {
        var formatter = TrafficFormatter(
            configuration ?? TrafficLog.Configuration(timeZone: .fixed(seconds: 0)))
        return formatter.lines(entries).map { String(decoding: $0.text, as: UTF8.self) }
    }

    var lastLine: String? { lines().last }
}
