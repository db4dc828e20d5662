/// What `bluetooth:` needs from this machine, checked one by one up to the first thing that is missing.
/// `BluetoothSurvey` asks bluetoothd; `relayctl doctor` shows the result.
package struct BluetoothChecklist: Hashable, Sendable {
    package enum Verdict: Hashable, Sendable {
        case good
        /// It may still work.
        case doubtful
        case missing
    }

    package struct Check: Hashable, Sendable {
        package var verdict: Verdict
        /// One sentence without a full stop. Names in it are those that devices give themselves.
        package var text: String
        package var remedy: String?
    }

    /// Who has registered the service, if bluetoothd offers it.
    package enum Registrar: Hashable, Sendable {
        /// relayd, which waits for a head unit.
        case relayd
        /// Another program, since relayd does not run.
        case others
        /// relayd runs and does not wait: its own reason says why.
        case unknown
    }

    package private(set) var checks: [Check] = []

    /// - Parameters:
    ///   - answer: bluetoothd's answer.
    ///   - switches: The switches of the radios.
    ///   - registrar: Who would have registered the service.
    init(
        _ wish: BlueZDialogue.Wish, _ answer: Result<BlueZObjects, BusFailure>,
        _ switches: RadioSwitches, registrar: Registrar
    ) {
        switch answer {
        case .failure(let failure): tell(failure: failure, wish)
        case .success(let objects): look(at: objects, wish, switches, registrar)
        }
    }

    private mutating func look(
        at objects: BlueZObjects, _ wish: BlueZDialogue.Wish, _ switches: RadioSwitches,
        _ registrar: Registrar
    ) {
        guard !checkAdapters(wish, objects, switches) else { return demote(wish) }
        if let address = wish.device {
            checkDevice(address, wish, objects)
        } else if !checkPairing(wish, objects) {
            checkService(wish, objects, registrar)
        }
    }

    /// relayd connects to a given channel whatever bluetoothd reports, so what is missing becomes doubtful.
    private mutating func demote(_ wish: BlueZDialogue.Wish) {
        guard wish.device != nil, wish.channel != nil else { return }
        for index in checks.indices where checks[index].verdict == .missing {
            checks[index].verdict = .doubtful
        }
    }

    package var isMissingSomething: Bool { checks.contains { $0.verdict == .missing } }

    // MARK: Checks

    private mutating func good(_ text: String) {
        checks.append(Check(verdict: .good, text: text))
    }

    private mutating func doubt(_ text: String, _ remedy: String) {
        checks.append(Check(verdict: .doubtful, text: text, remedy: remedy))
    }

    private mutating func miss(_ problem: LinkProblem) {
        checks.append(Check(verdict: .missing, text: problem.message, remedy: problem.remedy))
    }

    private mutating func tell(failure: BusFailure, _ wish: BlueZDialogue.Wish) {
        if wish.device != nil, wish.channel != nil {
            return doubt(
                "bluetoothd could not be asked: \(failure)",
                "relayd connects to a channel without it; the pairing is looked after by bluetoothd"
            )
        }
        if case .refused("org.freedesktop.DBus.Error.AccessDenied", _) = failure {
            // This says nothing about relayd's user.
            return doubt(
                "you may not ask bluetoothd what there is", "ask as root: sudo relayctl doctor")
        }
        miss(BlueZProblem.explain(failure, asking: "which adapters there are"))
    }

    /// - Returns: Whether something is missing.
    private mutating func checkAdapters(
        _ wish: BlueZDialogue.Wish, _ objects: BlueZObjects, _ switches: RadioSwitches
    ) -> Bool {
        if let problem = BlueZProblem.obstacle(to: wish, objects, switches) {
            miss(problem)
            return true
        }
        let adapters = objects.adapters(of: wish).filter(\.isPowered).map(\.words)
        let verb = adapters.count == 1 ? "is" : "are"
        good("bluetoothd runs, and \(adapters.joined(separator: ", ")) \(verb) on")
        return false
    }

    private mutating func checkDevice(
        _ address: BluetoothAddress, _ wish: BlueZDialogue.Wish, _ objects: BlueZObjects
    ) {
        guard let device = BlueZProblem.device(address, wish, objects) else { return }
        good("\(device.words) is paired with this machine")
        checkTrust([device])
        guard wish.channel == nil, !device.services.isEmpty, !device.services.contains(wish.uuid)
        else { return }
        let problem = BlueZProblem.noService(device.words, wish)
        doubt("when bluetoothd looked last, \(problem.message)", problem.remedy ?? "")
    }

    /// - Returns: Whether something is missing.
    private mutating func checkPairing(
        _ wish: BlueZDialogue.Wish, _ objects: BlueZObjects
    ) -> Bool {
        let adapters = objects.adapters(of: wish).filter(\.isPowered)
        let paired = objects.devices.filter { device in
            device.isPaired && adapters.contains { $0.path == device.adapter }
        }
        guard !paired.isEmpty else {
            miss(Self.nothingPaired(adapters))
            return true
        }
        let welcome = paired.filter { !$0.isBlocked }
        guard !welcome.isEmpty else {
            let address = paired.first?.address ?? ""
            miss(
                LinkProblem(
                    .refused, "all that is paired is blocked: \(Self.names(paired))",
                    remedy: "bluetoothctl unblock \(address)"))
            return true
        }
        good("paired with this machine: \(Self.names(welcome))")
        checkTrust(welcome)
        return false
    }

    /// More names than these would only hide the others.
    private static let maximumNames = 3

    private static func names(_ devices: [BlueZObjects.Device]) -> String {
        let names = devices.prefix(maximumNames).map(\.words).joined(separator: ", ")
        let others = devices.count - maximumNames
        return others > 0 ? "\(names) and \(others) more" : names
    }

    /// The first thing that keeps a head unit from being paired.
    private static func nothingPaired(_ adapters: [BlueZObjects.Adapter]) -> LinkProblem {
        let names = adapters.map(\.words).joined(separator: ", ")
        if !adapters.contains(where: \.isDiscoverable) {
            return LinkProblem(
                .refused, "nothing is paired, and a head unit cannot see \(names)",
                remedy:
                    "bluetoothctl discoverable on (for three minutes), then choose this machine "
                    + "on the head unit")
        }
        if !adapters.contains(where: \.isPairable) {
            return LinkProblem(
                .refused, "nothing is paired, and nobody may pair with \(names)",
                remedy: "bluetoothctl pairable on, or leave bluetoothctl running while you pair")
        }
        return LinkProblem(
            .refused, "nothing is paired; a head unit can see \(names)",
            remedy:
                "choose this machine on the head unit, and confirm the number here in bluetoothctl")
    }

    private mutating func checkTrust(_ devices: [BlueZObjects.Device]) {
        let strangers = devices.filter { !$0.isTrusted }
        guard let first = strangers.first else { return }
        doubt(
            "paired and not trusted: \(Self.names(strangers)); bluetoothd asks each time before services "
                + "other than SDL's are used",
            "bluetoothctl trust \(first.address)")
    }

    private mutating func checkService(
        _ wish: BlueZDialogue.Wish, _ objects: BlueZObjects, _ registrar: Registrar
    ) {
        let isOffered = objects.adapters(of: wish).contains { $0.services.contains(wish.uuid) }
        switch (registrar, isOffered) {
        case (.relayd, true):
            good("bluetoothd offers relayd's service to head units")
        case (.relayd, false):
            miss(
                LinkProblem(
                    .other, "relayd waits, and bluetoothd does not offer its service",
                    remedy: "relayctl reopen"))
        case (.others, true):
            miss(BlueZProblem.taken(wish.uuid))
        case (.others, false), (.unknown, _): break
        }
    }
}
