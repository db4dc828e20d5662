// Which requests are let in, before anything else looks at them: whom a browser speaks for, and
// who needs the token. `ControlServer` has one for the Unix socket and one for the dashboard's port.

package import ControlAPI
import NIOCore
import SDLProtocol

/// Decides about a request by its head. A value: no sockets in here.
///
/// Two things can send a request without anybody's wish: a web site that has a browser ask us (its
/// `Origin` or `Sec-Fetch-Site` says so), and a web site whose name was made to point at this
/// machine after its page was loaded (DNS rebinding: its name stands in `Host`). Answers to others
/// are not readable for them in any case, as relayd sends no CORS headers; but a request may have
/// done its work by then, so they are refused.
package struct RequestGate: Sendable {
    /// Which names of this machine a request may use.
    package enum Hosts: Sendable, Equatable {
        /// The Unix socket: any word without a dot, as in `curl http://relayd/`, and this machine's
        /// own addresses, for browsers that come through `ssh -L`. Web sites have names with dots.
        case words
        /// TCP: this machine's own names and the configured one.
        case named(String)
        /// TCP on all addresses: an address as it is, too. It cannot be made to point elsewhere.
        case anyAddress
    }

    package struct Head: Sendable {
        package var method = "GET"
        package var path = "/"
        /// As in `Host`, with port.
        package var authority: String?
        package var origin: String?
        package var fetchSite: String?
        package var authorization: String?

        package init(
            method: String = "GET", path: String = "/", authority: String? = nil,
            origin: String? = nil, fetchSite: String? = nil, authorization: String? = nil
        ) {
            self.method = method
            self.path = path
            self.authority = authority
            self.origin = origin
            self.fetchSite = fetchSite
            self.authorization = authorization
        }
    }

    package struct Refusal: Error, Equatable {
        package let status: Int
        package let error: APIError
    }

    package let hosts: Hosts
    /// nil where whoever can connect may do everything.
    package let token: DashboardToken?
    /// Whether looking needs the token too.
    package let readsNeedToken: Bool

    package init(hosts: Hosts, token: DashboardToken?, readsNeedToken: Bool) {
        self.hosts = hosts
        self.token = token
        self.readsNeedToken = readsNeedToken
    }

    package static let unixSocket = RequestGate(hosts: .words, token: nil, readsNeedToken: false)

    /// - Throws: why the request is not let in.
    package func check(_ head: Head) throws(Refusal) {
        guard isOurs(head.authority) else {
            throw Self.forbidden(
                """
                the request is for \(Self.shown(head.authority)), which is no name of this relayd; \
                use 127.0.0.1, localhost or the configured address
                """)
        }
        // Whoever follows a link to the page comes from another site, and changes nothing by it.
        let isVisit = Self.pagePaths.contains(head.path) && Self.isRead(head.method)
        if let site = head.fetchSite, site != "same-origin", site != "none", !isVisit {
            throw Self.forbidden("another web site asks; relayd answers its own page only")
        }
        if let origin = head.origin,
            origin.lowercased() != "http://\((head.authority ?? "").lowercased())"
        {
            throw Self.forbidden(
                """
                the request comes from \(Self.shown(origin)); relayd answers its own page only
                """)
        }
        guard let token else { return }
        if head.path == Routes.dashboard {
            throw Self.forbidden("the token is told on the Unix socket only: relayctl dashboard")
        }
        let isOpen = Self.isRead(head.method) && (!readsNeedToken || Self.isPage(head.path))
        guard isOpen || token.isBrought(by: head.authorization) else {
            let why = head.authorization == nil ? "needs the token" : "has not the present token"
            throw Refusal(
                status: 401,
                error: APIError(
                    .tokenNeeded,
                    """
                    this request \(why); send it as "Authorization: Bearer TOKEN". relayctl \
                    dashboard prints it; it is another one after each start of relayd
                    """))
        }
    }

    package func access(_ head: Head) -> DashboardAccess {
        DashboardAccess(
            reads: readsNeedToken ? .token : .open, writes: token == nil ? .open : .token,
            authorized: token?.isBrought(by: head.authorization) ?? true)
    }

    // MARK: Pieces

    /// What a person opens.
    static let pagePaths: Set<String> = [Routes.index, Routes.page]

    /// The page itself is no secret: its source is public.
    static func isPage(_ path: String) -> Bool {
        pagePaths.contains(path) || path.hasPrefix(Routes.page + "/")
    }

    private static func isRead(_ method: String) -> Bool {
        method == "GET" || method == "HEAD"
    }

    /// The port is not compared: `ssh -L` may give it another number, and no web site has one of
    /// these names. A page on another port of this machine is told by its `Origin`.
    private func isOurs(_ authority: String?) -> Bool {
        // HTTP/1.0 knows no Host; no browser speaks it.
        guard let authority else { return token == nil }
        let host = Self.host(authority.lowercased())
        guard !host.isEmpty else { return token == nil }
        if Self.ownNames.contains(host) { return true }
        switch hosts {
        case .words: return host.utf8.allSatisfy(Self.isWordByte)
        case .named(let name): return host == name.lowercased()
        case .anyAddress: return (try? SocketAddress(ipAddress: host, port: 0)) != nil
        }
    }

    private static let ownNames: Set<String> = ["127.0.0.1", "localhost", "::1"]

    /// Without port and brackets; empty when it is malformed.
    private static func host(_ authority: String) -> String {
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]"),
                isPort(authority[authority.index(after: end)...])
            else { return "" }
            return String(authority[authority.index(after: authority.startIndex)..<end])
        }
        let end = authority.firstIndex(of: ":") ?? authority.endIndex
        return isPort(authority[end...]) ? String(authority[..<end]) : ""
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || text.first == ":" && text.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func forbidden(_ message: String) -> Refusal {
        Refusal(status: 403, error: APIError(.forbidden, message))
    }

    private static func shown(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "no host at all" }
        return "\"\(PrintableText.string(text, limit: 100))\""
    }
}
