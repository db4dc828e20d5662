import ControlAPI

/// The requests sent last: `$XDG_STATE_HOME/relayd/requests`, one line of JSON per request, oldest first.
/// Written by `send`, shown by `request history`.
struct RequestHistory: Sendable {
    typealias Problem = KeptFile.Problem

    struct Entry: Codable, Equatable, Sendable {
        /// RFC 3339, in UTC.
        var time: String
        /// As it was sent; its name is empty.
        var request: SavedRequest
        /// The result code, or else what became of the request.
        var outcome: String
    }

    /// Maximum number of entries; older ones are removed.
    static let maximumCount = 200
    /// Maximum size of an entry in bytes; larger ones are not kept, so that all entries fit in the file.
    static let maximumEntryBytes = 4096

    private let file: KeptFile

    var path: String { file.path }

    init(environment: (String) -> String? = KeptFile.variable) throws(Problem) {
        file = try KeptFile(
            "requests", of: "requests that were sent", in: .state, environment: environment)
    }

    init(path: String) {
        file = KeptFile(path: path)
    }

    /// Oldest first. Lines that are not entries are skipped.
    func all() throws(Problem) -> [Entry] {
        Self.lines(try file.bytes()).compactMap {
            try? APICoding.decode(Entry.self, from: Array($0))
        }
    }

    /// - Parameter back: 1 for the latest.
    func entry(_ back: Int) throws(Problem) -> Entry? {
        let entries = try all()
        guard back >= 1, back <= entries.count else { return nil }
        return entries[entries.count - back]
    }

    func add(_ entry: Entry) throws(Problem) {
        guard let line = try? APICoding.encodeLine(entry), line.count <= Self.maximumEntryBytes
        else { return }
        try file.change { bytes throws(Problem) in
            let kept = Self.lines(bytes).suffix(Self.maximumCount - 1)
            return (kept.map(Array.init) + [line]).flatMap { $0 + [UInt8(ascii: "\n")] }
        }
    }

    /// - Returns: The number of entries removed.
    func clear() throws(Problem) -> Int {
        let count = try all().count
        if count > 0 { try file.change { _ throws(Problem) in [] } }
        return count
    }

    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: "\n"))
    }
}
