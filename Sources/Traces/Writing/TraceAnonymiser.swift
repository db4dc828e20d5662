import NIOCore
import RelayCore
import SDLProtocol

/// Overwrites data about people, cars and networks in the entries of a trace. Frames keep their length.
package struct TraceAnonymiser {
    /// The data to mask, in addition to the names given.
    package struct Choice: Hashable, Sendable {
        /// Parameters of RPCs whose values are overwritten, in any letter case; "bulk" is the binary part.
        package var names: [String]
        /// Audio and video lose their payload.
        package var omitsStreams = true

        package init(names: [String]) { self.names = names }
    }

    private let choice: Choice
    private var mask: TraceMask
    private let clean: (String) -> String
    /// Frames in which something was overwritten or omitted.
    package private(set) var changedFrames = 0
    /// Frames left unchanged because they are encrypted.
    package private(set) var encryptedFrames = 0

    /// - Parameter clean: Removes personal data from a text for people.
    package init(_ choice: Choice, clean: @escaping (String) -> String) {
        self.choice = choice
        mask = TraceMask(choice.names + ControlMask.addresses)
        self.clean = clean
    }

    /// The header of the trace to write.
    package func header(_ header: TraceHeader) -> TraceHeader {
        var header = header
        header.accessory = Self.address(header.accessory)
        if choice.omitsStreams { header.streams = .headers }
        header.masked += choice.names.filter { !header.masked.contains($0) }
        return header
    }

    package mutating func mask(_ entry: TraceEntry) -> TraceEntry {
        var entry = entry
        entry.comments = entry.comments.map(clean)
        switch entry.content {
        case .frame(let tapped, let omitted, let isMasked):
            entry.content = frame(tapped, omitted, isMasked)
        case .bytes(var run):
            // The meaning of these bytes is unknown.
            run.bytes = ByteBuffer(repeating: 0, count: run.bytes.readableBytes)
            entry.content = .bytes(run)
        case .record(let record): entry.content = .record(self.record(record))
        }
        return entry
    }

    // MARK: Frames

    private mutating func frame(
        _ tapped: TappedFrame, _ omitted: Int, _ isMasked: Bool
    ) -> TraceEntry.Content {
        var tapped = tapped
        let frame = tapped.frame
        if frame.service.isStream, frame.type != .control {
            guard choice.omitsStreams, omitted == 0 else {
                return .frame(tapped, omitted: omitted, isMasked: isMasked)
            }
            changedFrames += 1
            tapped.frame = frame.headerOnly
            let left = frame.wire.readableBytes - tapped.frame.wire.readableBytes
            return .frame(tapped, omitted: left, isMasked: isMasked)
        }
        if frame.isEncrypted { encryptedFrames += 1 }
        var wire = frame.wire
        let hasCovered = mask.cover(&wire, tapped)
        if hasCovered {
            changedFrames += 1
            tapped.frame = Frame(checked: wire)
        }
        return .frame(tapped, omitted: omitted, isMasked: isMasked || hasCovered)
    }

    // MARK: Records

    private mutating func record(_ record: TraceRecord) -> TraceRecord {
        switch record {
        case .linkOpened(let number, let address):
            return .linkOpened(number: number, address: Self.address(address))
        case .linkClosed(let reason):
            mask.forgetAll()
            return .linkClosed(reason: clean(reason))
        case .appConnected(let app, _): return .appConnected(app, peer: Self.masked)
        case .appLeft(let app, let reason):
            mask.forget(app)
            return .appLeft(app, reason: clean(reason))
        case .notice(let code, let text, let app):
            return .notice(code: code, text: clean(text), app: app)
        case .advice(let code, let text, let app):
            return .advice(code: code, text: clean(text), app: app)
        case .mark(let text): return .mark(text: clean(text))
        case .gap:
            // The next frames may be the middle of a message.
            mask.forgetAll()
            return record
        // Unknown fields could contain anything.
        case .other: return record.known
        case .trace, .startSent, .sessionEnded, .serviceEnded, .end: return record
        }
    }

    private static let masked = "masked"

    /// Keeps the kind of link; the rest is an address, a device or a serial number.
    private static func address(_ address: String) -> String {
        guard let colon = address.firstIndex(of: ":"), !address.hasPrefix("sim:") else {
            return address.hasPrefix("sim:") ? "sim:" : masked
        }
        return address[...colon] + masked
    }
}
