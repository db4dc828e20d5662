import ControlAPI
import DidYouMean
import RelayCore
import SDLProtocol
import SDLTraffic

/// Answers requests about one app, and about advice.
package struct AppHandlers: Sendable {
    let apps: AppFinder
    let facts: SessionFacts
    let advisor: TrafficAdvisor

    /// - Parameter catchUp: Waits until the observers have caught up with the traffic, with a time
    ///   limit.
    init(
        status: @escaping @Sendable () async throws -> StatusSnapshot, facts: SessionFacts,
        advisor: TrafficAdvisor, catchUp: @escaping @Sendable () async -> Void = {}
    ) {
        apps = AppFinder(status: status, catchUp: catchUp)
        (self.facts, self.advisor) = (facts, advisor)
    }
}

extension AppHandlers {
    /// For a server without traffic.
    init(knowingNothingBut status: @escaping @Sendable () async throws -> StatusSnapshot) {
        let facts = SessionFacts()
        self.init(status: status, facts: facts, advisor: TrafficAdvisor(facts: facts))
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.app) { _, context in
            try ControlResponse.json(try await app(context.segment("app")))
        }
        routes.get(Routes.permission) { _, context in
            try await permission(context.segment("app"), context.segment("rpc"))
        }
        routes.get(Routes.advice) { _, _ in
            await apps.catchUp()
            return try latestAdvice()
        }
    }

    private func latestAdvice() throws -> ControlResponse {
        try .json(AdviceList(advice: advisor.recent().reversed().map(AdviceReport.init)))
    }

    // MARK: One app

    /// - Parameter wanted: Its number, name or app ID.
    func app(_ wanted: String) async throws -> AppReport {
        let app = try await apps.find(wanted)
        let id = AppID(rawValue: UInt64(app.id))
        return AppReport(
            app: app, facts: facts.facts(of: id) ?? AppFacts(), now: .now(),
            advice: advisor.advice(about: id))
    }

    private func permission(_ wanted: String, _ name: String) async throws -> ControlResponse {
        let app = try await apps.find(wanted)
        let facts = facts.facts(of: AppID(rawValue: UInt64(app.id))) ?? AppFacts()
        // An RPC named by the head unit counts, whether or not the specification knows it.
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
    /// The known name that differs from `name` in letter case at most, else a similar one.
    fileprivate static func near(_ name: String, in known: [String]) -> String? {
        known.first { $0.lowercased() == name.lowercased() }
            ?? Spelling.nearest(name, in: known)
    }
}
