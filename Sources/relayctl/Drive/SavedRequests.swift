import ArgumentParser
import ControlAPI

/// A request saved under a name; `relayctl send @NAME` sends it.
struct SavedRequest: Codable, Equatable, Sendable {
    var name: String
    var rpc: String
    /// The app it is sent for by default.
    var app: String?
    /// "request", "response" or "notification".
    var type: String?
    var parameters: AnyJSON?
    /// Assignments; names in braces are filled in (`RequestTemplate`).
    var set: [String]?
    var unchecked: Bool?
    /// Path of the file with its bulk data.
    var bulkFile: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case name, rpc, app, type, parameters, set, unchecked
        case bulkFile = "bulk_file"
    }

    /// Whether the text may follow "@": a filter's name, but "-1" is the last request that was sent.
    static func isName(_ name: String) -> Bool {
        SavedFilters.isName(name) && !name.hasPrefix("-")
    }

    /// The request as it would be typed.
    var words: String {
        var words = app.map { ["--app", Self.quoted($0)] } ?? []
        if let type { words += ["--type", type] }
        if unchecked == true { words.append("--unchecked") }
        words.append(rpc)
        words += (set ?? []).map(Self.quoted)
        if parameters != nil { words += ["--parameters", "(saved)"] }
        if let bulkFile { words += ["--bulk", Self.quoted(bulkFile)] }
        return words.joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            byte > 0x7F || SavedFilters.isName(String(UnicodeScalar(byte)))
                || "=.,:/@%+[]".utf8.contains(byte)
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}

/// Saved requests: `$XDG_CONFIG_HOME/relayd/requests.json`, which is also the format for export and
/// import. Read by `send`, changed by `request`.
struct SavedRequests: Sendable {
    typealias Problem = KeptFile.Problem

    /// The whole file.
    struct Collection: Codable, Equatable {
        /// Version of the JSON layout: 1.
        var schema = 1
        var requests: [SavedRequest] = []
    }

    static let maximumCount = 1000

    private let file: KeptFile

    var path: String { file.path }

    init(environment: (String) -> String? = KeptFile.variable) throws(Problem) {
        file = try KeptFile(
            "requests.json", of: "requests", in: .configuration, environment: environment)
    }

    init(path: String) {
        file = KeptFile(path: path)
    }

    // MARK: Reading

    /// In the order in which they were saved; empty when there is no file.
    func all() throws(Problem) -> [SavedRequest] {
        try Self.requests(in: try file.bytes(), from: path)
    }

    func request(_ name: String) throws(Problem) -> SavedRequest? {
        try all().first { $0.name == name }
    }

    /// - Parameter source: Where the bytes come from, for people.
    static func requests(in bytes: [UInt8], from source: String) throws(Problem) -> [SavedRequest] {
        guard !bytes.isEmpty else { return [] }
        let collection: Collection
        do {
            collection = try APICoding.decode(Collection.self, from: bytes)
        } catch {
            throw Problem(
                description:
                    "\(source) has no saved requests: \(reason(error)). Nothing was changed; "
                    + "correct the file, or move it away")
        }
        guard collection.schema == 1 else {
            throw Problem(
                description:
                    "\(source) is of a newer relayctl: its schema is \(collection.schema), "
                    + "this one knows 1")
        }
        if let member = unknownMember(bytes) {
            throw Problem(
                description: "\(source) has the unknown member \"\(member)\", which would be lost. "
                    + "Nothing was changed; correct the file, or move it away")
        }
        var names: Set<String> = []
        for request in collection.requests {
            guard SavedRequest.isName(request.name), names.insert(request.name).inserted else {
                throw Problem(
                    description:
                        "\(source) has a request named \"\(request.name)\", which cannot be "
                        + "a name or comes twice; expected letters, digits, _ and, behind the first, -"
                )
            }
            if let text = (request.set ?? []).first(where: { !$0.contains("=") }) {
                throw Problem(
                    description:
                        "\(source): request \(request.name) has the parameter \"\(text)\", "
                        + "expected NAME=VALUE")
            }
        }
        return collection.requests
    }

    /// A member that this relayctl would lose when it writes the file again.
    private static func unknownMember(_ bytes: [UInt8]) -> String? {
        guard case .object(let whole)? = try? APICoding.decode(AnyJSON.self, from: bytes),
            case .array(let requests)? = whole["requests"]
        else { return nil }
        let known = Set(SavedRequest.CodingKeys.allCases.map(\.rawValue))
        for case .object(let request) in requests {
            if let member = request.keys.sorted().first(where: { !known.contains($0) }) {
                return member
            }
        }
        return whole.keys.sorted().first { $0 != "schema" && $0 != "requests" }
    }

    /// Where in the JSON the error is, and what was expected.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty
                ? "all of it"
                : path.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        }
        switch error {
        case .keyNotFound(let key, let context):
            return "\(place(context.codingPath + [key])) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "\(place(context.codingPath)) is of another type"
        default: return "it is no JSON"
        }
    }

    static func text(_ requests: [SavedRequest]) throws -> [UInt8] {
        try APICoding.encode(Collection(requests: requests))
    }

    // MARK: Changing

    /// - Returns: The request that had the name before.
    @discardableResult
    func save(_ request: SavedRequest) throws(Problem) -> SavedRequest? {
        var before: SavedRequest?
        try change { requests in
            if let place = requests.firstIndex(where: { $0.name == request.name }) {
                before = requests[place]
                requests[place] = request
            } else {
                requests.append(request)
            }
        }
        return before
    }

    /// - Returns: The request that had the name; nil when there was none.
    func remove(_ name: String) throws(Problem) -> SavedRequest? {
        guard let before = try request(name) else { return nil }
        try change { requests in requests.removeAll { $0.name == name } }
        return before
    }

    /// Adds all of them or none.
    ///
    /// - Parameter replaces: Whether a request may replace another one of the same name.
    /// - Returns: How many of them are new or changed.
    func add(_ added: [SavedRequest], replaces: Bool) throws(Problem) -> Int {
        var count = 0
        try change { requests throws(Problem) in
            var taken: [String] = []
            for request in added {
                guard let place = requests.firstIndex(where: { $0.name == request.name }) else {
                    requests.append(request)
                    count += 1
                    continue
                }
                guard requests[place] != request else { continue }
                if !replaces { taken.append(request.name) }
                requests[place] = request
                count += 1
            }
            guard taken.isEmpty else {
                throw Problem(
                    description: "there are other requests named \(taken.joined(separator: ", ")); "
                        + "nothing was imported. --replace gives them up")
            }
        }
        return count
    }

    private func change(
        _ body: (inout [SavedRequest]) throws(Problem) -> Void
    ) throws(Problem) {
        try file.change { bytes throws(Problem) in
            var requests = try Self.requests(in: bytes, from: path)
            try body(&requests)
            guard requests.count <= Self.maximumCount else {
                throw Problem(
                    description:
                        "there may be \(Self.maximumCount) saved requests; nothing was changed. "
                        + "'relayctl request rm NAME' removes one")
            }
            guard let text = try? Self.text(requests) else {
                throw Problem(description: "the request has a number that JSON cannot have")
            }
            return text
        }
    }
}
