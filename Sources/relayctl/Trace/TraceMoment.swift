import ControlAPI
import RelayCore

/// A moment of a recording, as people type it.
enum TraceMoment {
    /// Nanoseconds since the beginning.
    case since(Int64)
    case text(String)

    init?(_ text: String) {
        if text.hasPrefix("+") {
            guard let milliseconds = TimeArgument.milliseconds(String(text.dropFirst())) else {
                return nil
            }
            self = .since(milliseconds * 1_000_000)
        } else {
            guard TimeArgument.moment(text) != nil else { return nil }
            self = .text(text)
        }
    }

    /// - Parameter beginning: Start of the recording; a time of day is the first one from then on.
    func time(_ beginning: WallTime) -> WallTime {
        switch self {
        case .since(let nanoseconds):
            let (time, overflow) = beginning.nanoseconds.addingReportingOverflow(nanoseconds)
            return WallTime(nanoseconds: overflow ? .max : time)
        case .text(let text):
            let day: Int64 = 86_400_000
            let now = Timestamp(
                millisecondsSince1970: beginning.nanoseconds / 1_000_000 + day - 1)
            guard let found = TimeArgument.moment(text, now: now) else { return beginning }
            let (time, overflow) = found.millisecondsSince1970.multipliedReportingOverflow(
                by: 1_000_000)
            return WallTime(nanoseconds: overflow ? .max : time)
        }
    }
}
