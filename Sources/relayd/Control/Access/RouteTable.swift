package import ControlAPI

/// Finds the route that a request means. There is no other matcher: gate, handlers and log are
/// handed what this one found.
package struct RouteTable: Sendable {
    /// What a path means.
    package struct Match: Sendable, Equatable {
        /// One per method, all with the same path.
        package let routes: [Route]
        /// What stands for the segments that begin with ":", decoded.
        package let parameters: [String: String]

        /// The route for this method; HEAD asks for what GET answers.
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

    /// nil when the segments differ. Bytes are compared: what is percent-encoded or in capitals is
    /// another word, except where any word may stand.
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

/// Path segments with any character in them (RFC 3986, "2.1").
package enum PercentEncoding {
    /// nil when it is broken, or no UTF-8.
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
