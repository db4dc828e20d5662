/// The dialogue between relayd and bluetoothd for one link: takes events and returns the actions to perform.
/// `BlueZThread` carries them out.
///
/// In the role of the phone, relayd registers the SDL service and waits for the head unit; the other way round,
/// bluetoothd looks the service up in the head unit's records and connects. Either way the connection arrives as a
/// descriptor through `NewConnection` (BlueZ, org.bluez.Profile1). The service stays registered until the link has
/// ended, so that bluetoothd need not take anything away from it meanwhile.
struct BlueZDialogue {
    /// What the address asks for.
    struct Wish: Hashable, Sendable {
        /// The device to connect to; nil to wait for a connection.
        var device: BluetoothAddress?
        /// The service's UUID, in lower case.
        var uuid: String
        /// RFCOMM channel to wait on; nil for any free one.
        var channel: UInt8?
        /// `hci0`; nil for any.
        var adapter: String?
    }

    enum Event {
        case begun
        case objects(Result<BlueZObjects, BusFailure>)
        case registered(BusFailure?)
        /// The call that asks for a connection has been answered.
        case connectAnswered(BusFailure?)
        /// `NewConnection`.
        case connected(device: String)
        /// Adapters or devices have changed.
        case changed
        /// bluetoothd has left the bus, or a new one has come.
        case daemonLeft
        /// bluetoothd has taken the service back.
        case released
        /// bluetoothd wants the connection of the device to end.
        case disconnectAsked(device: String)
        case linkEnded
        case cancelled
    }

    enum Action: Hashable {
        case askForObjects
        case register
        case connect(device: String)
        /// The head unit can connect now.
        case listening(at: String)
        /// The new connection becomes the link.
        case take(device: String)
        /// The new connection is not wanted.
        case refuse(String)
        /// Shuts the link down.
        case hangUp
        /// There will be no link.
        case fail(LinkProblem)
        case end
    }

    private enum State: Hashable {
        case asking
        case registering
        case listening
        case connecting
        case linked(device: String)
        case over
    }

    private let wish: Wish
    private var state = State.asking
    private var objects = BlueZObjects()
    private var listensAt: String?
    /// Whether bluetoothd has been asked and has not answered yet, and whether something has changed since. Only
    /// one question is open at a time, however much changes.
    private var isAsking = false
    private var hasChanged = false

    init(_ wish: Wish) { self.wish = wish }

    mutating func receive(_ event: Event) -> [Action] {
        guard state != .over else {
            if case .connected = event { return [.refuse("relayd has stopped listening")] }
            return []
        }
        switch event {
        case .begun: return ask()
        case .objects(let answer): return told(answer)
        case .registered(let failure): return registered(failure)
        case .connectAnswered(let failure): return connectAnswered(failure)
        case .connected(let device): return connected(device)
        case .changed:
            // While linked, the link itself shows what happens to it.
            return state == .listening || state == .connecting ? ask() : []
        case .daemonLeft:
            // A connection that was handed over belongs to the kernel, not to bluetoothd.
            return isLinked ? [] : fail(BlueZProblem.noDaemon)
        case .released:
            return isLinked ? [] : fail(BlueZProblem.takenBack)
        case .disconnectAsked(let device):
            return state == .linked(device: device) ? [.hangUp] : []
        case .linkEnded:
            state = .over
            return [.end]
        case .cancelled:
            return isLinked ? [] : fail(BlueZProblem.cancelled)
        }
    }

    private var isLinked: Bool {
        if case .linked = state { true } else { false }
    }

    private mutating func fail(_ problem: LinkProblem) -> [Action] {
        state = .over
        return [.fail(problem), .end]
    }

    // MARK: Before there is a link

    private mutating func ask() -> [Action] {
        guard !isAsking else {
            hasChanged = true
            return []
        }
        isAsking = true
        return [.askForObjects]
    }

    private mutating func told(_ answer: Result<BlueZObjects, BusFailure>) -> [Action] {
        isAsking = false
        let isCurrent = !hasChanged
        hasChanged = false
        guard !isLinked else { return [] }
        switch answer {
        case .failure(let failure):
            return fail(BlueZProblem.explain(failure, asking: "which adapters there are"))
        case .success(let objects):
            self.objects = objects
        }
        if let problem = BlueZProblem.obstacle(to: wish, objects) { return fail(problem) }
        switch state {
        case .asking:
            state = .registering
            return [.register]
        case .listening:
            if let channel = wish.channel, isCurrent, !isOffered {
                return fail(BlueZProblem.occupied(channel))
            }
            return isCurrent ? tellPlace() : ask()
        default:
            return isCurrent ? [] : ask()
        }
    }

    private mutating func registered(_ failure: BusFailure?) -> [Action] {
        guard state == .registering else { return [] }
        if let failure { return fail(BlueZProblem.explain(failure, registering: wish.uuid)) }
        guard let address = wish.device else {
            state = .listening
            // bluetoothd reports success even if it could not listen on the channel.
            return wish.channel == nil ? tellPlace() : ask()
        }
        guard let device = BlueZProblem.device(address, wish, objects) else { return [] }
        state = .connecting
        return [.connect(device: device.path)]
    }

    private mutating func connectAnswered(_ failure: BusFailure?) -> [Action] {
        guard state == .connecting, let address = wish.device else { return [] }
        guard let failure else {
            // bluetoothd answers after the connection was handed over.
            return fail(BlueZProblem.connectedWithoutUs(address))
        }
        return fail(BlueZProblem.explain(failure, connecting: address, wish, objects))
    }

    private mutating func connected(_ device: String) -> [Action] {
        switch state {
        case .linked(let other):
            return [.refuse("\(objects.words(device: other)) is connected already")]
        case .listening where isOnOtherAdapter(device):
            return [.refuse("relayd waits on adapter \(wish.adapter ?? "")")]
        case .listening, .connecting, .registering:
            state = .linked(device: device)
            return [.take(device: objects.words(device: device))]
        case .asking, .over:
            return [.refuse("relayd has not asked for it")]
        }
    }

    private func isOnOtherAdapter(_ device: String) -> Bool {
        wish.adapter.map { !device.hasPrefix("/org/bluez/\($0)/") } ?? false
    }

    private var isOffered: Bool {
        objects.adapters(of: wish).contains { $0.isPowered && $0.services.contains(wish.uuid) }
    }

    // MARK: Words

    /// Reports where relayd listens if that has changed.
    private mutating func tellPlace() -> [Action] {
        let place = place
        guard place != listensAt else { return [] }
        listensAt = place
        return [.listening(at: place)]
    }

    /// Where a head unit finds relayd, and what may keep it from connecting.
    private var place: String {
        let adapters = objects.adapters(of: wish).filter(\.isPowered)
        let names = adapters.map(\.words).joined(separator: ", ")
        let service =
            wish.uuid == BluetoothTransport.sdlService
            ? "the SDL service" : "the service \(wish.uuid)"
        let channel = wish.channel.map { " on channel \($0)" } ?? ""
        var words = "Bluetooth adapter \(names): \(service)\(channel)"
        if !objects.devices.contains(where: \.isPaired) {
            words +=
                adapters.contains(where: \.isDiscoverable)
                ? "; nothing is paired yet, pair the head unit with this machine"
                : "; nothing is paired, and the head unit cannot see this machine: "
                    + "bluetoothctl discoverable on"
        }
        return words
    }
}
