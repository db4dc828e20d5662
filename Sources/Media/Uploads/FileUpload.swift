/// The pieces of a file that an app sends by PutFile: one request with all of it, or several with offsets, in
/// any order.
struct FileUpload: Hashable, Sendable {
    private(set) var ranges = ByteRanges()
    /// The size of the whole file; nil until it is announced.
    private(set) var total: Int?
    private(set) var pieces = 0
    /// Pieces with a `crc`, and how many of them did not match it.
    private(set) var checkedPieces = 0
    private(set) var wrongPieces = 0

    enum Refusal: Hashable {
        /// Beyond `MediaLimits.maximumUploadBytes`, or at a negative offset.
        case place
        case tooManyRanges
        /// So far after the others that it would leave a larger hole than there is room for.
        case hole
    }

    /// - Parameters:
    ///   - offset: The value in the request; nil means 0.
    ///   - length: The value in the request: in the first piece the length of the whole file, otherwise of
    ///     the piece.
    ///   - bytes: The bytes received.
    ///   - isChecksumRight: Nil without `crc`.
    ///   - room: The bytes that a hole before the piece may have.
    /// - Returns: Why the piece cannot be part of a file; nil when it can.
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

    /// The size of the file, as far as it is known.
    var expectedBytes: Int { max(total ?? 0, ranges.end) }

    /// Whether everything announced has been received. Without an announcement, this is not known before the
    /// app is done.
    var isComplete: Bool { total != nil && missing == nil }

    /// Missing bytes up to the file's current end.
    var holeBytes: Int { ranges.end - ranges.count }

    /// The first missing bytes.
    var missing: Range<Int>? { ranges.firstHole(before: expectedBytes) }
}
