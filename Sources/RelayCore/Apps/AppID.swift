/// Numbers app connections from 1 in order of arrival; never reused while relayd runs.
package struct AppID: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    package var rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    /// As people see it: `#3`.
    package var description: String { "#\(rawValue)" }
}
