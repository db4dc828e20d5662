// Which unit of systemd this process is, for messages that name it. Asked by the status and by
// `ReloadPlan`.

internal import CSystemd
internal import Glibc

/// A service that systemd has started.
package struct SystemdUnit: Sendable, Equatable {
    /// Such as "relayd@left.service".
    package var name: String
    /// It belongs to a user's own manager, not to the system's.
    package var isUsers: Bool

    package init(name: String, isUsers: Bool = false) {
        self.name = name
        self.isUsers = isUsers
    }

    /// Nil when systemd did not start this very process: a shell in a terminal is in a unit, too.
    package static let ofThisProcess: SystemdUnit? = {
        // Set by systemd 248 and later for the process it starts (systemd.exec(5)).
        guard let text = getenv("SYSTEMD_EXEC_PID"), Int32(String(cString: text)) == getpid()
        else { return nil }
        return found(sd_pid_get_user_unit).map { SystemdUnit(name: $0, isUsers: true) }
            ?? found(sd_pid_get_unit).map { SystemdUnit(name: $0) }
    }()

    private static func found(
        _ ask: (pid_t, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt
    ) -> String? {
        var name: UnsafeMutablePointer<CChar>?
        guard ask(0, &name) >= 0, let name else { return nil }
        defer { free(name) }
        let unit = String(cString: name)
        return unit.hasSuffix(".service") ? unit : nil
    }

    /// The command that does it to this unit, such as "systemctl restart relayd@left".
    package func command(_ verb: String) -> String {
        let short = name.hasSuffix(".service") ? String(name.dropLast(".service".count)) : name
        return "systemctl \(isUsers ? "--user " : "")\(verb) \(short)"
    }
}
