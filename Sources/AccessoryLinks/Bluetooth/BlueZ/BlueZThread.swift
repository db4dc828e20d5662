import Glibc
import NIOCore

/// One link made through bluetoothd: a thread with its own connection to the message bus, from the first question
/// until the link has ended. It carries out the actions of `BlueZDialogue` and sleeps otherwise.
final class BlueZThread: Sendable {
    /// A connection that was handed over. The receiver owns the descriptor.
    struct Connection: Sendable {
        let descriptor: CInt
        /// The device at its other end, in words.
        let device: String
    }

    private let wish: BlueZDialogue.Wish
    private let wait: BluetoothWait<Connection>
    private let listening: @Sendable (String) -> Void

    /// - Parameter listening: gets the place where a head unit can connect, each time that it changes.
    init(
        _ wish: BlueZDialogue.Wish, on loop: any EventLoop,
        listening: @escaping @Sendable (String) -> Void
    ) throws(LinkProblem) {
        self.wish = wish
        self.listening = listening
        wait = try BluetoothWait(on: loop)
    }

    /// Waits for the connection, as long as it takes or until the task is cancelled. If there was one, `linkEnded`
    /// must follow.
    func connect() async throws(LinkProblem) -> Connection {
        try await wait.value { self.run() }
    }

    func linkEnded() { wait.mailbox.put(.linkEnded) }

    private func run() {
        do throws(BusFailure) {
            var run = try Run(wish, wait, listening)
            try run.untilItIsOver()
        } catch {
            // If the link is there already, nothing waits for the result; the link lives on without bluetoothd.
            wait.fail(BlueZProblem.explain(error, asking: "anything"))
        }
    }
}

extension BlueZThread {
    /// The state of the thread.
    private struct Run: ~Copyable {
        private let wish: BlueZDialogue.Wish
        private let result: BluetoothWait<Connection>
        private let listening: @Sendable (String) -> Void
        private let bus: MessageBus
        private var dialogue: BlueZDialogue
        private var isOver = false
        /// The unique name of bluetoothd on the bus; calls from others are refused.
        private var daemon = ""
        /// The open questions, by the numbers of their calls.
        private var asked: [UInt64: Question] = [:]
        /// The call that has just brought a connection.
        private var offered: (call: BusMessage, descriptor: CInt)?
        /// A second descriptor of the link, used to end it.
        private var link: CInt = -1

        private enum Question { case objects, registration, connection }

        private static let service = BlueZObjects.service
        private static let path = "/org/relayd/profile"
        /// Long enough for a page time-out, an authentication and a search for services.
        private static let connectSeconds: UInt64 = 60
        private static let answerSeconds: UInt64 = 10

        init(
            _ wish: BlueZDialogue.Wish, _ result: BluetoothWait<Connection>,
            _ listening: @escaping @Sendable (String) -> Void
        ) throws(BusFailure) {
            (self.wish, self.result) = (wish, result)
            self.listening = listening
            bus = try MessageBus()
            dialogue = BlueZDialogue(wish)
        }

        deinit {
            if let offered { close(offered.descriptor) }
            if link >= 0 { close(link) }
        }

        mutating func untilItIsOver() throws(BusFailure) {
            try bus.serve(Self.path)
            // A message for every change of a name would wake us for each program that uses the bus.
            try bus.hear(
                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',"
                    + "arg0='\(Self.service)'")
            try bus.hear(
                "type='signal',sender='\(Self.service)',"
                    + "interface='org.freedesktop.DBus.ObjectManager'")
            for interface in ["org.bluez.Adapter1", "org.bluez.Device1"] {
                try bus.hear(
                    "type='signal',sender='\(Self.service)',member='PropertiesChanged',"
                        + "interface='org.freedesktop.DBus.Properties',arg0='\(interface)'")
            }
            try receive(.begun)
            while !isOver {
                for letter in result.mailbox.take() {
                    try receive(letter == .cancelled ? .cancelled : .linkEnded)
                }
                try bus.process()
                while let arrival = bus.next() { try receive(arrival) }
                if !isOver { wait() }
            }
        }

