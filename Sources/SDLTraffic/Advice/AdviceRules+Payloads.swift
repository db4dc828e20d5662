// Rules about the contents of messages: files, streams, frames that do not fit together.

import NIOCore
import RelayCore
import SDLAdvice
import SDLProtocol

extension AdviceRules {
    // MARK: PutFile

    mutating func considerFile(_ rpc: RPCEntry, _ entry: TrafficEntry) {
        let request = rpc.message
        guard !request.isTruncated else { return }
        let parameters = request.parameters
        // A file's name may be megabytes long, and differs from file to file. It serves as an example, cut to
        // fit a line, and is not part of the advice's key.
        var file: String {
            let name = parameters.string("syncFileName") ?? "?"
            return "PutFile \"\(PrintableText.string(name, limit: FactLimits.text))\""
        }
        guard request.bulkBytes > 0 else {
            return advise(
                .putFileLength, entry, cause: "no data", "\(file) carries no bulk data",
                remedy: "send the file's bytes behind the JSON, in the same message")
        }
        let offset = parameters.integer("offset") ?? 0
        if let length = parameters.integer("length") {
            // The first chunk announces the length of the whole file, the others their own.
            if offset == 0, request.bulkBytes > length {
                advise(
                    .putFileLength, entry, cause: "whole",
                    "\(file) announces \(length) bytes, but carries \(request.bulkBytes)")
            } else if offset > 0, request.bulkBytes != length {
                advise(
                    .putFileLength, entry, cause: "chunk",
                    "\(file) at offset \(offset) has length \(length), but carries "
                        + "\(request.bulkBytes) bytes")
            }
        }
        guard rpc.bulk?.isChecksumRight == false, let crc = parameters.integer("crc") else {
            return
        }
        advise(
            .putFileCRC, entry,
            "\(file) has crc \(crc), but its data has \(CRC32.checksum(of: request.bulk))")
    }

    // MARK: Streams

    /// sdl_core gives an app 1 s to stop (`StopStreamingTimeout`), in nanoseconds.
    private static let stopGrace: Int64 = 1_000_000_000

    mutating func consider(
        _ summary: StreamSummary, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        guard summary.frames > 0, entry.direction == .fromApp, let service = entry.service,
            let session = entry.sessionID, let notes = sessions[session]
        else { return }
        guard notes.streams.contains(service) else {
            return advise(
                .streamNotStarted, entry, cause: service.name,
                "the app sends \(service.name), but that service is not running")
        }
        guard let facts = entry.app.flatMap({ table.apps[$0] }),
            let (state, since) = Self.refusal(of: service, facts),
            summary.lastFrame.nanoseconds &- since.nanoseconds > Self.stopGrace
        else { return }
        advise(
            .streamNotAllowed, entry, cause: service.name,
            "the app keeps sending \(service.name) although the head unit says \(state)")
    }

    /// The state that forbids a stream, and since when.
    private static func refusal(
        of service: ServiceType, _ facts: AppFacts
    ) -> (state: String, since: WallTime)? {
        let isVideo = service == .video
        let word = isVideo ? "NOT_STREAMABLE" : "NOT_AUDIBLE"
        let forbidding = facts.hmiHistory.reversed().prefix {
            (isVideo ? $0.videoStreamingState : $0.audioStreamingState) == word
        }
        return forbidding.last.map { (word, $0.time) }
    }

    // MARK: Frames

    mutating func consider(_ large: LargeFrame, _ entry: TrafficEntry) {
        let service = entry.service?.name ?? ""
        let sentence =
            "\(Self.side(entry)) sends a frame of \(large.payloadBytes) payload bytes on \(service), "
            + "the mtu is \(large.mtu)"
        guard large.exceeds else {
            return advise(
                .mtuNear, entry, cause: Self.side(entry),
                sentence + "; sdl_core, the Java and the JavaScript library take it, a receiver "
                    + "that counts the frame header would not", isAboutLink: true)
        }
        advise(.mtuExceeded, entry, cause: service + Self.side(entry), sentence)
    }

    mutating func consider(_ undecodable: UndecodableEntry, _ entry: TrafficEntry) {
        count(entry)
        var name: String {
            let what = undecodable.header.map { FunctionID(rawValue: $0.functionID).description }
            return "\(what ?? "a message") of \(Self.side(entry))"
        }
        switch undecodable.reason {
        case .assembly(.expired(let received, let announced)):
            advise(
                .messageGap, entry, cause: Self.side(entry),
                "\(name) stopped after \(received) of \(announced) frames; nothing came for 10 s",
                remedy: "look at \(Self.side(entry)), which stopped sending")
        // The message ended with its session, which is reported elsewhere.
        case .assembly(.abandoned(let received, let announced)):
            remember(unfinished: undecodable, received: received, announced: announced, entry)
        case .assembly(let problem):
            advise(.messageBroken, entry, cause: Self.side(entry), "\(name): \(problem)")
        case .rpc(let error):
            if entry.direction == .fromApp, undecodable.header?.type == .request {
                remember([error.description], entry)
            }
            advise(.notAnRPC, entry, cause: Self.side(entry), "\(name): \(error)")
        case .securityQuery: break
        }
    }
}
