// What relayd says about its dashboard: relayctl gets the address with the token, and the page learns what
// it may do.

/// The answer to `GET /v1/dashboard`, on the Unix socket only: anyone who may ask there may have the
/// token.
package struct DashboardReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Whether the dashboard is served on a TCP port.
    package var enabled: Bool
    /// Its address, e.g. "http://127.0.0.1:2777/"; left out when it is not served.
    package var url: String?
    /// The token that a request over TCP needs, as `Authorization: Bearer`; the same after each start of
    /// relayd if a file holds it. Left out when the dashboard is not served.
    package var token: String?
    /// Why it is not served, and what to do.
    package var reason: String?

    package init(
        enabled: Bool, url: String? = nil, token: String? = nil, reason: String? = nil
    ) {
        self.enabled = enabled
        self.url = url
        self.token = token
        self.reason = reason
    }

    /// The address including its token. Browsers do not send what follows #.
    package var addressWithToken: String? {
        url.flatMap { url in token.map { url + "#token=" + $0 } }
    }
}

/// The answer to `GET /dashboard/access`: what the client may do.
package struct DashboardAccess: Codable, Sendable, Equatable {
    package enum Need: String, Codable, Sendable {
        case open
        case token
    }

    /// Version of the JSON layout: 1.
    package var schema = 1
    package var reads: Need
    package var writes: Need
    /// Whether this request brought the token, or needs none.
    package var authorized: Bool
    /// Whether this client may drive the conversation.
    package var drives: Bool
    /// Why it may not, and what to do; left out when it may.
    package var driveReason: String?

    package init(
        reads: Need, writes: Need, authorized: Bool, drives: Bool, driveReason: String? = nil
    ) {
        self.reads = reads
        self.writes = writes
        self.authorized = authorized
        self.drives = drives
        self.driveReason = driveReason
    }

    enum CodingKeys: String, CodingKey {
        case schema, reads, writes, authorized, drives
        case driveReason = "drive_reason"
    }
}

extension APIError.Code {
    /// 401: the request needs the token that `relayctl dashboard` prints, or has a wrong one.
    package static let tokenNeeded = APIError.Code(rawValue: "token_needed")
}
