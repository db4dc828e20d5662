/// Filters saved under a name: `$XDG_CONFIG_HOME/relayd/filters`, one line `name = filter` for each. Read
/// by `tail` and `log`, changed by `filter`.
struct SavedFilters: Sendable {
    typealias Problem = KeptFile.Problem

    struct Filter: Sendable, Equatable {
        var name: String
        var text: String
    }

    private let file: KeptFile

    var path: String { file.path }

    /// - Throws: `Problem` where neither `$XDG_CONFIG_HOME` nor `$HOME` gives a place.
    init(environment: (String) -> String? = KeptFile.variable) throws(Problem) {
        file = try KeptFile(
            "filters", of: "filters", in: .configuration, environment: environment)
    }

    init(path: String) {
        file = KeptFile(path: path)
    }

    /// Letters and digits of ASCII, "_" and "-", at most 40.
    static func isName(_ name: String) -> Bool {
        (1...40).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
    }

    // MARK: Reading

    /// In the order of the file; empty when there is no file.
    func all() throws(Problem) -> [Filter] {
        Self.lines(try file.bytes()).compactMap(Self.filter)
    }

    /// The last one of that name.
    func text(of name: String) throws(Problem) -> String? {
        try all().last { $0.name == name }?.text
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        var bytes = bytes[...]
        // Editors on other systems add a byte order mark at the start and end lines with "\r\n", which is
        // one `Character`.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        return bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Nil for a comment, and for a line that is not a filter.
    private static func filter(_ line: String) -> Filter? {
        guard let sign = line.firstIndex(of: "=") else { return nil }
        let name = line[..<sign].trimmed
        guard isName(name) else { return nil }
        return Filter(name: name, text: line[line.index(after: sign)...].trimmed)
    }

    // MARK: Changing

    /// - Returns: The filter that had the name before.
    @discardableResult
    func save(_ filter: Filter) throws(Problem) -> String? {
        let line = "\(filter.name) = \(filter.text)"
        var before: String?
        try change { lines in
            if let place = lines.lastIndex(where: { Self.filter($0)?.name == filter.name }) {
                before = Self.filter(lines[place])?.text
                lines[place] = line
            } else {
                lines.append(line)
            }
        }
        return before
    }

    /// - Returns: The filter that had the name; nil when there was none.
    func remove(_ name: String) throws(Problem) -> String? {
        guard let before = try text(of: name) else { return nil }
        try change { lines in lines.removeAll { Self.filter($0)?.name == name } }
        return before
    }

    /// Changes the lines; comments stay.
    private func change(_ body: (inout [String]) -> Void) throws(Problem) {
        try file.change { bytes throws(Problem) in
            var lines = Self.lines(bytes)
            if lines.last == "" { lines.removeLast() }
            if lines.isEmpty {
                lines = ["# Filters of relayctl: name = filter. 'relayctl tail @name' uses one."]
            }
            body(&lines)
            return Array((lines.joined(separator: "\n") + "\n").utf8)
        }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        let start = drop { $0.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...end])
    }
}
