package import NIOCore

/// Keeps strangers from filling the log: lets some lines of a kind through and counts the rest.
package struct LineLimiter: Sendable {
    /// Enough to see who it is, too few to fill a disk.
    static let linesPerWindow = 5
    static let window: TimeAmount = .seconds(10)

    private var windowEnds = NIODeadline.uptimeNanoseconds(0)
    private var lines = 0
    private var withheld = 0

    package init() {}

    /// - Returns: nil to say nothing, else how many lines were withheld since the last one.
    package mutating func allow(at now: NIODeadline) -> Int? {
        if now >= windowEnds {
            windowEnds = now + Self.window
            lines = 0
        }
        guard lines < Self.linesPerWindow else {
            withheld += 1
            return nil
        }
        lines += 1
        defer { withheld = 0 }
        return withheld
    }

    /// The end of a line that also stands for withheld ones.
    package static func more(_ withheld: Int) -> String {
        withheld == 0 ? "" : " (and \(withheld) more like this)"
    }
}
