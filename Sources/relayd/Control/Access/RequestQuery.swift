package import ControlAPI
import SDLProtocol

/// The query of a request target: names and values as forms and URLSearchParams write them, in
/// order; a name may occur more than once.
package struct RequestQuery: Sendable {
    package let items: [(name: String, value: String)]

    /// - Parameter target: The request target with its path.
    /// - Throws: `APIError` for malformed percent-encoding.
    package init(_ target: String?) throws(APIError) {
        // Bytes, as `RequestTarget` reads them: followed by a combining mark, "?" would be another
        // character.
        let query = (target ?? "").utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        var items: [(name: String, value: String)] = []
        for item in query.split(separator: UInt8(ascii: "&")) {
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = item.dropFirst(name.count + 1)
            items.append((try Self.decoded(name), try Self.decoded(value)))
        }
        self.items = items
    }

    /// "+" is a space (WHATWG URL, "application/x-www-form-urlencoded").
    private static func decoded(_ text: Substring.UTF8View) throws(APIError) -> String {
        let spaced = String(
            decoding: text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
        guard let decoded = PercentEncoding.decoded(spaced) else {
            let shown = PrintableText.string(String(Substring(text)), limit: 100)
            throw APIError(
                .badRequest,
                "\"\(shown)\" in the query is not percent-encoded UTF-8; write % itself as %25")
        }
        return decoded
    }
}
