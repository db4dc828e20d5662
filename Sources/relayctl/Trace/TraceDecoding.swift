import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// Decodes entries of a trace as relayd decodes what passes: the same messages with the same numbers,
/// counted from 1, by the recording's own clock.
struct TraceDecoding {
    private var decoder: TrafficDecoder
    private var now: WallTime?
    /// When time passed is looked at next.
    private var nextLook = Int64.min
    private var began: WallTime?

    /// Nanoseconds of the recording between two looks at what is due: what is late is told so exactly.
    private static let look: Int64 = 50_000_000
    /// What can be due between two frames at most; more means that a clock makes no sense.
    private static let maximumDue = 4096

    /// - Parameter isValidating: Whether RPCs are compared with the specification.
    init(isValidating: Bool = true) {
        decoder = TrafficDecoder(validator: isValidating ? .builtIn : nil)
    }

    /// Appends what the entry amounts to, behind what has become due until then.
    mutating func receive(_ entry: TraceEntry, into entries: inout [TrafficEntry]) {
        if case .record(let record) = entry.content {
            switch record {
            case .trace:
                if began == nil { began = entry.time }
                return
            case .linkOpened, .appConnected:
                // They were there before: answers may belong to requests that nobody has recorded.
                if let began, entry.time < began { decoder.beginsInTheMiddle(at: began) }
            default: break
            }
        }
        advance(to: entry.time, into: &entries)
        if let item = entry.item { decoder.receive(item, into: &entries) }
    }

    /// The end of the trace: what was counted and not told yet.
    mutating func finish(into entries: inout [TrafficEntry]) {
        decoder.finish(into: &entries)
    }

    private mutating func advance(to time: WallTime, into entries: inout [TrafficEntry]) {
        guard time.nanoseconds >= nextLook || time < now ?? time else { return }
        now = time
        nextLook = time.nanoseconds.addingReportingOverflow(Self.look).partialValue
        var last = Int64.min
        for _ in 0..<Self.maximumDue {
            guard let due = decoder.nextDeadline, due < time, due.nanoseconds > last else { return }
            last = due.nanoseconds
            decoder.advance(to: due, into: &entries)
        }
    }
}
