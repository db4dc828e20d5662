// The built relayd as a benchmark runs it.

import ControlAPI
import Foundation

/// A running relayd, ready to serve.
final class RelaydProcess {
    let child: MeasuredProcess
    let directory: String
    /// The time from just before its start to its READY=1, in seconds.
    let startTime: Double

    /// What happens to decoded traffic.
    enum TrafficLog: String, CaseIterable {
        case text
        case json = "JSON"
        case off
    }

    /// How a run differs from relayd's defaults.
    struct Options {
        var accessory = "sim:"
        /// A relayd other than the one that is measured.
        var program: String?
        /// How decoded traffic is logged.
        var log = TrafficLog.text
        /// Whether the log is kept, to count its lines; else it goes to /dev/null.
        var keepsLog = false
        /// Whether the dashboard is served, on a free port.
        var hasDashboard = false
        /// Whether driving the conversation is allowed.
        var isDriven = false
        /// The library that counts allocations, preloaded into relayd.
        var preload: String?
        /// Variables of its own, besides those below.
        var environment: [String: String] = [:]
        /// The configuration file; nil for one that only lifts `apps.frames_per_second`.
        var configuration: String?
    }

    /// - Parameter directory: an empty folder for its files.
    init(_ setting: Setting, _ options: Options, directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let configuration = options.configuration ?? "\(directory)/relayd.yaml"
        if options.configuration == nil {
            // RPC frames of a flood must not be paced: that would measure the pacing.
            let format = options.log == .json ? "json" : "text"
            let text = """
                apps: { frames_per_second: 0 }
                log: { traffic: \(options.log != .off), format: \(format), destination: terminal }
                dashboard: { enabled: \(options.hasDashboard), token_to_read: false }
                drive: { enabled: \(options.isDriven) }

                """
            try text.write(toFile: configuration, atomically: false, encoding: .utf8)
        }
        let notify = try NotifySocket(path: "\(directory)/notify")
        var environment = options.environment
        environment["NOTIFY_SOCKET"] = notify.path
        environment["STATE_DIRECTORY"] = directory
        if let preload = options.preload {
            environment["LD_PRELOAD"] = preload
            environment["RELAY_MALLOC_COUNTS"] = "\(directory)/mallocs"
        }
        let before = Clock.now()
        child = try MeasuredProcess(
            options.program ?? setting.relayd,
            [
                "--config", configuration, "--accessory", options.accessory,
                "--listen", "127.0.0.1:0", "--control-socket", "\(directory)/control",
            ] + (options.hasDashboard ? ["--dashboard", "127.0.0.1:0"] : []),
            environment: environment,
            output: options.keepsLog ? "\(directory)/\(Self.log)" : "/dev/null",
            errors: "\(directory)/errors")
        do {
            startTime = try notify.awaitReady() - before
        } catch {
            let said = (try? ProcessFacts.text(of: "\(directory)/errors")) ?? ""
            throw BenchmarkError("relayd was not ready: \(error)\n\(said)")
        }
    }

    var facts: ProcessFacts { ProcessFacts(processID: child.processID) }

    var controlSocket: String { "\(directory)/control" }

    func status() throws -> StatusSnapshot {
        let answer = try HTTP.get(Routes.status, from: .connect(unix: controlSocket))
        return try APICoding.decode(StatusSnapshot.self, from: answer)
    }

    /// Where browsers connect, if there is a dashboard.
    func dashboardPort() throws -> UInt16 {
        let answer = try HTTP.get(Routes.dashboard, from: .connect(unix: controlSocket))
        let report = try APICoding.decode(DashboardReport.self, from: answer)
        guard let port = report.url?.split(separator: ":").last?.prefix(while: \.isNumber),
            let number = UInt16(port)
        else { throw BenchmarkError("relayd names no dashboard: \(report)") }
        return number
    }

    /// Asks until the status is as described.
    func until(_ what: String, _ isSo: (StatusSnapshot) -> Bool) throws {
        let deadline = Clock.now() + Double(Socket.patienceSeconds)
        while try !isSo(status()) {
            guard Clock.now() < deadline else {
                throw BenchmarkError("relayd's status never said that \(what)")
            }
            usleep(2000)
        }
    }

    /// Where apps connect.
    func port() throws -> UInt16 {
        let endpoints = try status().server.endpoints
        guard let port = endpoints.first?.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw BenchmarkError("relayd names no port: \(endpoints)")
        }
        return port
    }

    private static let log = "traffic"

    /// Returns the log so far and empties it: runs may write more of it than a disk has room for.
    func takeLog() throws -> Data {
        let path = "\(directory)/\(Self.log)"
        defer { truncate(path, 0) }
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// The number of lines of decoded traffic so far.
    func loggedLines() throws -> Int {
        let data = try Data(
            contentsOf: URL(fileURLWithPath: "\(directory)/\(Self.log)"), options: .mappedIfSafe)
        return data.withUnsafeBytes { bytes in
            bytes.count { $0 == UInt8(ascii: "\n") }
        }
    }

    /// Empties the log, so that counting its lines stays cheap and the disk is not filled.
    func forgetLog() throws {
        guard truncate("\(directory)/\(Self.log)", 0) == 0 else {
            throw BenchmarkError.system("truncate the log")
        }
    }

    func mallocCounts() throws -> MallocCounts {
        try MallocCounts(path: "\(directory)/mallocs")
    }
}
