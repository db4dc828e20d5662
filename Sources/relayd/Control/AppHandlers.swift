// Answers what is asked about one app, and about advice. `ControlHandlers` adds the routes.

package import ControlAPI
import DidYouMean
import HTTPTypes
import Hummingbird
package import RelayCore
import SDLProtocol

/// The part of the control API that reads facts and advice.
package struct AppHandlers: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    let facts: SessionFacts
    let advisor: TrafficAdvisor

    package init(
        status: @escaping @Sendable () async throws -> StatusSnapshot, facts: SessionFacts,
        advisor: TrafficAdvisor
    ) {
        self.status = status
        self.facts = facts
        self.advisor = advisor
    }

    /// For a server without traffic.
    init(knowingNothingBut status: @escaping @Sendable () async throws -> StatusSnapshot) {
        let facts = SessionFacts()
        self.init(status: status, facts: facts, advisor: TrafficAdvisor(facts: facts))
    }

    func addRoutes(to router: Router<BasicRequestContext>) {
        router.get(RouterPath(Routes.app)) { _, context in
            try await answering { try await app(context.segment("app")) }
        }
        router.get(RouterPath(Routes.permission)) { _, context in
            try await answering {
                try await permission(context.segment("app"), context.segment("rpc"))
            }
        }
        router.get(RouterPath(Routes.advice)) { _, _ in try latestAdvice() }
    }

    private func latestAdvice() throws -> Response {
        try .json(AdviceList(advice: advisor.recent().reversed().map(AdviceReport.init)))
    }

    private func answering(_ body: () async throws -> Response) async throws -> Response {
        do {
            return try await body()
        } catch let error as APIError {
            return try .json(error, status: error.error.code == .ambiguous ? .conflict : .notFound)
        }
    }

    // MARK: One app

    private func app(_ wanted: String) async throws -> Response {
        let app = try AppLookup(status: try await status()).find(wanted)
        let id = AppID(rawValue: UInt64(app.id))
        return try .json(
            AppReport(
                app: app, facts: facts.facts(of: id) ?? AppFacts(), now: .now(),
                advice: advisor.advice(about: id)))
    }

    private func permission(_ wanted: String, _ name: String) async throws -> Response {
        let app = try AppLookup(status: try await status()).find(wanted)
        let facts = facts.facts(of: AppID(rawValue: UInt64(app.id))) ?? AppFacts()
        // What the head unit named counts, whether or not the specification knows it.
        guard facts.permissions[name] != nil || FunctionID(name: name) != nil else {
            throw APIError(.notFound, Self.unknown(name, facts))
        }
        return try .json(PermissionAnswer(app: app, rpc: name, facts: facts))
    }

    private static func unknown(_ name: String, _ facts: AppFacts) -> String {
        let known = FunctionID.all.map(\.name) + facts.permissions.items.keys
        let shown = PrintableText.string(name, limit: 100)
        let hint = FunctionID.near(name, in: known).map { "; did you mean \($0)?" } ?? ""
        return "there is no RPC \"\(shown)\", expected a name of the RPC specification such as "
            + "Show or OnHMIStatus\(hint)"
    }
}

extension FunctionID {
    /// The known name that differs from `name` in upper and lower case at most, else one that is
    /// near.
    fileprivate static func near(_ name: String, in known: [String]) -> String? {
        known.first { $0.lowercased() == name.lowercased() }
            ?? Spelling.nearest(name, in: known)
    }
}

extension BasicRequestContext {
    /// A path segment as it was meant; empty when its percent-encoding is broken, which no app's
    /// name is.
    func segment(_ name: String) -> String {
        PercentEncoding.decoded(parameters.get(name) ?? "") ?? ""
    }
}

/// Path segments with any character in them (RFC 3986, "2.1").
enum PercentEncoding {
    static func decoded(_ text: String) -> String? {
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
