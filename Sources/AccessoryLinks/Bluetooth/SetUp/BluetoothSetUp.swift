import Glibc

/// What `relayctl setup bluetooth` does: lets relayd use bluetoothd, and switches on what a head unit needs to
/// find this machine.
package struct BluetoothSetUp: RoleSetUp {
    /// How relayd gets its rights.
    enum Rights: Sendable {
        case dropIn(ServiceDropIn)
        /// The user that relayd runs as joins the group.
        case member(String, isMember: Bool)
        /// relayd runs as root, which may do everything.
        case root
    }

    /// The state in which the machine was found.
    struct Machine: Sendable {
        /// bluetoothd's answer.
        var answer: Result<BlueZObjects, BusFailure>
        var switches = RadioSwitches()
        /// Whether the group exists; BlueZ creates it.
        var hasGroup = true
    }

    private let rights: Rights
    private let machine: Machine
    private let isForVisibility: Bool
    /// Runs a program and waits for it; returns its exit code.
    private let run: @Sendable ([String]) -> CInt

    private static let group = "bluetooth"

    init(
        _ rights: Rights, _ machine: Machine, visible: Bool,
        run: @escaping @Sendable ([String]) -> CInt
    ) {
        (self.rights, self.machine) = (rights, machine)
        (isForVisibility, self.run) = (visible, run)
    }

    /// Examines this machine.
    ///
    /// - Parameters:
    ///   - name: The user that relayd runs as; nil for the systemd service if there is one, else whoever runs this.
    ///   - visible: Whether a head unit is to find this machine, so that it can be paired.
    /// - Returns: nil when there is no such user.
    package static func of(user name: String?, visible: Bool) -> BluetoothSetUp? {
        guard let rights = rights(of: name) else { return nil }
        let machine = Machine(
            answer: BluetoothSurvey.objects(), switches: .now(), hasGroup: getgrnam(group) != nil)
        return BluetoothSetUp(rights, machine, visible: visible, run: runProgram)
    }

    private static func rights(of name: String?) -> Rights? {
        if name == nil, let dropIn = ServiceDropIn(role: "bluetooth") { return .dropIn(dropIn) }
        let own = getenv("SUDO_USER").map { String(cString: $0) }
        guard let entry = (name ?? own).map({ getpwnam($0) }) ?? getpwuid(getuid()) else {
            return nil
        }
        guard entry.pointee.pw_uid != 0 else { return .root }
        let user = String(cString: entry.pointee.pw_name)
        return .member(user, isMember: isMember(user, entry.pointee.pw_gid))
    }

    private static func isMember(_ user: String, _ first: gid_t) -> Bool {
        guard let entry = getgrnam(group) else { return false }
        if entry.pointee.gr_gid == first { return true }
        var member = entry.pointee.gr_mem
        while let name = member?.pointee {
            if String(cString: name) == user { return true }
            member = member?.advanced(by: 1)
        }
        return false
    }

    // MARK: What there is to do

    package var doing: [String] {
        var commands: [String] = []
        switch rights {
        case .dropIn(let dropIn): commands += dropIn.isEnabled ? [] : dropIn.enabling
        case .member, .root: commands += joining.map(Self.words)
        }
        return commands + switching.map(Self.words)
    }

    package var undoing: [String] {
        var commands: [String] = []
        switch rights {
        case .dropIn(let dropIn): commands += dropIn.isEnabled ? dropIn.disabling : []
        case .member, .root: commands += leaving.map(Self.words)
        }
        return commands + hiding.map(Self.words)
    }

    package var whatNext: String {
        let pair =
            isForVisibility
            ? "choose this machine on the head unit, and confirm the number in bluetoothctl; then "
            : ""
        return switch rights {
        case .dropIn:
            "Next: \(pair)accessory: \"bluetooth:listen\" in /etc/relayd/relayd.yaml, then systemctl "
                + "restart relayd."
        case .member, .root: "Next: \(pair)relayd --accessory bluetooth:listen"
        }
    }

    private var joining: [[String]] {
        guard case .member(let user, false) = rights, machine.hasGroup else { return [] }
        return [["usermod", "--append", "--groups", Self.group, user]]
    }

    private var leaving: [[String]] {
        guard case .member(let user, true) = rights else { return [] }
        return [Self.leave(user)]
    }

    private static func leave(_ user: String) -> [String] { ["gpasswd", "--delete", user, group] }

    /// With a time-out, so that bluetoothctl ends even if nothing answers it.
    private static let control = ["bluetoothctl", "--timeout", "10"]

    private var switching: [[String]] {
        var commands: [[String]] = []
        guard case .success(let objects) = machine.answer else {
            commands.append(["systemctl", "enable", "--now", "bluetooth"])
            return commands + (isForVisibility ? Self.showing : [])
        }
        if machine.switches.all.contains(where: \.isBlocked) {
            commands.append(["rfkill", "unblock", "bluetooth"])
        }
        if !objects.adapters.isEmpty, !objects.adapters.contains(where: \.isPowered) {
            commands.append(Self.control + ["power", "on"])
        }
        guard isForVisibility else { return commands }
        let isVisible = objects.adapters.contains { $0.isDiscoverable && $0.isPairable }
        return commands + (isVisible ? [] : Self.showing)
    }

    private static var showing: [[String]] {
        [control + ["pairable", "on"], control + ["discoverable", "on"]]
    }

    /// bluetoothd does it by itself after three minutes.
    private var hiding: [[String]] {
        guard isForVisibility, case .success(let objects) = machine.answer,
            objects.adapters.contains(where: \.isDiscoverable)
        else { return [] }
        return [Self.control + ["discoverable", "off"]]
    }

    private static func words(_ command: [String]) -> String { command.joined(separator: " ") }

    // MARK: Doing it

    package func perform() throws(LinkProblem) {
        let taken = try takeRights()
        do throws(LinkProblem) {
            for command in switching { try carryOut(command) }
        } catch {
            // Nothing is left half done. (What has been switched on grants no rights.)
            if taken, case .dropIn(let dropIn) = rights { try? dropIn.disable() }
            if taken, case .member(let user, _) = rights { _ = run(Self.leave(user)) }
            throw error
        }
    }

    /// - Returns: Whether there was something to do.
    private func takeRights() throws(LinkProblem) -> Bool {
        if case .dropIn(let dropIn) = rights, !dropIn.isEnabled {
            // With a group that does not exist, systemd would not start relayd any more.
            guard machine.hasGroup else {
                throw LinkProblem(
                    .absent, "there is no group \(Self.group), so BlueZ is not installed",
                    remedy: "sudo apt install bluez")
            }
            try dropIn.enable()
            return true
        }
        for command in joining { try carryOut(command) }
        return !joining.isEmpty
    }

    package func undo() throws(LinkProblem) {
        if case .dropIn(let dropIn) = rights, dropIn.isEnabled { try dropIn.disable() }
        for command in leaving + hiding { try carryOut(command) }
    }

    private func carryOut(_ command: [String]) throws(LinkProblem) {
        let code = run(command)
        guard code != 0 else { return }
        let isAbsent = code == 127
        throw LinkProblem(
            .other,
            "\(Self.words(command)): "
                + (isAbsent ? "there is no such program" : "it ended with exit code \(code)"),
            remedy: isAbsent
                ? "sudo apt install \(command.first == "rfkill" ? "rfkill" : "bluez")"
                : getuid() == 0 ? "run it yourself to see what it says" : "run it as root")
    }

    /// Runs without a shell, so that no character in a name has a special meaning.
    static let runProgram: @Sendable ([String]) -> CInt = { command in
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        guard let program = command.first else { return 127 }
        // The output of these programs is for people, not for a reader of JSON.
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO)
        var child = pid_t()
        guard posix_spawnp(&child, program, &files, nil, &arguments, environ) == 0 else {
            return 127
        }
        var status: CInt = 0
        while waitpid(child, &status, 0) < 0 { guard errno == EINTR else { return 127 } }
        // WIFEXITED and WEXITSTATUS of wait(2), which are macros.
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
    }
}
