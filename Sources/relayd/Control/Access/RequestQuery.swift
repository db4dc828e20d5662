// Reads the query of a request target: names and values as forms and URLSearchParams write them.
// Used by `MessageRequest`.

package import ControlAPI
import SDLProtocol

/// What stands behind the "?", in order; a name may come more than once.
package struct RequestQuery: Sendable {
    package let items: [(name: String, value: String)]

    /// - Parameter target: The request target with its path.
    /// - Throws: `APIError` when something is not percent-encoded as it should be.
    package init(_ target: String?) throws(APIError) {
        let query = (target ?? "").drop { $0 != "?" }.dropFirst()
        var items: [(name: String, value: String)] = []
        for item in query.split(separator: "&") {
            let name = item.prefix { $0 != "=" }
            let value = item.dropFirst(name.count + 1)
            items.append((try Self.decoded(name), try Self.decoded(value)))
        }
        self.items = items
    }

    /// "+" is a space (WHATWG URL, "application/x-www-form-urlencoded").
    private static func decoded(_ text: Substring) throws(APIError) -> String {
        let spaced = String(text.map { $0 == "+" ? " " : $0 })
        guard let decoded = PercentEncoding.decoded(spaced) else {
            let shown = PrintableText.string(String(text), limit: 100)
            throw APIError(
                .badRequest,
                "\"\(shown)\" in the query is not percent-encoded UTF-8; write % itself as %25")
        }
        return decoded
    }
}
