import ControlAPI
import Testing

@Suite struct RoutesTests {
    @Test("segments are filled in, whatever characters they have")
    func path() {
        #expect(Routes.path(Routes.app, "3") == "/v1/apps/3")
        #expect(Routes.path(Routes.app, "#3 a/b?") == "/v1/apps/%233%20a%2Fb%3F")
        #expect(Routes.path(Routes.permission, "é", "Show") == "/v1/apps/%C3%A9/permissions/Show")
        #expect(Routes.path(Routes.status) == "/v1/status")
    }

    @Test("routes are listed once, with a summary") func listIsSound() {
        let keys = Routes.all.map { $0.method + $0.path }
        #expect(Set(keys).count == keys.count)
        #expect(Routes.all.allSatisfy { !$0.summary.isEmpty })
    }

    @Test("what changes something is for those who may, and the token for the fewest")
    func access() {
        for route in Routes.all {
            #expect(route.path.hasPrefix("/") && !route.path.hasSuffix("/") || route.path == "/")
            let isChange = route.access == .write || route.access == .drive
            #expect(isChange == (route.method != "GET"), "\(route.path)")
        }
        #expect(Routes.all.filter { $0.access == .secret }.map(\.path) == [Routes.dashboard])
        #expect(
            Set(Routes.all.filter { $0.access == .open }.map(\.path)) == [
                Routes.index, Routes.openAPI, Routes.page, Routes.pageFile, Routes.pageAccess,
            ])
    }

    @Test("exit codes follow the verdict and are all documented") func exitCodes() {
        #expect(ExitStatus(.ok) == .ok && ExitStatus(.notConnected) == .notConnected)
        #expect(ExitStatus(Health(rawValue: "melancholic")) == .notConnected)
        for status in ExitStatus.allCases {
            #expect(ExitStatus.discussion.contains("\n  \(status.rawValue) "))
        }
    }
}
