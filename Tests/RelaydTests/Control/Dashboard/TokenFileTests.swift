// The file in which relayd keeps the dashboard's token, and how relayd treats a file that may belong to
// somebody else.

import Glibc
import Logging
import RelayCore
import RelayTesting
import Testing

@testable import relayd

@Suite("The file with the dashboard's token")
struct TokenFileTests {
    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test("it is made for relayd's user alone, and the next start finds the same token")
    func kept() throws {
        try ScratchDirectory.use { scratch in
            let directory = scratch + "/.local/state/relayd"
            let token = try TokenFile(in: directory).token()
            #expect(token.text.count == 32 && !token.isNewAtEachStart)
            #expect(try TokenFile(in: directory).token().text == token.text)
            #expect(Self.mode(directory + "/dashboard-token") == 0o600)
            #expect(Self.mode(directory) == 0o700)
            #expect(Entries.of(directory) == ["dashboard-token"], "no draft is left")
        }
    }

    @Test("of many that start at once all get the same")
    func race() async throws {
        try await ScratchDirectory.useAsync { directory in
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 {
                    group.addTask { try TokenFile(in: directory).token().text }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(texts.count == 1)
        }
    }

    @Test(
        "one that others may use, a link, and one without a token are not used",
        arguments: ["readable", "writable", "link", "empty", "short", "directory"])
    func unusable(kind: String) throws {
        try ScratchDirectory.use { directory in
            let path = directory + "/dashboard-token"
            let text = kind == "short" ? "0123" : String(repeating: "0123456789abcdef", count: 4)
            let place = kind == "link" ? directory + "/elsewhere" : path
            if kind == "directory" {
                mkdir(path, 0o700)
            } else {
                try (kind == "empty" ? "" : text).write(
                    toFile: place, atomically: false, encoding: .utf8)
            }
            if kind == "link" { symlink(place, path) }
            chmod(place, kind == "readable" ? 0o644 : kind == "writable" ? 0o620 : 0o600)

            let failure = #expect(throws: DashboardToken.Failure.self) {
                try TokenFile(in: directory).token()
            }
            #expect(failure?.description.hasPrefix(path + ": it") == true)
            #expect(failure?.description.contains("0123") == false)
        }
    }

    @Test("nothing is made where others may write")
    func openDirectory() throws {
        try ScratchDirectory.use { directory in
            chmod(directory, 0o777)
            let failure = #expect(throws: DashboardToken.Failure.self) {
                try TokenFile(in: directory).token()
            }
            #expect(failure?.description.hasSuffix("others may write to \(directory)") == true)
            #expect(Entries.of(directory).isEmpty)
        }
    }

    @Test(
        "neither is a file of somebody else's used",
        .enabled(if: geteuid() == 0, "only root can give a file away"))
    func ofAnother() throws {
        try ScratchDirectory.use { directory in
            _ = try TokenFile(in: directory).token()
            chown(directory + "/dashboard-token", 12_345, 12_345)
            let failure = #expect(throws: DashboardToken.Failure.self) {
                try TokenFile(in: directory).token()
            }
            #expect(failure?.description.hasSuffix("it belongs to user id 12345") == true)
        }
    }

    @Test("without a home nothing is made in its place")
    func noHome() throws {
        try ScratchDirectory.use { scratch in
            #expect(throws: DashboardToken.Failure.self) {
                try TokenFile(in: scratch + "/nobody/.local/state/relayd").token()
            }
            #expect(Entries.of(scratch).isEmpty)
        }
    }

    @Test("systemd's directory comes first, then the user's")
    func place() {
        let home = ["HOME": "/home/me"]
        #expect(TokenFile.directory(in: home) == "/home/me/.local/state/relayd")
        let own = home.merging(["XDG_STATE_HOME": "/state"]) { $1 }
        #expect(TokenFile.directory(in: own) == "/state/relayd")
        let unit = own.merging(["STATE_DIRECTORY": "/var/lib/relayd:/var/lib/x"]) { $1 }
        #expect(TokenFile.directory(in: unit) == "/var/lib/relayd")
        #expect(TokenFile.directory(in: [:]) == nil)
        #expect(TokenFile.directory(in: ["HOME": "", "XDG_STATE_HOME": "relative"]) == nil)
    }

    @Test("the dashboard is served with a token of one start where the kept one cannot be used")
    func servedAllTheSame() throws {
        try ScratchDirectory.use { directory in
            let lines = LoggedLines()
            let logger = Logger(label: "test") { _ in lines }
            func report() -> String? {
                var configuration = Config.Dashboard()
                configuration.address = ListenAddress(host: "127.0.0.1", port: 0)
                return DashboardEndpoint(
                    configuration, stateDirectory: directory, logger: logger
                ).report
                    .token
            }
            let kept = try #require(report())
            #expect(report() == kept && lines.records.isEmpty)
            chmod(directory + "/dashboard-token", 0o604)
            let other = try #require(report())
            #expect(other != kept)
            #expect(lines.records.count == 1)
            #expect(lines.records.first?.message.contains("for this start only") == true)
            #expect(lines.records.first?.message.contains(other) == false)
        }
    }

    @Test("where nobody says what outlives relayd, a line tells that the token does not")
    func nowhere() throws {
        let lines = LoggedLines()
        var configuration = Config.Dashboard()
        configuration.address = ListenAddress(host: "127.0.0.1", port: 0)
        func start() -> String? {
            let logger = Logger(label: "test") { _ in lines }
            return DashboardEndpoint(
                configuration, stateDirectory: nil, logger: logger
            ).report.token
        }
        let token = try #require(start())
        #expect(lines.records.count == 1)
        let line = try #require(lines.records.first)
        #expect(line.level == .warning && !line.message.contains(token))
        #expect(line.message.contains("for this start only: HOME, XDG_STATE_HOME"))
        // No warning: the user has chosen that, or has turned the dashboard off.
        configuration.tokenFile = ""
        _ = start()
        configuration.tokenFile = Config.Dashboard.ownTokenFile
        configuration.enabled = false
        _ = start()
        #expect(lines.records.count == 1)
    }

    @Test("the built-in port is not insisted on: another one does where it is taken or the apps'")
    func anotherPort() throws {
        let first = DashboardBench.dashboard()
        let taken = try DashboardBench.port(of: first)
        var configuration = Config.Dashboard()
        configuration.tokenFile = ""
        configuration.address = ListenAddress(host: "127.0.0.1", port: taken)
        func port(isChosen: Bool, besides apps: [ListenAddress] = []) throws -> Int? {
            let dashboard = DashboardEndpoint(
                configuration, isChosen: isChosen, besides: apps, logger: ControlTestServer.quiet)
            return dashboard.report.url == nil ? nil : try DashboardBench.port(of: dashboard)
        }
        #expect(try port(isChosen: true) == nil)
        let other = try #require(try port(isChosen: false))
        #expect(other != taken)
        configuration.address.port = other
        let apps = [ListenAddress(host: "0.0.0.0", port: other)]
        #expect(try port(isChosen: false, besides: apps) != other)
        _ = first
    }
}

/// The names in a directory.
private enum Entries {
    static func of(_ directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
