internal import Glibc

/// The systemd unit of this process, for messages that name it. Used by the status and by
/// `ReloadPlan`.
package struct SystemdUnit: Sendable, Equatable {
    /// Such as "relayd@left.service".
    package var name: String
    /// Whether it belongs to a user's own manager, not to the system's.
    package var isUsers = false
}

extension SystemdUnit {
    /// Nil if systemd did not start this process itself: a shell in a terminal is in a unit, too.
    package static let ofThisProcess: SystemdUnit? = {
        // Set by systemd 248 and later for the process it starts (systemd.exec(5)).
        guard let text = getenv("SYSTEMD_EXEC_PID"), Int32(String(cString: text)) == getpid()
        else { return nil }
        guard let bytes = try? ConfigFile.read("/proc/self/cgroup") else { return nil }
        return SystemdUnit(cgroups: String(decoding: bytes, as: UTF8.self))
    }()

    /// The unit in the text of /proc/PID/cgroup (cgroups(7)): the last service in the path of
    /// systemd's own hierarchy, which is a user's below `user@1000.service`.
    package init?(cgroups text: String) {
        // "0::/system.slice/relayd.service", before cgroup v2 "1:name=systemd:/system.slice/…". If both
        // are mounted, systemd may use only one of them, and the other says "/".
        let paths = text.split(separator: "\n").lazy
            .filter { $0.hasPrefix("0::") || $0.contains(":name=systemd:") }
            .compactMap { $0.split(separator: ":", maxSplits: 2).last?.split(separator: "/") }
        guard let path = paths.first(where: { $0.last?.hasSuffix(".service") == true }),
            let name = path.last
        else { return nil }
        let isUsers = path.dropLast().contains {
            $0.hasPrefix("user@") && $0.hasSuffix(".service")
        }
        self.init(name: String(name), isUsers: isUsers)
    }

    /// The systemctl command with this verb for the unit, such as "systemctl restart relayd@left".
    package func command(_ verb: String) -> String {
        let short = name.hasSuffix(".service") ? String(name.dropLast(".service".count)) : name
        return "systemctl \(isUsers ? "--user " : "")\(verb) \(short)"
    }
}
