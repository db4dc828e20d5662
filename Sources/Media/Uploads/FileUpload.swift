/// The pieces of a file that an app sends by PutFile: one request with all of it, or several with their
/// offsets, in any order.
struct FileUpload: Hashable, Sendable {
    private(set) var ranges = ByteRanges()
    /// Of the whole file; nil while nobody has said.
    private(set) var total: Int?
    private(set) var pieces = 0
    /// Pieces with a `crc`, and how many of them had another one.
    private(set) var checkedPieces = 0
    private(set) var wrongPieces = 0

    enum Refusal: Hashable {
        /// Beyond `MediaLimits.maximumUploadBytes`, or a negative place.
        case place
        case tooManyRanges
        /// So far behind the others that it would leave a hole of more bytes than there is room for.
        case hole
    }

    /// - Parameters:
    ///   - offset: As the request has it; nil is 0.
    ///   - length: As the request has it: in the first piece of the whole file, else of the piece.
    ///   - bytes: That came.
    ///   - isChecksumRight: Nil without `crc`.
    ///   - room: For a hole in front of the piece, in bytes.
    /// - Returns: Why the piece cannot be part of a file; nil when it is.
    mutating func add(
        offset: Int?, length: Int?, bytes: Int, isChecksumRight: Bool?, room: Int
    ) -> Refusal? {
        let offset = offset ?? 0
        let (end, overflow) = offset.addingReportingOverflow(bytes)
        guard offset >= 0, !overflow, end <= MediaLimits.maximumUploadBytes else { return .place }
        guard offset - ranges.end <= room else { return .hole }
        guard ranges.insert(offset..<end) else { return .tooManyRanges }
        if offset == 0, let length, length > 0 { total = length }
        pieces &+= 1
        if let isChecksumRight {
            checkedPieces &+= 1
            if !isChecksumRight { wrongPieces &+= 1 }
        }
        return nil
    }

    /// What the file has, as far as is known.
    var expectedBytes: Int { max(total ?? 0, ranges.end) }

    /// All is there that was announced. Without an announcement nobody knows before the app is done.
    var isComplete: Bool { total != nil && missing == nil }

    /// Bytes of the file, as long as it is now, that are missing.
    var holeBytes: Int { ranges.end - ranges.count }

    /// The first bytes that are missing.
    var missing: Range<Int>? { ranges.firstHole(before: expectedBytes) }
}
