import RelayCore
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct PermissionVerdictTests {
    private func app(level: String? = "NONE", permissions: String? = nil) throws -> AppFacts {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        if let level { talk.notification(.onHMIStatus, #"{"hmiLevel":"\#(level)"}"#) }
        if let permissions {
            talk.notification(.onPermissionsChange, #"{"permissionItem":[\#(permissions)]}"#)
        }
        var table = FactsTable()
        for entry in talk.entries { table.apply(entry) }
        return try #require(table.apps[AppID(rawValue: 1)])
    }

    private func item(
        _ name: String, _ allowed: [String], userDisallowed: [String] = [],
        parameters: [String] = []
    ) -> String {
        func list(_ words: [String]) -> String {
            "[" + words.map { "\"\($0)\"" }.joined(separator: ",") + "]"
        }
        return #"{"rpcName":"\#(name)","hmiPermissions":{"allowed":\#(list(allowed)),"#
            + #""userDisallowed":\#(list(userDisallowed))},"#
            + #""parameterPermissions":{"allowed":\#(list(parameters)),"userDisallowed":[]}}"#
    }

    @Test("an allowed RPC is allowed, with the level that does it")
    func allowed() throws {
        let facts = try app(level: "FULL", permissions: item("Show", ["FULL", "LIMITED"]))
        let verdict = PermissionVerdict("Show", of: facts)
        #expect(verdict.answer == .yes && verdict.cause == .allowed && verdict.remedy == nil)
        #expect(verdict.reason == "it is allowed in FULL or LIMITED, and the app is in FULL")
    }

    @Test("conditions that remain are told")
    func restrictions() throws {
        let facts = try app(
            level: "FULL",
            permissions: item("SubscribeVehicleData", ["FULL"], parameters: ["speed"]))
        let verdict = PermissionVerdict("SubscribeVehicleData", of: facts)
        #expect(verdict.reason.hasSuffix("; only with the parameters the head unit lists"))
        #expect(verdict.permission?.allowedParameters == ["speed"])
    }

    @Test("the wrong level is named with the right ones, also before the first OnHMIStatus")
    func wrongLevel() throws {
        for level in ["NONE", nil] {
            let facts = try app(
                level: level, permissions: item("Show", ["BACKGROUND", "FULL", "LIMITED"]))
            let verdict = PermissionVerdict("Show", of: facts)
            #expect(verdict.answer == .no && verdict.cause == .wrongLevel)
            #expect(
                verdict.reason
                    == "it is allowed in FULL, LIMITED or BACKGROUND, but the app is in NONE")
            #expect(verdict.remedy == "send it after OnHMIStatus with FULL, LIMITED or BACKGROUND")
        }
    }

    @Test("what is not granted, refused by the user or not known yet is told apart")
    func others() throws {
        let facts = try app(
            level: "FULL",
            permissions: [
                item("Alert", ["LIMITED"], userDisallowed: ["FULL"]), item("Speak", []),
            ].joined(separator: ","))
        #expect(PermissionVerdict("Alert", of: facts).cause == .refusedByUser)
        #expect(PermissionVerdict("Speak", of: facts).cause == .notGranted)
        let unnamed = PermissionVerdict("SendLocation", of: facts)
        #expect(unnamed.cause == .notGranted && unnamed.remedy?.contains("relay-test") == true)
        let unknown = PermissionVerdict("Show", of: try app())
        #expect(unknown.answer == .unknown && unknown.cause == .noPermissionsYet)
    }

    @Test("before the registration only the registration is allowed, after it not any more")
    func registration() throws {
        #expect(PermissionVerdict("Show", of: AppFacts()).cause == .notRegistered)
        #expect(PermissionVerdict("RegisterAppInterface", of: AppFacts()).answer == .yes)
        #expect(
            PermissionVerdict("RegisterAppInterface", of: try app()).cause == .alreadyRegistered)
    }

    @Test("notifications come or do not come")
    func notification() throws {
        let facts = try app(level: "NONE", permissions: item("OnVehicleData", ["FULL"]))
        let verdict = PermissionVerdict("OnVehicleData", of: facts)
        #expect(verdict.reason == "it is sent in FULL, but the app is in NONE")
    }

    @Test("a later OnPermissionsChange changes what it names and keeps the rest")
    func merges() throws {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        talk.notification(.onHMIStatus, #"{"hmiLevel":"FULL"}"#)
        for list in [item("Show", ["FULL"]) + "," + item("Alert", ["FULL"]), item("Alert", [])] {
            talk.notification(.onPermissionsChange, #"{"permissionItem":[\#(list)]}"#)
        }
        var table = FactsTable()
        for entry in talk.entries { table.apply(entry) }
        let facts = try #require(table.apps[AppID(rawValue: 1)])
        #expect(PermissionVerdict("Show", of: facts).answer == .yes)
        #expect(PermissionVerdict("Alert", of: facts).answer == .no)
    }
}
