// A small client that plays the relay on connections to the stand-in for sdl_core, like the client that
// measured the real head unit.

import NIOCore
import RelayTesting
import SDLProtocol

/// Sends frames, lets time pass, and keeps what comes back.
struct CoreDialogue {
    var core: SDLCoreModel
    private(set) var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private(set) var link: SDLCoreModel.ConnectionID
    /// Everything since the last `wait`, in order, with its connection.
    private(set) var heard: [SDLCoreModel.Sent] = []
    /// Everything that was ever heard.
    private(set) var history: [Frame] = []
    private(set) var closed: Set<SDLCoreModel.ConnectionID> = []

    init(habits: SDLCoreHabits = SDLCoreHabits(), seed: UInt64 = 1) {
        core = SDLCoreModel(habits: habits, seed: seed)
        link = core.connect(at: now)
    }

    /// Opens another connection, which is used from now on.
    mutating func connect() {
        link = core.connect(at: now)
    }

    mutating func disconnect() {
        core.disconnected(link, at: now)
    }

    /// Sends the frames in one write.
    mutating func say(_ frames: [Frame]) {
        var bytes = ByteBuffer()
        for frame in frames { bytes.writeImmutableBuffer(frame.wire) }
        say(bytes: bytes)
    }

    mutating func say(_ frames: Frame...) { say(frames) }

    mutating func say(bytes: ByteBuffer) {
        core.receive(bytes, on: link, at: now)
        listen()
    }

    /// Lets time pass and returns what was heard since the last call.
    @discardableResult
    mutating func wait(_ time: TimeAmount = .milliseconds(200)) -> [Frame] {
        defer { heard = [] }
        now = now + time
        core.advance(to: now)
        listen()
        return heard.map(\.frame)
    }

    /// Lets time pass until a wanted frame comes, one second at most.
    mutating func wait(until isWanted: (Frame) -> Bool) -> Frame? {
        let end = now + .seconds(1)
        while true {
            if let index = heard.firstIndex(where: { isWanted($0.frame) }) {
                let frame = heard[index].frame
                heard.removeFirst(index + 1)
                return frame
            }
            guard let next = core.nextDeadline, next <= end else { return nil }
            now = max(now, next)
            core.advance(to: now)
            listen()
        }
    }

    private mutating func listen() {
        for output in core.takeOutput() {
            switch output {
            case .frame(let sent):
                heard.append(sent)
                history.append(sent.frame)
            case .close(let id): closed.insert(id)
            }
        }
    }

    // MARK: - Everyday words

    /// Starts a session and returns its number.
    mutating func start(version: UInt8 = 5) -> UInt8 {
        say(version >= 5 ? .startService() : .startServiceV4())
        return wait { $0.controlType == .startServiceACK }?.sessionID ?? 0
    }

    /// Starts an app that is registered and in FULL; returns its session.
    mutating func app(_ appID: String = "app", version: UInt8 = 5) -> UInt8 {
        let session = start(version: version)
        say(.register(session, appID, version: version))
        wait()
        return session
    }

    /// The result code of the answer to the request with this correlation ID.
    mutating func result(of correlationID: Int32) -> String? {
        wait { RPCHeader($0.payload)?.correlationID == correlationID }?.resultCode
    }

    mutating func end(_ session: UInt8, version: UInt8 = 5) {
        guard let hash = core.sessions[session]?.hash else { return }
        say(.endService(version: version, sessionID: session, hashID: hash))
        _ = wait { $0.controlType == .endServiceACK }
    }
}

extension Frame {
    /// StartService of an app that speaks version 4 at most.
    static func startServiceV4() -> Frame {
        Frame(version: 1, type: .control, service: .rpc, info: 1, sessionID: 0)
    }

    static func register(
        _ session: UInt8, _ appID: String, version: UInt8 = 5, hash: String? = nil
    ) -> Frame {
        let hash = hash.map { #","hashID":"\#($0)""# } ?? ""
        return request(
            session, .registerAppInterface, 65_529, version: version,
            json: #"{"appName":"\#(appID)","fullAppID":"\#(appID)"\#(hash)}"#)
    }

    static func unregister(_ session: UInt8, version: UInt8 = 5) -> Frame {
        request(session, .unregisterAppInterface, 65_530, version: version)
    }

    static func request(
        _ session: UInt8, _ function: FunctionID, _ correlationID: Int32, message: UInt32 = 1000,
        version: UInt8 = 5, json: String = "{}"
    ) -> Frame {
        .rpc(
            version: version, sessionID: session, messageID: message, type: .request,
            functionID: function.rawValue, correlationID: correlationID, json: json)
    }

    /// A PutFile in frames of limited size: first, consecutive ones, last.
    static func putFile(
        _ session: UInt8, name: String, contents: ByteBuffer, correlationID: Int32,
        message: UInt32 = 77, service: ServiceType = .rpc, version: UInt8 = 5, frameBytes: Int
    ) -> [Frame] {
        let json = #"{"syncFileName":"\#(name)"}"#
        var payload = ByteBuffer()
        RPCHeader(
            type: .request, functionID: FunctionID.putFile.rawValue, correlationID: correlationID,
            jsonBytes: json.utf8.count
        ).write(to: &payload)
        payload.writeString(json)
        payload.writeImmutableBuffer(contents)
        let count = (payload.readableBytes + frameBytes - 1) / frameBytes
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(payload.readableBytes))
        announcement.writeInteger(UInt32(count))
        var frames = [
            Frame(
                version: version, type: .first, service: service, sessionID: session,
                messageID: message, payload: announcement)
        ]
        for number in 1...count {
            let piece = payload.readSlice(length: min(frameBytes, payload.readableBytes))
            frames.append(
                Frame(
                    version: version, type: .consecutive, service: service,
                    info: number == count ? 0 : UInt8((number - 1) % 255 + 1), sessionID: session,
                    messageID: message, payload: piece ?? ByteBuffer()))
        }
        return frames
    }

    /// The last frame of a message, with any bytes.
    static func last(
        _ session: UInt8, message: UInt32 = 77, service: ServiceType = .rpc, version: UInt8 = 5,
        _ payload: ByteBuffer
    ) -> Frame {
        Frame(
            version: version, type: .consecutive, service: service, info: 0, sessionID: session,
            messageID: message, payload: payload)
    }

    var resultCode: String? {
        let payload = payload
        guard payload.readableBytes > RPCHeader.bytes else { return nil }
        let json = payload.getSlice(
            at: payload.readerIndex + RPCHeader.bytes,
            length: payload.readableBytes - RPCHeader.bytes)
        return json.flatMap { try? JSONObject($0) }?.string("resultCode")
    }

    var correlationID: Int32? { type == .single ? RPCHeader(payload)?.correlationID : nil }
}