        private func wait() {
            let (descriptor, events, milliseconds) = bus.interest
            var polled = [
                pollfd(fd: descriptor, events: events, revents: 0),
                pollfd(fd: result.mailbox.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&polled, 2, milliseconds)
        }

        // MARK: What arrives

        private mutating func receive(_ arrival: MessageBus.Arrival) throws(BusFailure) {
            switch arrival {
            case .answer(let number, let answer):
                try answered(asked.removeValue(forKey: number), answer)
            case .signal(let signal) where signal.member == "NameOwnerChanged":
                // The first change may be that bluetoothd was started to answer us.
                if !daemon.isEmpty { try receive(.daemonLeft) }
            case .signal(let signal):
                if BlueZObjects.areChanged(by: signal) { try receive(.changed) }
            case .call(let call):
                try called(call)
            }
        }

        private mutating func answered(
            _ question: Question?, _ answer: Result<BusMessage, BusFailure>
        ) throws(BusFailure) {
            var failure: BusFailure?
            if case .failure(let reason) = answer { failure = reason }
            switch question {
            case .objects:
                try receive(.objects(objects(answer)))
            case .registration:
                try receive(.registered(failure))
            case .connection:
                try receive(.connectAnswered(failure))
            case nil:
                break
            }
        }

        private mutating func objects(
            _ answer: Result<BusMessage, BusFailure>
        ) -> Result<BlueZObjects, BusFailure> {
            do throws(BusFailure) {
                let message = try answer.get()
                daemon = message.sender
                return .success(try BlueZObjects(message))
            } catch {
                return .failure(error)
            }
        }

        private mutating func called(_ call: BusMessage) throws(BusFailure) {
            guard call.interface == "org.bluez.Profile1" else {
                return bus.answer(
                    call,
                    .refused(
                        name: "org.freedesktop.DBus.Error.UnknownMethod",
                        words: "\(Self.path) has org.bluez.Profile1 only"))
            }
            guard call.sender == daemon else {
                return bus.answer(
                    call,
                    .refused(
                        name: "org.freedesktop.DBus.Error.AccessDenied",
                        words: "only bluetoothd may call this"))
            }
            switch call.member {
            case "NewConnection": try connected(call)
            case "RequestDisconnection":
                guard let device = try? call.path() else {
                    return bus.answer(
                        call,
                        .refused(
                            name: "org.freedesktop.DBus.Error.InvalidArgs",
                            words: "RequestDisconnection has a device"))
                }
                bus.answer(call)
                try receive(.disconnectAsked(device: device))
            case "Release":
                bus.answer(call)
                try receive(.released)
            default:
                bus.answer(
                    call,
                    .refused(
                        name: "org.freedesktop.DBus.Error.UnknownMethod",
                        words: "org.bluez.Profile1 has no \(call.member)"))
            }
        }

        private mutating func connected(_ call: BusMessage) throws(BusFailure) {
            let device: String
            do throws(BusFailure) {
                device = try call.path()
                offered = (call, try call.socket().release())
            } catch {
                return bus.answer(
                    call, .refused(name: "org.bluez.Error.Rejected", words: "\(error)"))
            }
            try receive(.connected(device: device))
        }

        // MARK: Actions

        private mutating func receive(_ event: BlueZDialogue.Event) throws(BusFailure) {
            for action in dialogue.receive(event) { try perform(action) }
        }

        private mutating func perform(_ action: BlueZDialogue.Action) throws(BusFailure) {
            switch action {
            case .askForObjects:
                try ask(.objects, BlueZObjects.question, on: "/", within: Self.answerSeconds)
            case .register:
                let options = options
                let method = BusMethod("org.bluez.ProfileManager1", "RegisterProfile")
                let (path, uuid) = (Self.path, wish.uuid)
                try ask(.registration, method, on: "/org/bluez", within: Self.answerSeconds) {
                    (message) throws(BusFailure) in
                    try message.append(path: path)
                    try message.append(text: uuid)
                    try message.append(options: options)
                }
            case .connect(let device):
                let method = BusMethod("org.bluez.Device1", "ConnectProfile")
                let uuid = wish.uuid
                try ask(.connection, method, on: device, within: Self.connectSeconds) {
                    (message) throws(BusFailure) in try message.append(text: uuid)
                }
            case .listening(let place): listening(place)
            case .take(let device): take(device)
            case .refuse(let words): refuse(words)
            case .hangUp: if link >= 0 { shutdown(link, CInt(SHUT_RDWR)) }
            case .fail(let problem): result.fail(problem)
            case .end: isOver = true
            }
        }

        private mutating func ask(
            _ question: Question, _ method: BusMethod, on path: String, within seconds: UInt64,
            write: (BusMessage) throws(BusFailure) -> Void = { _ in }
        ) throws(BusFailure) {
            let number = try bus.call(
                method, on: path, of: Self.service, within: seconds, write: write)
            asked[number] = question
        }

        /// The options with which a phone registers its service. As on Android, pairing is required, and it alone
        /// decides whether the head unit may connect.
        private var options: [BusOption] {
            var options = [
                BusOption("Name", .text(BluetoothTransport.serviceName)),
                BusOption("Role", .text(wish.device == nil ? "server" : "client")),
                BusOption("RequireAuthentication", .flag(true)),
                BusOption("RequireAuthorization", .flag(false)),
                // Only when relayd asks for it.
                BusOption("AutoConnect", .flag(false)),
            ]
            // 0 stands for any free channel. Without this option bluetoothd listens nowhere, and its record of the
            // service names no channel (BlueZ, src/profile.c, ext_start_servers).
            if wish.device == nil {
                options.append(BusOption("Channel", .number(UInt16(wish.channel ?? 0))))
            }
            return options
        }

        private mutating func take(_ device: String) {
            guard let (call, descriptor) = offered else { return }
            offered = nil
            bus.answer(call)
            link = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            result.succeed(Connection(descriptor: descriptor, device: device))
        }

        private mutating func refuse(_ words: String) {
            guard let (call, descriptor) = offered else { return }
            offered = nil
            close(descriptor)
            bus.answer(call, .refused(name: "org.bluez.Error.Rejected", words: words))
        }
    }
}
