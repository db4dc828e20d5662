import Glibc

/// A drop-in for relayd's systemd unit, one for each role that needs more than the unit has. The package ships it
/// where it has no effect; a link enables it.
struct ServiceDropIn: Sendable {
    /// The file that the package ships.
    var shipped: String
    /// The folder where systemd looks for it.
    var folder = "/etc/systemd/system/relayd.service.d"
    /// Asks systemd to read its units again; returns the program's exit code.
    var reload: @Sendable () -> CInt = { system("systemctl daemon-reload") }

    private var file: String { String(shipped.split(separator: "/").last ?? "") }

    var enabled: String { "\(folder)/\(file)" }

    init(shipped: String) { self.shipped = shipped }

    /// Finds the shipped drop-in; nil unless systemd runs and relayd is installed as one of its services.
    init?(role: String) {
        let places = ["/usr/local", "/usr"].map {
            "\($0)/share/relayd/relayd.service.d/\(role).conf"
        }
        guard access("/run/systemd/system", F_OK) == 0,
            let shipped = places.first(where: { access($0, R_OK) == 0 })
        else { return nil }
        self.init(shipped: shipped)
    }

    var isEnabled: Bool { access(enabled, F_OK) == 0 }

    /// The commands that enable it.
    var enabling: [String] {
        ["mkdir -p \(folder)", "ln -s \(shipped) \(enabled)", "systemctl daemon-reload"]
    }

    var disabling: [String] { ["rm \(enabled)", "rmdir \(folder)", "systemctl daemon-reload"] }

    func enable() throws(LinkProblem) {
        guard mkdir(folder, 0o755) == 0 || errno == EEXIST, symlink(shipped, enabled) == 0 else {
            throw failed(errno)
        }
        try readAgain()
    }

    func disable() throws(LinkProblem) {
        guard unlink(enabled) == 0 || errno == ENOENT else { throw failed(errno) }
        // The folder may hold other drop-ins.
        rmdir(folder)
        try readAgain()
    }

    private func failed(_ error: CInt) -> LinkProblem {
        let isForbidden = error == EACCES || error == EPERM
        return LinkProblem(
            isForbidden ? .permissionDenied : .other, "\(enabled): \(systemMessage(error))",
            remedy: isForbidden ? "run it as root" : nil)
    }

    private func readAgain() throws(LinkProblem) {
        guard reload() == 0 else {
            throw LinkProblem(
                .other, "systemd could not read its units again",
                remedy: "run it as root: systemctl daemon-reload")
        }
    }
}
