import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

/// A file that an app sends by PutFile, with the head unit's answers.
struct UploadTap: Sendable {
    private var media: OpenMedia
    private var upload = FileUpload()
    private var refusal: String?
    private var isTooLarge = false
    private var isTooScattered = false
    private var isTooFarApart = false
    /// Requests that are not answered yet.
    private var waiting = 0

    init(_ item: MediaItem) {
        media = OpenMedia(item)
    }

    var began: WallTime { media.item.began }
    var hasBeginning: Bool { upload.ranges.ranges.first?.lowerBound == 0 }
    /// The end of the last piece.
    var end: Int { upload.ranges.end }
    var holeBytes: Int { upload.holeBytes }
    /// Whether all of the file came and was answered.
    var isOver: Bool { upload.isComplete && waiting == 0 }

    /// - Parameter room: The bytes that a hole before the piece may have.
    mutating func add(
        _ rpc: RPCEntry, offset: Int?, room: Int, at time: WallTime, _ output: inout MediaOutput
    ) {
        waiting &+= 1
        let message = rpc.message
        let start = offset ?? 0
        var length = message.parameters.integer("length")
        // Without offset and length, the message is the whole file.
        if offset == nil, length == nil { length = message.bulkBytes }
        if start == 0, let kind = rpc.bulk?.kind { media.item.format = kind.description }
        let refused = upload.add(
            offset: start, length: length, bytes: message.bulk.readableBytes,
            isChecksumRight: rpc.bulk?.isChecksumRight, room: room)
        switch refused {
        case nil: media.write(message.bulk, at: start, time: time, &output)
        case .place: isTooLarge = true
        case .tooManyRanges: isTooScattered = true
        case .hole: isTooFarApart = true
        }
    }

    /// - Parameter result: The result of an answer that refuses a piece; nil if the answer accepts it.
    mutating func answer(refusal result: String?) {
        waiting = max(0, waiting - 1)
        if refusal == nil { refusal = result }
    }

    func finish(isReplaced: Bool, _ output: inout MediaOutput) {
        var summary = MediaSummary()
        summary.duration = media.duration
        if upload.checkedPieces > 0 { summary.isChecksumRight = upload.wrongPieces == 0 }
        if upload.wrongPieces > 0 {
            summary.problems.append(.wrongChecksum(pieces: upload.wrongPieces))
        }
        if let missing = upload.missing {
            summary.problems.append(.incomplete(missing: missing, of: upload.expectedBytes))
        }
        if isTooLarge {
            summary.problems.append(.tooLarge(bytes: MediaLimits.maximumUploadBytes))
        }
        if isTooScattered {
            summary.problems.append(.tooMany(limit: MediaLimits.maximumUploadRanges))
        }
        if isTooFarApart {
            summary.problems.append(.tooFarApart(bytes: MediaLimits.maximumHoleBytes))
        }
        if let refusal { summary.problems.append(.refused(refusal)) }
        if isReplaced { summary.problems.append(.replaced) }
        media.end(summary, &output)
    }
}
