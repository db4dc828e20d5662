import ControlAPI
import Testing

@Suite struct RoutesTests {
    @Test(
        "a path means a route segment by segment",
        arguments: [
            ("/v1/status", "/v1/status", true), ("/v1/status", "/v1/status/", true),
            ("/v1/status", "/v1", false), ("/v1/status", "/v1/status/x", false),
            ("/v1/status", "/V1/status", false), ("/", "/", true), ("/", "", true),
            ("/", "/v1", false), ("/v1/apps/:id", "/v1/apps/7", true),
            ("/v1/apps/:id", "/v1/apps", false),
        ])
    func matches(path: String, asked: String, expected: Bool) {
        #expect(Route(method: "GET", path: path, summary: "").matches(asked) == expected)
    }

    @Test("segments are filled in, whatever characters they have")
    func path() {
        #expect(Routes.path(Routes.app, "3") == "/v1/apps/3")
        #expect(Routes.path(Routes.app, "#3 a/b?") == "/v1/apps/%233%20a%2Fb%3F")
        #expect(Routes.path(Routes.permission, "é", "Show") == "/v1/apps/%C3%A9/permissions/Show")
        #expect(Routes.path(Routes.status) == "/v1/status")
        for route in Routes.all {
            #expect(route.matches(Routes.path(route.path, "a b", "../..")))
        }
    }

    @Test("routes are listed once, with a summary") func listIsSound() {
        let keys = Routes.all.map { $0.method + $0.path }
        #expect(Set(keys).count == keys.count)
        #expect(Routes.all.allSatisfy { !$0.summary.isEmpty })
    }

    @Test("exit codes follow the verdict and are all documented") func exitCodes() {
        #expect(ExitStatus(.ok) == .ok && ExitStatus(.notConnected) == .notConnected)
        #expect(ExitStatus(Health(rawValue: "melancholic")) == .notConnected)
        for status in ExitStatus.allCases {
            #expect(ExitStatus.discussion.contains("\n  \(status.rawValue) "))
        }
    }
}
