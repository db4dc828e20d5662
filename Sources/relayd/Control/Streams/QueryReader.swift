// The common part of reading queries for messages, events and vehicle messages.

import ControlAPI
import DidYouMean
import SDLProtocol

/// A key of the query of a route.
protocol QueryKey: RawRepresentable<String>, Hashable {
    /// Whether it may be given more than once.
    var isRepeatable: Bool { get }
}

extension MessageQueryKey: QueryKey {}
extension VehicleQueryKey: QueryKey {}

/// Reads a query in order, key by key.
struct QueryReader<Key: QueryKey> {
    private var rest: ArraySlice<(name: String, value: String)>
    private let known: [Key]
    private var seen: Set<Key> = []

    /// - Parameter known: The keys of the route.
    init(_ query: RequestQuery, known: [Key]) {
        rest = query.items[...]
        self.known = known
    }

    /// The next key with its value; nil after the last.
    ///
    /// - Throws: `APIError` about an unknown key, or one that is given twice but not repeatable.
    mutating func next() throws(APIError) -> (key: Key, value: QueryValue)? {
        guard let (name, text) = rest.popFirst() else { return nil }
        guard let key = known.first(where: { $0.rawValue == name }) else { throw unknown(name) }
        guard seen.insert(key).inserted || key.isRepeatable else {
            throw APIError(.badRequest, "\"\(key.rawValue)\" is given twice; expected once")
        }
        return (key, QueryValue(key: key.rawValue, text: text))
    }

    private func unknown(_ name: String) -> APIError {
        let known = known.map(\.rawValue)
        let hint = Spelling.nearest(name, in: known).map { "; did you mean \"\($0)\"?" }
        let shown = PrintableText.string(name, limit: 40)
        return APIError(
            .badRequest,
            "there is no \"\(shown)\" in the query; known: "
                + known.joined(separator: ", ") + (hint ?? ""))
    }
}

/// A value of a query, and its conversions. Errors say what was found and what was expected.
struct QueryValue {
    /// The key as named in errors.
    let key: String
    let text: String

    func number(_ range: ClosedRange<Int>) throws(APIError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            let upTo = range.upperBound == .max ? " up" : " to \(range.upperBound)"
            throw mismatch("a whole number from \(range.lowerBound)\(upTo)")
        }
        return number
    }

    func flag() throws(APIError) -> Bool {
        guard text == "0" || text == "1" else { throw mismatch("1 or 0") }
        return text == "1"
    }

    func word<Value>(
        of known: [String], _ value: (String) -> Value?
    ) throws(APIError) -> Value {
        guard known.contains(text), let value = value(text) else {
            throw mismatch("one of " + known.joined(separator: ", "))
        }
        return value
    }

    func mismatch(_ expected: String) -> APIError {
        let shown = PrintableText.string(text, limit: 100)
        return APIError(.badRequest, "\(key) is \"\(shown)\"; expected \(expected)")
    }
}

/// The number after which a client that has read before continues.
struct QueryCursor: Sendable {
    var after: UInt64?
    /// The run of relayd, or the recording, that the number is from; nil for the current one.
    var instance: String?

    /// Takes the position of a browser that reconnects, if the query has none.
    mutating func resume(_ request: ControlRequest) {
        guard after == nil, let last = StreamFraming.lastEvent(request) else { return }
        (instance, after) = (last.instance, UInt64(clamping: last.after))
    }

    /// The number to continue after in this run; nil if none is given. A number of another run counts as 0.
    func number(in instance: String) -> UInt64? {
        after.map { (self.instance ?? instance) == instance ? $0 : 0 }
    }
}
