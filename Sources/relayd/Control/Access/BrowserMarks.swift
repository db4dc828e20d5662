/// The header fields by which `RequestGate` recognises a browser.
///
/// `Origin` and `Sec-Fetch-…` are not enough: a page that asks its own host sends no `Origin` with a GET,
/// and browsers send `Sec-Fetch-…` to https and loopback only (W3C Fetch Metadata, 2; "potentially
/// trustworthy URL" of Secure Contexts, 3.1). `Accept-Language` and `User-Agent` go with every request; a
/// page can change what they say, but cannot leave them out (Fetch, 4.6).
package enum BrowserMarks {
    /// Every browser calls itself this, and hardly any program does (RFC 9110, 10.1.5, advises
    /// against it).
    private static let product = "mozilla/"

    /// - Parameter name: in lower case.
    package static func contain(_ name: String, _ value: String) -> Bool {
        switch name {
        case "origin", "referer", "accept-language": true
        case "user-agent": value.lowercased().hasPrefix(product)
        default: name.hasPrefix("sec-")
        }
    }
}
