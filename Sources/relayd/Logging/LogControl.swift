package import ControlAPI
import DidYouMean
import Logging
import SDLProtocol
package import SDLTraffic
import Synchronization

/// What is logged, changeable while relayd runs: the log's level, and the traffic log with its
/// switch and filters. Created by `Daemon`, changed by the control API and by a reload; a consumer
/// of decoded traffic.
package final class LogControl: TrafficConsumer {
    private struct State {
        var isOn: Bool
        var filter: String
        var apps: [String]
        var functions: [String]
        var services: [String]
    }

    private let threshold: LogThreshold
    private let configuration: TrafficLog.Configuration
    private let log: TrafficLog
    private let state: Mutex<State>

    /// - Parameters:
    ///   - format: Format and colours; its filter is replaced by that of `config`.
    package init(
        _ config: Config.Log, threshold: LogThreshold, format: TrafficLog.Configuration,
        sink: @escaping TrafficLog.Sink
    ) throws {
        self.threshold = threshold
        configuration = format
        state = Mutex(
            State(
                isOn: config.traffic, filter: config.filter, apps: config.apps,
                functions: config.functions, services: config.services.map(\.rawValue)))
        var first = format
        first.filter = try Self.filter(state.withLock { $0 }, config.level)
        log = TrafficLog(configuration: first, sink: sink)
    }

    private init() {
        threshold = LogThreshold(.info)
        configuration = TrafficLog.Configuration()
        state = Mutex(State(isOn: false, filter: "", apps: [], functions: [], services: []))
        log = TrafficLog { _ in }
    }

    /// For a server without a log behind it.
    package static var none: LogControl { LogControl() }

    package func consume(_ entries: [TrafficEntry]) async {
        guard state.withLock({ $0.isOn }) else { return }
        await log.consume(entries)
    }

    /// The current settings, with all members set.
    package var settings: LogSettings {
        let now = state.withLock { $0 }
        return LogSettings(
            schema: 1, level: threshold.level.rawValue, traffic: now.isOn, filter: now.filter,
            apps: now.apps, functions: now.functions, services: now.services)
    }

    /// Changes the settings present in `wanted`, from the next message on.
    ///
    /// - Returns: The current settings.
    /// - Throws: `APIError` if a value is invalid; then nothing is changed.
    package func change(_ wanted: LogSettings) async throws -> LogSettings {
        if let schema = wanted.schema, schema != 1 {
            throw APIError(.badRequest, "schema is \(schema); expected 1, or leave it out")
        }
        let level = try wanted.level.map(Self.level) ?? threshold.level
        let now = state.withLock { $0 }
        let next = State(
            isOn: wanted.traffic ?? now.isOn, filter: wanted.filter ?? now.filter,
            apps: wanted.apps ?? now.apps,
            functions: wanted.functions ?? now.functions,
            services: wanted.services ?? now.services)
        var configuration = configuration
        configuration.filter = try Self.filter(next, level)
        threshold.level = level
        state.withLock { $0 = next }
        await log.reconfigure(configuration)
        return settings
    }

    /// Applies the settings that changed in the configuration; the others keep what was set
    /// meanwhile.
    func change(_ plan: ReloadPlan) async throws {
        let log = plan.config.log
        func value<Value>(_ option: String, _ value: Value) -> Value? {
            plan.applied.contains("log.\(option)") ? value : nil
        }
        _ = try await change(
            LogSettings(
                level: value("level", log.level.rawValue), traffic: value("traffic", log.traffic),
                filter: value("filter", log.filter),
                apps: value("apps", log.apps), functions: value("functions", log.functions),
                services: value("services", log.services.map(\.rawValue))))
    }

    private static func level(_ text: String) throws -> Logger.Level {
        try word(text, Config.Log.levels, "level", \.rawValue)
    }

    private static func filter(
        _ wanted: State, _ level: Logger.Level
    ) throws -> TrafficFilter {
        let services = try wanted.services.map {
            try word($0, ServiceType.allCases, "services", \.name)
        }
        let expression = try MessageRequest.expression(wanted.filter)
        do throws(TrafficFilterError) {
            var filter = try TrafficFilter(
                apps: wanted.apps, functions: wanted.functions, services: Set(services),
                minimumPriority: level <= .debug ? .debug : .info)
            filter.expression = expression
            return filter
        } catch {
            throw APIError(.badRequest, "functions: \(error)")
        }
    }

    private static func word<Value>(
        _ text: String, _ known: [Value], _ member: String, _ name: (Value) -> String
    ) throws -> Value {
        if let value = known.first(where: { name($0) == text }) { return value }
        let names = known.map(name)
        let hint = Spelling.nearest(text, in: names).map { "; did you mean \"\($0)\"?" } ?? ""
        throw APIError(
            .badRequest,
            "\(member) is \"\(PrintableText.string(text, limit: 40))\"; expected one of "
                + names.joined(separator: ", ") + hint)
    }
}
