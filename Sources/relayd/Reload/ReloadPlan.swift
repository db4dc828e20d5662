package import ControlAPI

/// What a changed configuration means for a running relayd: which options a reload applies, and
/// which have to wait for a restart. `ReloadTargets` carries it out.
package struct ReloadPlan: Sendable {
    /// The configuration in force afterwards: the running one with the applicable changes.
    package let effective: EffectiveConfig
    /// Paths of the options that change now, such as `apps.hold_timeout`.
    package let applied: [String]
    /// Paths of the options that differ but are only read at the start.
    package let needingRestart: [String]

    /// Options that can change while relayd runs. The others are built into parts that would lose
    /// their contents: queues, the ring of messages, the catalogue, the log's outputs.
    package static let reloadable: Set<String> = forNextRecording.union([
        "accessory", "listen",
        "apps.when_accessory_absent", "apps.hold_timeout", "apps.when_link_lost",
        "apps.queue_limit", "apps.stall_grace", "apps.when_slow", "apps.maximum", "apps.allow",
        "apps.connections_per_second", "apps.silent_timeout", "apps.frames_per_second",
        "apps.message_limit", "apps.foreign_frames",
        "sessions.start_service_timeout", "sessions.farewell_timeout", "sessions.heartbeats",
        "sessions.secondary_transports",
        "limits.maximum_payload", "limits.link_queue",
        "log.level", "log.traffic", "log.filter", "log.apps", "log.functions", "log.services",
        "record.always", "record.last", "record.save_on",
        "media.save", "media.directory", "media.limit", "media.files", "media.queue",
        "media.video_port", "drive.enabled",
        "openxc.listen", "openxc.pty", "openxc.pty_group", "openxc.endpoints", "openxc.format",
        "openxc.queue", "openxc.names", "openxc.buses", "openxc.ids", "openxc.on_change",
        "openxc.rate", "openxc.writes",
    ])

    /// Of these, the options that an app or the link gets when it connects, and keeps.
    package static let forNewConnections: Set<String> = [
        "apps.silent_timeout", "limits.maximum_payload",
        "openxc.format", "openxc.queue", "openxc.names", "openxc.buses", "openxc.ids",
        "openxc.on_change", "openxc.rate",
    ]

    /// Of these, the options that a recording gets when it begins, and keeps.
    package static let forNextRecording: Set<String> = [
        "record.directory", "record.file_size", "record.file_time", "record.files",
        "record.streams", "record.mask", "record.when_behind", "record.queue",
    ]

    package init(
        from running: EffectiveConfig, to wanted: EffectiveConfig,
        options: [ConfigOption] = ConfigSchema().options
    ) {
        var effective = EffectiveConfig(
            running.config, origins: wanted.origins, file: wanted.file)
        var applied: [String] = []
        var needingRestart: [String] = []
        for option in options where !option.isEqual(running.config, wanted.config) {
            if Self.reloadable.contains(option.path) {
                option.copy(wanted.config, &effective.config)
                applied.append(option.path)
            } else {
                effective.origins[option.path] = running.origins[option.path]
                needingRestart.append(option.path)
            }
        }
        self.effective = effective
        self.applied = applied
        self.needingRestart = needingRestart
    }

    package var config: Config { effective.config }

    /// The answer to the request for the reload.
    package var report: ReloadReport {
        let isNothing = applied.isEmpty && needingRestart.isEmpty
        var parts = [isNothing ? "nothing has changed" : "the configuration has been reloaded"]
        for (whom, names) in [
            ("new connections", Self.forNewConnections),
            ("the next recording", Self.forNextRecording),
        ] {
            let later = applied.filter(names.contains)
            guard !later.isEmpty else { continue }
            let verb = later.count == 1 ? "applies" : "apply"
            parts.append("\(later.joined(separator: ", ")) \(verb) to \(whom)")
        }
        return ReloadReport(
            summary: parts.joined(separator: "; "), changed: applied, needsRestart: needingRestart)
    }

    /// The log message: one sentence.
    ///
    /// - Parameter unit: systemd's unit of this relayd; nil if systemd did not start it.
    package func summary(unit: SystemdUnit? = .ofThisProcess) -> String {
        var parts: [String] = []
        if !applied.isEmpty {
            let names = applied.map { name in
                if Self.forNewConnections.contains(name) { return "\(name) (for new connections)" }
                if Self.forNextRecording.contains(name) {
                    return "\(name) (for the next recording)"
                }
                return name
            }
            parts.append("changed \(names.joined(separator: ", "))")
        }
        if !needingRestart.isEmpty {
            let verb = needingRestart.count == 1 ? "needs" : "need"
            let command = unit.map { ": \($0.command("restart"))" } ?? ""
            parts.append("\(needingRestart.joined(separator: ", ")) \(verb) a restart\(command)")
        }
        return parts.isEmpty ? "nothing has changed" : parts.joined(separator: "; ")
    }
}
