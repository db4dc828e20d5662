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
