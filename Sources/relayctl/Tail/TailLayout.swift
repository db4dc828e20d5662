/// Which columns the lines of `tail` have, and their widths, to fit the terminal. Narrow terminals first
/// lose what is shown elsewhere: the correlation ID, milliseconds, units.
struct TailLayout: Sendable, Equatable {
    /// Columns of the terminal; nil when nobody is looking and lines may have any length.
    let width: Int?

    init(width: Int?) {
        self.width = width
    }

    private var room: Int { width ?? .max }

    /// Sizes as "9.4K", latencies as "12ms", and no "SUCCESS" where there is a ✓.
    var isCompact: Bool { room < 100 }
    var hasMilliseconds: Bool { room >= 100 }
    var hasTime: Bool { room >= 40 }
    var hasCorrelation: Bool { room >= 140 }
    var hasSize: Bool { room >= 50 }
    var hasLatency: Bool { room >= 60 }

    /// Longer numbers shift what follows them, for the rest of the day.
    var numberColumns: Int { room < 80 ? 4 : 5 }
    var appColumns: Int { room < 80 ? 8 : room < 100 ? 12 : 16 }
    /// Fits most RPCs, with their correlation ID where it is shown; longer ones shift only the words
    /// after them.
    var nameColumns: Int {
        switch room {
        case ..<80: 0
        case ..<100: 16
        case ..<140: 22
        default: 32
        }
    }
    var sizeColumns: Int { isCompact ? 5 : 9 }
    var latencyColumns: Int { isCompact ? 6 : 7 }
    /// Columns of the words where nobody is looking; longer ones shift size and latency.
    static let wordsColumns = 48
    /// Columns between the words and what is to their right.
    static let gap = 2
}
