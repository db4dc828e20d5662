import RelayCore
package import Traces

/// The entries of one or several traces, one file after the other. Memory does not grow with them.
///
/// Each file of a ring begins with the current connections; what the previous file has already told is not
/// repeated.
package struct TraceFiles: ~Copyable {
    private final class Open {
        var file: TraceFile

        init(_ file: consuming TraceFile) { self.file = file }
    }

    private let paths: [String]
    private var next = 0
    private var open: Open?
    private var apps: [AppID: String] = [:]
    private var link: Int?
    /// The latest time in the files before this one, and in all so far.
    private var told = WallTime(nanoseconds: .min)
    private var latest = WallTime(nanoseconds: .min)
    private let onEnd: (_ path: String, _ unfinishedBytes: Int) -> Void

    /// A bench has a handful; in a trace with more, connections may be reported again.
    private static let maximumApps = 4096

    /// - Parameter onEnd: Called at the end of each file with the number of bytes in a packet that its writer
    ///   did not finish.
    package init(
        _ paths: [String],
        onEnd: @escaping (_ path: String, _ unfinishedBytes: Int) -> Void = { _, _ in }
    ) {
        self.paths = paths
        self.onEnd = onEnd
    }

    /// The next entry; nil at the end of the last file.
    ///
    /// - Throws: `TraceFileError` when a file cannot be read or is not a trace.
    package mutating func nextEntry() throws(TraceFileError) -> TraceEntry? {
        while true {
            if open == nil {
                guard next < paths.count else { return nil }
                open = Open(try TraceFile(paths[next]))
                next += 1
            }
            while let entry = try open?.file.next() {
                latest = max(latest, entry.time)
                if follow(entry) { return entry }
            }
            told = latest
            onEnd(paths[next - 1], open?.file.unfinishedBytes ?? 0)
            open = nil
        }
    }

    /// Tracks the current connections.
    ///
    /// - Returns: Whether the entry is new compared with the previous files.
    private mutating func follow(_ entry: TraceEntry) -> Bool {
        guard case .record(let record) = entry.content else {
            return entry.frame?.isEarlier != true || entry.time > told
        }
        switch record {
        case .linkOpened(let number, _):
            defer { link = number }
            return link != number || next == 1
        case .linkClosed: link = nil
        case .appConnected(let app, let peer):
            defer { if apps.count < Self.maximumApps { apps[app] = peer } }
            return apps[app] != peer || next == 1
        case .appLeft(let app, _): apps[app] = nil
        default: break
        }
        return true
    }
}
