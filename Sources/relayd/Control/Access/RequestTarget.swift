package import ControlAPI

/// Reads the request target strictly: every path has only one spelling, so that no part can mistake
/// a request for another. Created by `ControlResponder` before anything else.
package struct RequestTarget: Equatable, Sendable {
    /// Without slashes, still percent-encoded; empty for "/".
    package let segments: [String]

    /// - Parameter text: The request target as received, with its query; only the origin form of
    ///   RFC 9112, "3.2.1", is accepted.
    /// - Throws: `APIError`: 400 if it is not a path at all, 404 if it is a path in another
    ///   spelling than that of the routes.
    package init(_ text: String?) throws(APIError) {
        guard let text, text.utf8.first == UInt8(ascii: "/"), !text.utf8.contains(UInt8(ascii: "#"))
        else {
            throw APIError(
                .badRequest,
                "the request is not for a path; expected one like /v1/status, without host and #")
        }
        let path = text.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard path.count > 1 else {
            segments = []
            return
        }
        let segments = path.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        self.segments = segments.map { String(Substring($0)) }
        guard self.segments.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }) else {
            throw APIError(
                .notFound,
                "there is nothing at this path: it has empty parts or dots, which no route has")
        }
    }
}
