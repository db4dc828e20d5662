import Glibc
import Logging

/// How many descriptors relayd may have, of which each app needs one: the limit of open files,
/// RLIMIT_NOFILE. Called by `Daemon` at start.
enum OpenFiles {
    /// Descriptors relayd needs besides apps: standard streams, event loops, listening sockets, the
    /// link, some connections of relayctl, the reserve for accept(2). About 30 were counted.
    private static let besidesApps = 64

    /// Open files allowed now.
    static var limit: Int { read().map { Int(clamping: $0.rlim_cur) } ?? .max }

    /// Raises the soft limit to the hard limit. The soft limit is 1024 for the sake of programs
    /// that use select(2); event loops do not.
    static func raiseLimit() {
        guard var limits = read(), limits.rlim_cur < limits.rlim_max else { return }
        limits.rlim_cur = limits.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    }

    /// The message if this many apps are not possible; nil if they are.
    static func shortage(apps: Int) -> String? {
        let needed = apps + besidesApps
        guard limit < needed else { return nil }
        return """
            only \(limit) files may be open, and \(apps) apps (apps.maximum) need \(needed): \
            raise LimitNOFILE= in the systemd unit, or ulimit -n
            """
    }

    static func warnOfShortage(apps: Int, _ logger: Logger) {
        if let shortage = shortage(apps: apps) { logger.warning("\(shortage)") }
    }

    /// How many connections besides the apps may wait for a refusal in words.
    static func surplus(of wanted: Int, apps: Int) -> Int {
        min(wanted, max(limit - besidesApps - apps, 0))
    }

    private static func read() -> rlimit? {
        var limits = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        return getrlimit(resource, &limits) == 0 ? limits : nil
    }
}
