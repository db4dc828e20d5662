package import ControlAPI

/// Finds the route that a request means. There is no other matcher: gate, handlers and log are
/// given its result.
package struct RouteTable: Sendable {
    /// The routes of a path.
    package struct Match: Sendable, Equatable {
        /// One per method, all with the same path.
        package let routes: [Route]
        /// The values of the segments that begin with ":", decoded.
        package let parameters: [String: String]

        /// The route for this method; HEAD finds the GET route.
        package func route(for method: String) -> Route? {
            let wanted = method == "HEAD" ? "GET" : method
            return routes.first { $0.method == wanted }
        }
    }

    private struct Path: Sendable {
        let segments: [String]
        var routes: [Route]

        var variables: Int { segments.count { $0.hasPrefix(":") } }
    }
    private let paths: [Path]

    package init(_ routes: [Route]) {
        var paths: [Path] = []
        for route in routes {
            let segments = route.path.split(separator: "/").map(String.init)
            if let index = paths.firstIndex(where: { $0.segments == segments }) {
                paths[index].routes.append(route)
            } else {
                paths.append(Path(segments: segments, routes: [route]))
            }
        }
        // "/v1/messages/stream" before "/v1/messages/:n".
        self.paths = paths.sorted { $0.variables < $1.variables }
    }

    /// nil when no route has this path.
    package func match(_ target: RequestTarget) -> Match? {
        for path in paths {
            guard path.segments.count == target.segments.count else { continue }
            if let parameters = Self.parameters(of: path.segments, in: target.segments) {
                return Match(routes: path.routes, parameters: parameters)
            }
        }
        return nil
    }

    /// nil if the segments differ. Bytes are compared: a segment that is percent-encoded or in
    /// capitals is a different word, except where any word is allowed.
    private static func parameters(
        of pattern: [String], in segments: [String]
    ) -> [String: String]? {
        var parameters: [String: String] = [:]
        for (expected, found) in zip(pattern, segments) {
            if expected.hasPrefix(":") {
                guard let text = PercentEncoding.decoded(found) else { return nil }
                parameters[String(expected.dropFirst())] = text
            } else if !expected.utf8.elementsEqual(found.utf8) {
                return nil
            }
        }
        return parameters
    }
}

/// Percent-encoding of path segments (RFC 3986, "2.1").
package enum PercentEncoding {
    /// nil if it is malformed or not UTF-8.
    package static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
