package import ControlAPI
import NIOCore
import RelayCore
import SDLProtocol

/// Decides which requests are admitted, by head and route: on whose behalf a browser asks, and who
/// needs the token. One for the Unix socket, one for the dashboard's port. A value: no sockets in
/// here.
///
/// Requests that no user intended can come from two sources: a web site that makes a browser ask us
/// (its `Origin` or `Sec-Fetch-Site` says so), and a web site whose name was made to point at this
/// machine after its page was loaded (DNS rebinding: its name is in `Host`). Neither can read
/// answers in any case, as relayd sends no CORS headers; but the request may have taken effect by
/// then, so both are refused.
package struct RequestGate: Sendable {
    /// The names of this machine that a request may use. Loopback addresses and "localhost" are
    /// always allowed.
    package enum Hosts: Sendable, Equatable {
        /// The Unix socket: "relayd" without a port, as tools write it, or no name at all, as old tools
        /// do. A browser sends the port, unless it is 80; so a page of a host that is called "relayd" in
        /// its network, and then points that name at a forwarded socket, uses a different name here.
        case socket
        /// TCP: the configured name.
        case named(String)
        /// TCP on all addresses: any numeric address too. It cannot be made to point elsewhere.
        case anyAddress
    }

    /// Who has to send the token.
    package enum Need: Sendable, Equatable {
        case nobody
        /// Clients that are browsers (`BrowserMarks`). The Unix socket knows the user of the program
        /// that connects; if that is `ssh -L`, a page in a browser on the other machine may be behind
        /// it.
        case browsers
        case everybody
    }

    package struct Head: Sendable {
        /// As in `Host`, with port.
        package var authority: String?
        package var origin: String?
        package var fetchSite: String?
        /// Whether the request came from a browser.
        package var isFromBrowser: Bool
        package var authorization: String?

        /// - Parameter hasBrowserMark: Whether there is any field of `BrowserMarks`.
        package init(
            authority: String? = nil, origin: String? = nil, fetchSite: String? = nil,
            hasBrowserMark: Bool = false, authorization: String? = nil
        ) {
            self.authority = authority
            self.origin = origin
            self.fetchSite = fetchSite
            isFromBrowser = origin != nil || fetchSite != nil || hasBrowserMark
            self.authorization = authorization
        }
    }

    package struct Refusal: Error, Equatable {
        package let status: Int
        package let error: APIError
    }

    package let hosts: Hosts
    package let token: DashboardToken
    /// Who needs the token to look.
    package let reads: Need
    /// Who needs the token to make changes.
    package let writes: Need
    /// Whether clients other than browsers can get the token itself here.
    package let tellsToken: Bool
    /// Whether only the control socket's owners can have got the token, so that a client with the token
    /// may drive the conversation.
    package let isTokenOfOwners: Bool

    /// The gate of the Unix socket: the kernel says who connects, so only browsers need the token.
    package static func unixSocket(_ token: DashboardToken) -> RequestGate {
        RequestGate(
            hosts: .socket, token: token, reads: .browsers, writes: .browsers, tellsToken: true,
            isTokenOfOwners: true)
    }

    /// The gate of the dashboard's port. Nobody can point its host names elsewhere, so a browser
    /// may look without the token if everybody may.
    package static func port(
        _ hosts: Hosts, _ token: DashboardToken, readsNeedToken: Bool, isTokenOfOwners: Bool = true
    ) -> RequestGate {
        RequestGate(
            hosts: hosts, token: token, reads: readsNeedToken ? .everybody : .nobody,
            writes: .everybody, tellsToken: false, isTokenOfOwners: isTokenOfOwners)
    }

    /// Refuses requests of other web sites.
    ///
    /// - Parameter route: nil if no route matched; then the answer will be an error.
    /// - Throws: why the request is not let in.
    package func checkSite(_ head: Head, _ route: Route?) throws(Refusal) {
        guard isOurs(head.authority) else {
            throw Self.forbidden(
                """
                the request is for \(Self.shown(head.authority)), which is not a name of this relayd; \
                use \(ownNames)
                """)
        }
        // A browser that follows a link to the page comes from another site, and changes nothing.
        let isVisit = route.map { $0.path == Routes.index || $0.path == Routes.page } ?? false
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
    }

    /// Checks the token if this route needs it. `WritePolicy` decides who may make changes or drive on
    /// the Unix socket.
    ///
    /// - Throws: why the request is not let in.
    package func check(_ head: Head, for route: Route) throws(Refusal) {
        if route.access == .open { return }
        if route.access == .secret, !tellsToken || head.isFromBrowser {
            throw Self.forbidden(
                "only programs on the Unix socket get the token: relayctl dashboard")
        }
        if route.access == .drive, !isTokenOfOwners { throw Self.forbidden(Self.notHere) }
        let need = route.access == .read ? reads : writes
        guard !applies(need, to: head) || token.isBrought(by: head.authorization) else {
            let why =
                head.authorization == nil ? "needs the token" : "does not carry the current token"
            throw Refusal(
                status: 401,
                error: APIError(
                    .tokenNeeded,
                    """
                    this request \(why); send it as "Authorization: Bearer TOKEN". relayctl \
                    dashboard prints it\(token.isNewAtEachStart ? Self.isNew : "")
                    """))
        }
    }

    /// What the page is told about its access.
    ///
    /// - Parameter drive: Whether anybody may drive the conversation.
    package func access(_ head: Head, _ drive: DriveSwitch) -> DashboardAccess {
        let isAuthorized = !applies(writes, to: head) || token.isBrought(by: head.authorization)
        var reason: String?
        if !drive.isOn {
            reason = DriveSwitch.remedy
        } else if !isTokenOfOwners {
            reason = Self.notHere
        } else if !isAuthorized {
            reason = "driving the conversation needs the token that relayctl dashboard prints"
        }
        return DashboardAccess(
            reads: applies(reads, to: head) ? .token : .open,
            writes: applies(writes, to: head) ? .token : .open,
            authorized: isAuthorized, drives: reason == nil, driveReason: reason)
    }

    // MARK: Pieces

    private static let notHere = """
        only programs on the Unix socket may drive the conversation, such as relayctl: with \
        control.read_only_for_others: false, others than its owners can have the dashboard's token
        """
    private static let isNew = "; relayd generates a new one at every start"

    private func applies(_ need: Need, to head: Head) -> Bool {
        switch need {
        case .nobody: false
        case .browsers: head.isFromBrowser
        case .everybody: true
        }
    }

    private var ownNames: String {
        hosts == .socket
            ? "localhost, 127.0.0.1, or relayd without a port"
            : "127.0.0.1, localhost or the configured address"
    }

    /// The port is not compared if no web site can have the name: `ssh -L` may use another number.
    /// A page on another port of this machine is recognised by its `Origin`.
    private func isOurs(_ authority: String?) -> Bool {
        // HTTP/1.0 has no Host, and no browser speaks it. `AccessControl` has refused HTTP/1.1
        // without one.
        guard let authority, !authority.isEmpty else { return hosts == .socket }
        let host = Self.host(authority.lowercased())
        if host.isEmpty { return false }
        if ListenAddress.isLoopback(host) { return true }
        switch hosts {
        case .socket: return authority.lowercased() == "relayd"
        case .named(let name): return host == name.lowercased()
        case .anyAddress: return (try? SocketAddress(ipAddress: host, port: 0)) != nil
        }
    }

    /// The host without port and brackets; empty if malformed.
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

    private static func forbidden(_ message: String) -> Refusal {
        Refusal(status: 403, error: APIError(.forbidden, message))
    }

    private static func shown(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "no host at all" }
        return "\"\(PrintableText.string(text, limit: 100))\""
    }
}
