import FoundationEssentials
package import NIOCore
import RelayCore
import SDLProtocol

/// The fields of all records; the name of a record says which of them it has.
private struct Fields: Codable {
    var record: String
    var version: Int?
    var program: String?
    var accessory: String?
    var started: String?
    var file: Int?
    var streams: String?
    var masked: [String]?
    var events: [String]?
    var number: Int?
    var address: String?
    var app: UInt64?
    var peer: String?
    var session: UInt8?
    var service: String?
    var code: String?
    var text: String?
    var reason: String?
    var frames: Int?
    var bytes: Int?
    var missedFrames: Int?

    init(_ record: String, app: AppID? = nil) {
        self.record = record
        self.app = app?.rawValue
    }

    enum CodingKeys: String, CodingKey {
        case record, version, program, accessory, started, file, streams, masked, events, number
        case address, app, peer, session, service, code, text, reason, frames, bytes
        case missedFrames = "missed_frames"
    }
}

extension TraceRecord {
    /// The record as one JSON object.
    package var json: ByteBuffer {
        if case .other(_, _, let json) = self { return json }
        return Self.encoded(fields)
    }

    /// The same record without unknown fields, if it is of another version.
    var known: TraceRecord {
        guard case .other(let name, let app, _) = self else { return self }
        return .other(name: name, app: app, json: Self.encoded(fields))
    }

    private static func encoded(_ fields: Fields) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding cannot fail here.
        guard let data = try? encoder.encode(fields) else { return ByteBuffer() }
        return ByteBuffer(bytes: data)
    }

    private var fields: Fields {
        switch self {
        case .trace(let header):
            var fields = Fields("trace")
            fields.version = header.version
            fields.program = header.program
            fields.accessory = header.accessory
            fields.started = header.started
            fields.file = header.file
            fields.streams = header.streams.rawValue
            fields.masked = header.masked
            fields.events = header.events
            return fields
        case .linkOpened(let number, let address):
            var fields = Fields("link_opened")
            fields.number = number
            fields.address = address
            return fields
        case .linkClosed(let reason):
            var fields = Fields("link_closed")
            fields.reason = reason
            return fields
        case .appConnected(let app, let peer):
            var fields = Fields("app_connected", app: app)
            fields.peer = peer
            return fields
        case .appLeft(let app, let reason):
            var fields = Fields("app_left", app: app)
            fields.reason = reason
            return fields
        case .startSent(let app): return Fields("start_sent", app: app)
        case .sessionEnded(let app, let session):
            var fields = Fields("session_ended", app: app)
            fields.session = session
            return fields
        case .serviceEnded(let app, let session, let service):
            var fields = Fields(TraceHeader.serviceEnds, app: app)
            fields.session = session
            fields.service = service.name
            return fields
        case .notice(let code, let text, let app):
            return Self.message("notice", code, text, app)
        case .advice(let code, let text, let app):
            return Self.message("advice", code, text, app)
        case .mark(let text):
            var fields = Fields("mark")
            fields.text = text
            return fields
        case .gap(let frames, let bytes):
            var fields = Fields("gap")
            fields.frames = frames
            fields.bytes = bytes
            return fields
        case .end(let end):
            var fields = Fields("end")
            fields.reason = end.reason
            fields.frames = end.frames
            fields.bytes = end.bytes
            fields.missedFrames = end.missedFrames
            return fields
        case .other(let name, let app, _):
            return Fields(name, app: app)
        }
    }

    private static func message(
        _ record: String, _ code: String, _ text: String, _ app: AppID?
    ) -> Fields {
        var fields = Fields(record, app: app)
        fields.code = code
        fields.text = text
        return fields
    }
}

extension TraceRecord {
    /// The largest record that is read: a user's text, or that of a peer, shortened by relayd.
    package static let maximumBytes = 256 << 10

    /// Reads a record. One of an unknown kind becomes `other`.
    ///
    /// - Throws: `TraceError` when it is not a JSON object with a record, or lacks a required field.
    package init(json: ByteBuffer) throws(TraceError) {
        guard json.readableBytes <= Self.maximumBytes else {
            throw .recordTooLarge(json.readableBytes)
        }
        guard
            let fields = try? JSONDecoder().decode(Fields.self, from: Data(json.readableBytesView))
        else { throw .noRecord(String(buffer: json.getPrefix(64))) }
        guard let record = Self(fields, json) else { throw .incompleteRecord(fields.record) }
        self = record
    }

    private init?(_ fields: Fields, _ json: ByteBuffer) {
        let app = fields.app.map(AppID.init(rawValue:))
        switch fields.record {
        case "trace":
            guard let version = fields.version else { return nil }
            var header = TraceHeader(
                program: fields.program ?? "", accessory: fields.accessory ?? "",
                started: fields.started ?? "")
            header.version = version
            header.file = fields.file ?? 1
            header.streams = fields.streams.flatMap(TraceStreams.init) ?? .all
            header.masked = fields.masked ?? []
            header.events = TraceHeader.knownEvents.filter { fields.events?.contains($0) == true }
            self = .trace(header)
        case "link_opened":
            self = .linkOpened(number: fields.number ?? 0, address: fields.address ?? "")
        case "link_closed": self = .linkClosed(reason: fields.reason ?? "")
        case "app_connected":
            guard let app else { return nil }
            self = .appConnected(app, peer: fields.peer ?? "")
        case "app_left":
            guard let app else { return nil }
            self = .appLeft(app, reason: fields.reason ?? "")
        case "start_sent":
            guard let app else { return nil }
            self = .startSent(app)
        case "session_ended":
            guard let app, let session = fields.session else { return nil }
            self = .sessionEnded(app, session: session)
        case TraceHeader.serviceEnds:
            guard let app, let session = fields.session,
                let service = fields.service.flatMap(ServiceType.init(name:)), service.isStream
            else { return nil }
            self = .serviceEnded(app, session: session, service)
        case "notice", "advice":
            guard let code = fields.code else { return nil }
            let text = fields.text ?? ""
            self =
                fields.record == "notice"
                ? .notice(code: code, text: text, app: app)
                : .advice(code: code, text: text, app: app)
        case "mark": self = .mark(text: fields.text ?? "")
        case "gap":
            self = .gap(frames: max(0, fields.frames ?? 0), bytes: max(0, fields.bytes ?? 0))
        case "end":
            var end = TraceEnd(reason: fields.reason ?? "")
            end.frames = max(0, fields.frames ?? 0)
            end.bytes = max(0, fields.bytes ?? 0)
            end.missedFrames = max(0, fields.missedFrames ?? 0)
            self = .end(end)
        default: self = .other(name: fields.record, app: app, json: json)
        }
    }
}

extension ByteBuffer {
    /// The first bytes, as many as are available.
    func getPrefix(_ bytes: Int) -> ByteBuffer {
        getSlice(at: readerIndex, length: min(bytes, readableBytes)) ?? ByteBuffer()
    }
}
