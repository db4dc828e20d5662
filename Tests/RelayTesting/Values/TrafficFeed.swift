// Decoded traffic from short calls, for tests of what comes after the decoder.

package import NIOCore
package import RelayCore
package import SDLProtocol
package import SDLTraffic

/// Makes frames, lets a decoder read them, and puts the decoded entries into a ring.
package struct TrafficFeed {
    package let ring: MessageRing
    package private(set) var entries: [TrafficEntry] = []
    /// Milliseconds since 2026-11-21T10:31:07Z; advance it to let time pass.
    package var milliseconds: Int64 = 0
    package var app = AppID(rawValue: 1)
    package var session: UInt8 = 1
    private var decoder = TrafficDecoder()
    private var messageID: UInt32 = 0

    package init(ring: MessageRing = MessageRing()) {
        self.ring = ring
    }

    package var time: WallTime {
        WallTime(nanoseconds: 1_795_257_067_000_000_000 + milliseconds * 1_000_000)
    }

    /// Receives what one read brought.
    package mutating func receive(_ item: TapItem) {
        var new: [TrafficEntry] = []
        decoder.receive(item, into: &new)
        entries += new
        ring.consume(new)
    }

    /// Lets time pass without traffic.
    package mutating func silence(_ milliseconds: Int64) {
        self.milliseconds += milliseconds
        pass()
    }

    /// Tells the decoder the time, without new traffic.
    package mutating func pass() {
        var new: [TrafficEntry] = []
        decoder.advance(to: time, into: &new)
        entries += new
        ring.consume(new)
    }

    package mutating func rpc(
        _ direction: Direction, _ type: RPCType, _ function: FunctionID, _ correlationID: Int32,
        _ json: String = "{}", bulk: ByteBuffer = ByteBuffer()
    ) {
        messageID += 1
        let frame = Frame.rpc(
            version: 5, service: bulk.readableBytes > 0 ? .bulk : .rpc, sessionID: session,
            messageID: messageID, type: type, functionID: function.rawValue,
            correlationID: correlationID, json: json, bulk: bulk)
        receive(
            .frames([TappedFrame(frame: frame, direction: direction, app: app, time: time)]))
    }

    package mutating func request(
        _ function: FunctionID, _ correlationID: Int32, _ json: String = "{}"
    ) {
        rpc(.fromApp, .request, function, correlationID, json)
    }

    package mutating func response(
        _ function: FunctionID, _ correlationID: Int32,
        _ json: String = #"{"success":true,"resultCode":"SUCCESS"}"#
    ) {
        rpc(.fromAccessory, .response, function, correlationID, json)
    }

    package mutating func notification(_ function: FunctionID, _ json: String = "{}") {
        rpc(.fromAccessory, .notification, function, 0, json)
    }

    package mutating func heartbeat() {
        let frame = Frame(
            version: 5, type: .control, service: .control,
            info: ControlFrameType.heartbeat.rawValue,
            sessionID: session)
        receive(
            .frames([TappedFrame(frame: frame, direction: .fromApp, app: app, time: time)]))
    }

    /// A dialogue of ten messages: Music (#1) registers, shows something wrong, fails, uploads an
    /// icon, waits long; Maps (#2) says hello; the link breaks.
    package mutating func tellStory() {
        register("Music", appID: "m-1")
        milliseconds += 8
        response(.registerAppInterface, 1)
        request(.show, 2, #"{"mainField1":"Hello","alignment":"MIDDLE"}"#)
        milliseconds += 5
        response(
            .show, 2,
            #"{"success":false,"resultCode":"INVALID_DATA","info":"alignment \u001b[31mis wrong"}"#)
        rpc(
            .fromApp, .request, .putFile, 3,
            #"{"syncFileName":"icon.png","fileType":"GRAPHIC_PNG"}"#,
            bulk: Self.image)
        milliseconds += 1500
        response(.putFile, 3)
        notification(
            .onHMIStatus,
            #"{"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN"}"#)
        heartbeat()
        (app, session) = (AppID(rawValue: 2), 2)
        register("Maps", appID: "m-2")
        receive(.linkClosed(reason: "cable pulled", time: time))
    }

    /// Six messages; what relayd has to say is about the fifth, a picture without data.
    package mutating func tellOfEmptyPicture() {
        register("Music", appID: "m-1")
        response(.registerAppInterface, 1)
        request(.show, 2, #"{"mainField1":"Hello"}"#)
        response(.show, 2)
        milliseconds += 500
        request(.putFile, 3, #"{"syncFileName":"empty.png","fileType":"GRAPHIC_PNG"}"#)
        response(.putFile, 3)
    }

    private mutating func register(_ name: String, appID: String) {
        request(
            .registerAppInterface, 1,
            #"{"syncMsgVersion":{"majorVersion":7,"minorVersion":0},"appName":"\#(name)","#
                + #""appID":"\#(appID)","isMediaApplication":false,"languageDesired":"EN-US","#
                + #""hmiDisplayLanguageDesired":"EN-US"}"#)
    }

    /// The beginning of a PNG of 70×70.
    package static let image = ByteBuffer(
        bytes: [
            0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A,  // signature
            0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52,  // 13 bytes of IHDR
            0, 0, 0, 70, 0, 0, 0, 70,  // width, height
        ])
}
