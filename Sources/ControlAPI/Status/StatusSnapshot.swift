/// Everything relayd reports about itself at one moment: the answer to `GET /v1/status`.
///
/// relayd builds one per request (and whenever systemd's status line changes); relayctl, scripts
/// and the demo read it. The four parts `accessory`, `link`, `server` and `apps` are the chain a
/// developer checks from left to right.
///
/// **The JSON is a promise.** Within `schema` 1 it only grows: no field is removed, renamed, or
/// given another unit or meaning; new fields are optional; lists of words (states, kinds, codes)
/// may get new words. Fields that do not apply right now are left out. A change that cannot keep
/// this is a new schema under a new route. Keys are snake_case; times are RFC 3339 in UTC with
/// milliseconds; sizes are bytes; durations carry their unit in the name; counters count from the
/// start of relayd unless their text says otherwise, and never wrap.
package struct StatusSnapshot: Codable, Sendable, Equatable {
    /// The schema this relayd writes.
    package static let currentSchema = 1

    /// Version of the JSON layout: 1.
    package let schema: Int
    /// The verdict in one word: "ok" or "not_connected".
    package let health: Health
    /// The verdict in one sentence, e.g. "head unit open (sim:), 2 apps registered, listening on
    /// 127.0.0.1:2776". Also systemd's status line. For people: its wording may change.
    package let summary: String
    /// The daemon itself.
    package var relayd: RelaydStatus
    /// The head unit as a device: which one it is, and whether it is open.
    package let accessory: AccessoryStatus
    /// Traffic over the open accessory: sessions, and requests waiting for one.
    package let link: LinkStatus
    /// Where apps connect.
    package let server: ServerStatus
    /// One entry per connected app, oldest first.
    package let apps: [AppStatus]
    /// The apps that left most recently, newest first, at most `departuresKept`.
    package let recentDepartures: [AppDeparture]
    /// How the traffic log keeps up.
    package let log: LogStatus
    /// Limits that were hit at least once since start; empty is good.
    package let limitsHit: [LimitHit]
    /// Set while a recording's disk accepts no data; left out otherwise.
    package var diskStall: DiskStall?
    /// Why `record.always` records nothing; left out while it records, and where it is false.
    package var recordingProblem: String?
    /// Media extracted from the traffic while it passes; left out while nothing is.
    package var media: MediaStatus?
    /// Fault rules, active or not; left out while there are none.
    package var faults: FaultStatus?

    /// Number of departures that relayd remembers: enough to see an app that reconnects in a loop, few
    /// enough to fit a terminal.
    package static let departuresKept = 8

    package init(
        relayd: RelaydStatus, accessory: AccessoryStatus, link: LinkStatus, server: ServerStatus,
        apps: [AppStatus] = [], recentDepartures: [AppDeparture] = [], log: LogStatus = LogStatus(),
        limitsHit: [LimitHit] = []
    ) {
        let verdict = Verdict(accessory: accessory, server: server, apps: apps)
        self.schema = Self.currentSchema
        self.health = verdict.health
        self.summary = verdict.summary
        self.relayd = relayd
        self.accessory = accessory
        self.link = link
        self.server = server
        self.apps = apps
        self.recentDepartures = Array(recentDepartures.prefix(Self.departuresKept))
        self.log = log
        self.limitsHit = limitsHit
    }

    enum CodingKeys: String, CodingKey {
        case schema, health, summary, relayd, accessory, link, server, apps
        case recentDepartures = "recent_departures"
        case log
        case limitsHit = "limits_hit"
        case diskStall = "disk_stall"
        case recordingProblem = "recording_problem"
        case media, faults
    }
}

/// The daemon itself.
package struct RelaydStatus: Codable, Sendable, Equatable {
    /// Version of relayd, with the commit if the build was given it, e.g. "0.1.0+81a52d7b0".
    package let version: String
    /// Its process id.
    package let pid: Int
    /// When it started.
    package let startedAt: Timestamp
    /// How long it has been running, in whole seconds, by a clock that cannot be set.
    package var uptimeSeconds: Int
    /// The systemd unit it runs as, e.g. "relayd@left.service"; left out when systemd did not start
    /// it.
    package var unit: String?
    /// Why the latest reload of the configuration was refused; left out once one is accepted.
    package var refusedConfiguration: String?
    /// Address of the dashboard, e.g. "http://127.0.0.1:2777/"; left out when it is not served. Access
    /// needs its token.
    package var dashboardURL: String?

    package init(
        version: String = Version.current, pid: Int, startedAt: Timestamp, uptimeSeconds: Int,
        unit: String? = nil, refusedConfiguration: String? = nil, dashboardURL: String? = nil
    ) {
        self.version = version
        self.pid = pid
        self.startedAt = startedAt
        self.uptimeSeconds = uptimeSeconds
        self.unit = unit
        self.refusedConfiguration = refusedConfiguration
        self.dashboardURL = dashboardURL
    }

    enum CodingKeys: String, CodingKey {
        case version, pid
        case startedAt = "started_at"
        case uptimeSeconds = "uptime_seconds"
        case unit
        case refusedConfiguration = "refused_configuration"
        case dashboardURL = "dashboard_url"
    }
}

/// The traffic log, which may fall behind.
package struct LogStatus: Codable, Sendable, Equatable {
    /// Batches of frames (each of some milliseconds) that the log never saw, because it was too slow. The
    /// frames themselves were forwarded.
    package let droppedBatches: Int
    /// Finished lines that could not be written, e.g. because the disk or the journal was full.
    package let droppedLines: Int

    package init(droppedBatches: Int = 0, droppedLines: Int = 0) {
        self.droppedBatches = droppedBatches
        self.droppedLines = droppedLines
    }

    enum CodingKeys: String, CodingKey {
        case droppedBatches = "dropped_batches"
        case droppedLines = "dropped_lines"
    }
}

/// One of relayd's limits, and how often it was hit.
package struct LimitHit: Codable, Sendable, Equatable {
    /// Name of the limit, as in the configuration or the documentation.
    package let name: String
    /// Its value, in the unit that the name implies.
    package let limit: Int
    /// How often it was hit.
    package let count: Int
    /// When it was last hit.
    package let lastAt: Timestamp
    /// Start of the series of hits that ends with `lastAt`, each at most `pause` after the one before.
    package let beganAt: Timestamp?

    /// Seconds without a hit after which the next hit begins a new series.
    package static let pause = 10

    package init(
        name: String, limit: Int, count: Int, lastAt: Timestamp, beganAt: Timestamp? = nil
    ) {
        self.name = name
        self.limit = limit
        self.count = count
        self.lastAt = lastAt
        self.beganAt = beganAt
    }

    enum CodingKeys: String, CodingKey {
        case name, limit, count
        case lastAt = "last_at"
        case beganAt = "began_at"
    }
}
