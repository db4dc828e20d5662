// The results of a `MediaCollector` for messages of apps and head units, for the tests of this target.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import Media

/// The files that the events produce.
struct Shelf {
    private var collector: MediaCollector
    private var decoder = TrafficDecoder()
    private var seconds = 0.0
    private var message: UInt32 = 0
    private var open: [MediaID: [UInt8]] = [:]
    private(set) var files: [(item: MediaItem, bytes: [UInt8], summary: MediaSummary)] = []
    /// Pictures with which a decoder may begin, including everything it needs.
    private(set) var entries: [[UInt8]] = []
    private(set) var left: [(item: MediaItem, summary: MediaSummary)] = []

    static let app = AppID(rawValue: 1)

    init(_ collector: MediaCollector = MediaCollector()) {
        self.collector = collector
    }

    var heldBytes: Int { collector.heldBytes }

    var isBulkMasked: Bool {
        get { collector.isBulkMasked }
        set { collector.isBulkMasked = newValue }
    }

    private mutating func now() -> WallTime {
        seconds += 0.1
        return WallTime(nanoseconds: 1_795_428_000_000_000_000 + Int64(seconds * 1e9))
    }

    mutating func send(
        _ frame: Frame, _ direction: Direction = .fromApp, app: AppID? = Shelf.app,
        fate: FrameFate = .forwarded, omitted: Int = 0, grant: GrantMeaning? = nil
    ) {
        let tapped = TappedFrame(
            frame: frame, direction: direction, app: app, time: now(), fate: fate, grant: grant)
        take(.frames([tapped]))
        collector.receive(tapped, omitted: omitted)
        write()
        // The hub reports this after the answer to EndService.
        guard frame.controlType == .endServiceACK, frame.service.isStream, let app else { return }
        let end = SessionEvent.serviceEnded(frame.service, session: frame.sessionID)
        take(.session(end, app, time: tapped.time))
    }

    mutating func take(_ item: TapItem) {
        var entries: [TrafficEntry] = []
        decoder.receive(item, into: &entries)
        for entry in entries { collector.receive(entry) }
        write()
    }

    mutating func leave() {
        take(.appClosed(Self.app, reason: "gone", time: now()))
    }

    mutating func finish() {
        var entries: [TrafficEntry] = []
        decoder.finish(into: &entries)
        for entry in entries { collector.receive(entry) }
        collector.finish()
        write()
        #expect(open.isEmpty, "everything that began has ended")
    }

    private mutating func write() {
        for event in collector.takeEvents() {
            switch event {
            case .began(let id, _):
                #expect(open[id] == nil)
                open[id] = []
            case .entry(let id, let bytes):
                #expect(open[id] != nil)
                entries.append(bytes.array)
            case .bytes(let id, let bytes, let place):
                var file = open[id] ?? []
                let end = place + bytes.readableBytes
                if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
                file.replaceSubrange(place..<end, with: bytes.array)
                open[id] = file
            case .ended(let id?, let item, let summary):
                let bytes = open.removeValue(forKey: id) ?? []
                #expect(bytes.count == summary.bytes)
                files.append((item, bytes, summary))
            case .ended(nil, let item, let summary): left.append((item, summary))
            }
        }
    }

    // MARK: Messages of apps and head units

    mutating func register(
        _ name: String = "Navigation", session: UInt8 = 1, capabilities: String = ""
    ) {
        send(.startService())
        send(.startServiceACK(session: session), .fromAccessory, grant: .opens)
        rpc(.request, .registerAppInterface, 1, #"{"appName":"\#(name)"}"#, session: session)
        rpc(
            .response, .registerAppInterface, 1,
            #"{"success":true,"resultCode":"SUCCESS"\#(capabilities)}"#, .fromAccessory,
            session: session)
    }

    mutating func rpc(
        _ type: RPCType, _ function: FunctionID, _ correlation: Int32, _ json: String = "{}",
        _ direction: Direction = .fromApp, bulk: [UInt8] = [], session: UInt8 = 1
    ) {
        message += 1
        send(
            .rpc(
                version: 5, service: bulk.isEmpty ? .rpc : .bulk, sessionID: session,
                messageID: message, type: type, functionID: function.rawValue,
                correlationID: correlation, json: json, bulk: ByteBuffer(bytes: bulk)), direction)
    }

    mutating func put(
        _ name: String, _ bytes: [UInt8], _ correlation: Int32, session: UInt8 = 1
    ) {
        put(name, "", bytes, correlation, session: session)
    }

    mutating func put(
        _ name: String, _ more: String, _ bytes: [UInt8], _ correlation: Int32,
        answer: String? = "SUCCESS", session: UInt8 = 1
    ) {
        rpc(
            .request, .putFile, correlation,
            #"{"syncFileName":"\#(name)","fileType":"BINARY"\#(more)}"#, bulk: bytes,
            session: session)
        guard let answer else { return }
        rpc(
            .response, .putFile, correlation,
            #"{"success":\#(answer == "SUCCESS"),"resultCode":"\#(answer)"}"#, .fromAccessory,
            session: session)
    }

    mutating func startVideo(_ transport: String? = nil, codec: String = "H264") {
        var document = BSONDocument()
        if let transport {
            document[ControlKey.videoProtocol] = .string(transport)
            document[ControlKey.videoCodec] = .string(codec)
            document[ControlKey.width] = .int32(800)
            document[ControlKey.height] = .int32(480)
        }
        let payload = transport == nil ? ByteBuffer() : document.bytes
        send(.control(.startService, service: .video, session: 1, payload: payload))
        send(.control(.startServiceACK, service: .video, session: 1), .fromAccessory)
    }

    mutating func endVideo() {
        send(.control(.endService, service: .video, session: 1))
        send(.control(.endServiceACK, service: .video, session: 1), .fromAccessory)
    }

    mutating func startAudio() {
        send(.control(.startService, service: .audio, session: 1))
        send(.control(.startServiceACK, service: .audio, session: 1), .fromAccessory)
    }

    mutating func stream(
        _ bytes: [UInt8], _ service: ServiceType = .video, isEncrypted: Bool = false,
        omitted: Int = 0
    ) {
        message += 1
        send(
            Frame(
                version: 5, isEncrypted: isEncrypted, type: .single, service: service,
                sessionID: 1, messageID: message, payload: ByteBuffer(bytes: bytes)),
            omitted: omitted)
    }
}
