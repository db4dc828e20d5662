/// Computes four bytes that give a file of zeros a chosen CRC-32. A PutFile whose file was overwritten thus
/// still matches its `crc`: a head unit would refuse it otherwise.
enum CRCPatch {
    /// The polynomial of zlib's CRC-32, bits reversed.
    private static let polynomial: UInt32 = 0xEDB8_8320

    /// A file of four bytes would come out unchanged, and one of a few more could be guessed.
    private static let leastBytes = 16

    /// - Parameter count: The bytes of the file, including these.
    /// - Returns: The file's first four bytes, the lowest first; nil for a file that is too short.
    static func bytes(crc: UInt32, count: Int) -> UInt32? {
        guard count >= leastBytes else { return nil }
        // With zeros only, the initial state would have had to be this one; it is all ones.
        return undone(~crc, bits: count.multipliedReportingOverflow(by: 8)) ^ .max
    }

    /// The state before so many zero bits: the matrix of one step back, by repeated squaring.
    private static func undone(
        _ state: UInt32, bits: (partialValue: Int, overflow: Bool)
    ) -> UInt32 {
        guard !bits.overflow else { return state }
        var (state, left) = (state, bits.partialValue)
        var matrix = (0..<32).map { stepBack(1 << $0) }
        while left > 0 {
            if left & 1 == 1 { state = product(matrix, state) }
            left >>= 1
            matrix = matrix.map { product(matrix, $0) }
        }
        return state
    }

    private static func stepBack(_ state: UInt32) -> UInt32 {
        state & 0x8000_0000 == 0 ? state << 1 : (state ^ polynomial) << 1 | 1
    }

    /// - Parameter matrix: The image of each bit of a state, the lowest first.
    private static func product(_ matrix: [UInt32], _ state: UInt32) -> UInt32 {
        matrix.enumerated().reduce(0) { sum, column in
            state >> UInt32(column.offset) & 1 == 1 ? sum ^ column.element : sum
        }
    }
}
