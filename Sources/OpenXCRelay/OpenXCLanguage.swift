package import NIOCore
package import OpenXCProtocol
package import RelayCore

/// A vehicle interface shared by its clients: carries out in the hub what `VehicleRouter` decides.
///
/// The link is always read, even without clients or with slow ones, because a vehicle interface that is not
/// read slows down all its outputs. A client whose queue is full misses whole messages. Client connections
/// outlive the link, because clients do not reconnect. Everything here is called on the hub's loop.
package final class OpenXCLanguage: AccessoryLanguage {
    private unowned let hub: Switchboard
    private let settings: OpenXCSettings
    private var configuration: OpenXCConfiguration
    private var router: VehicleRouter<AppID>
    private var clients: [AppID: OpenXCClient] = [:]
    /// Messages that have not gone to the clients yet.
    private var batch = MessageBatch()
    private var gathering = Gathering()
    private var link: LinkConnection?
    private var reader: OpenXCLink?
    private var identity = VehicleIdentity()
    private let words: OpenXCReporter
    private let tap: VehicleTapWriter
    private var guests = VehicleGuests()
    package private(set) var unflushedLinkBytes = 0
    /// Clients that are not read until the link has taken the bytes that wait for it.
    private var paused: Set<AppID> = []

    /// Bytes that may wait for the link before a client that adds to them is paused. Firmware takes commands
    /// of 383 bytes one by one.
    static let linkQueueBytes = 16 << 10
    /// Bytes of a client that are processed in a row: some 200 commands. A vehicle interface takes 45 KB/s.
    static let clientReadBytes = 4 << 10

    /// - Parameter tap: Gets all messages and events; nil for none.
    package init(
        _ hub: Switchboard, settings: OpenXCSettings, tap: VehicleTap? = nil,
        answerTimeout: TimeAmount = VehicleRouter<AppID>.answerTimeout
    ) {
        router = VehicleRouter(answerTimeout: answerTimeout)
        self.hub = hub
        self.settings = settings
        configuration = settings.configuration
        self.tap = VehicleTapWriter(hub, tap)
        words = OpenXCReporter(hub)
    }

    // MARK: - Vehicle interface → clients

    /// Handles the messages of one read of the link.
    ///
    /// - Parameter wire: The same messages as they came, for the tap.
    func receiveFromVehicle(_ messages: [VehicleMessage], _ wire: MessagesOnTheWire) {
        var heard: [VehicleItem.Heard] = []
        for (index, message) in messages.enumerated() {
            hub.link.counters.framesIn &+= 1
            if case .response(let response) = message.content { identity.heard(response) }
            let delivery = router.receiveFromVehicle(message, at: hub.now)
            if !delivery.before.isEmpty {
                tap.record(&heard)
                deliver()
                carryOut(delivery.before)
            }
            guests.hear(message, for: delivery.destination)
            batch.add(message, for: delivery.destination)
            if tap.isWanted { heard.append((message, delivery.destination, wire[index])) }
            if !delivery.after.isEmpty {
                tap.record(&heard)
                deliver()
                carryOut(delivery.after)
            }
        }
        tap.record(&heard)
        if identity.knows { (hub.link.make, hub.link.model) = ("OpenXC", identity.description) }
        let mayWait = gathering.mayWait(
            batch.indices.count, for: clients.count, hasAnswer: !batch.asking.isEmpty, at: hub.now)
        if mayWait { gathering.wait() } else { deliver() }
        askAgain()
    }

    /// Whether the tap needs the messages as they look on the wire.
    var isTapped: Bool { tap.isWanted }

    /// Delivers the messages gathered so far to the clients.
    private func deliver() {
        guard !batch.indices.isEmpty else { return }
        gathering.went(at: hub.now)
        // A local copy: a write may reveal that a client is gone, which takes back what that client wanted.
        // The writes for that may reveal that the link is gone too, which delivers the messages that have
        // come.
        var going = batch
        batch = MessageBatch()
        if going.asking.isEmpty {
            for client in clients.values { client.offer(&going, hub, at: hub.now) }
        } else {
            // The connections are flushed in this order at the end of the read.
            for client in going.inOrder(clients) { client.offer(&going, hub, at: hub.now) }
        }
    }

    /// Asks the first questions again when a vehicle interface that speaks protobuf did not understand them.
    private func askAgain() {
        guard identity.isWorthAskingAgain(in: reader?.format) else { return }
        identity.askedAgain()
        carryOut(router.linkOpened(at: hub.now))
        for command in VehicleIdentity.questions { carryOut(router.ask(command, at: hub.now)) }
    }

    // MARK: - Clients → vehicle interface

    func receive(_ message: VehicleMessage, from client: OpenXCClient) {
        client.connection.counters.framesIn &+= 1
        let id = client.connection.id
        if case .command(.diagnosticRequest(.add, let request)) = message.content {
            client.asks(for: request)
        }
        carryOut(router.receive(message, from: id, at: hub.now), for: id)
    }

    /// - Parameter wanting: The client that wants it; nil for relayd itself.
    private func carryOut(
        _ actions: [VehicleRouter<AppID>.Action], for wanting: AppID? = nil
    ) {
        for action in actions {
            switch action {
            case .toVehicle(let message):
                write(message)
                tap.record(.sent(message, by: wanting))
            case .toClient(let id, let message):
                // Behind the messages that came before the answer.
                deliver()
                clients[id]?.offer(message, hub)
                if case .response(let response) = message.content {
                    guests.tell(id, .response(response))
                }
                tap.record(.answered(message, id))
            case .setFormat(let id, let format): clients[id]?.speak(format)
            case .note(let note):
                words.say(note, clients[note.client]?.connection)
                guests.tell(note.client, .note(note))
                tap.record(.noted(note))
            }
        }
    }

    /// Writes in the form that the vehicle interface itself uses.
    private func write(_ message: VehicleMessage) {
        guard let link else { return }
        var bytes: [UInt8] = []
        do {
            let framing = reader?.format == .protobuf ? MessageFraming.protobuf : .json
            try framing.append(message, to: &bytes)
        } catch {
            return words.cannotBeSaid(message)
        }
        hub.link.counters.framesOut &+= 1
        hub.link.counters.bytesOut &+= UInt64(bytes.count)
        link.write(ByteBuffer(bytes: bytes))
        unflushedLinkBytes += bytes.count
    }

    /// Flushes when too much waits for the link, and pauses the client if flushing did not help.
    ///
    /// - Returns: Whether the client may add to the waiting bytes.
    func makeRoom(for client: OpenXCClient) -> Bool {
        guard let link, unflushedLinkBytes + link.bytesInChannel > Self.linkQueueBytes else {
            return true
        }
        // What was written in this read has not been offered to the socket yet.
        flushLink()
        guard !link.isWritable else { return true }
        paused.insert(client.connection.id)
        client.connection.pause(.link)
        return false
    }

    // MARK: - The link

    package func linkOpened(_ link: LinkConnection) -> any LinkReader {
        self.link = link
        tap.record(.linkOpened(address: hub.accessoryAddress))
        identity = VehicleIdentity()
        let reader = OpenXCLink(self)
        self.reader = reader
        carryOut(router.linkOpened(at: hub.now))
        for command in VehicleIdentity.questions { carryOut(router.ask(command, at: hub.now)) }
        return reader
    }

    package func linkClosed(because reason: String) {
        hub.link.garbageBytes += reader?.counts.garbageBytes ?? 0
        link = nil
        reader = nil
        deliver()
        tap.record(.linkClosed(reason: reason))
        unflushedLinkBytes = 0
        carryOut(router.linkClosed(at: hub.now))
        guests.tellAll(.linkClosed(reason: reason))
        goOn()
    }

    package func linkTookAll() { goOn() }

    private func goOn() {
        let waiting = paused.sorted()
        paused = []
        for id in waiting { clients[id]?.connection.resume(.link) }
    }

    package var isLinkHeld: Bool { false }

    // MARK: - Clients

    package func connected(_ app: AppConnection) -> any AppReader {
        // Messages received before the client came are not for it.
        deliver()
        app.readPieces(of: Self.clientReadBytes)
        let client = OpenXCClient(app, self, configuration)
        clients[app.id] = client
        router.connected(app.id, may: configuration.permissions(of: ClientPlace(app)))
        return client
    }

    package func disconnected(_ app: AppConnection) -> AppLeaving {
        clients[app.id] = nil
        paused.remove(app.id)
        carryOut(router.disconnected(app.id, at: hub.now))
        return .client
    }

    // Each client has its own queue limit, whatever its socket reports.
    package func blocked(_ app: AppConnection) {}
    package func tookAll(_ app: AppConnection) {}

    /// Messages received before the client left are still delivered to it. What only this client wanted is
    /// taken back when its connection ends.
    package func leave(_ app: AppConnection) { deliver() }

    // MARK: - Requests of the control API

    /// Admits a request until `dismiss`. It may write what a client at `address` may.
    ///
    /// - Parameter hearsDiagnostics: Whether diagnostic responses are among its events.
    package func admit(from address: PeerAddress, hearsDiagnostics: Bool) -> VehicleGuest {
        let guest = guests.admit(from: address, hearsDiagnostics: hearsDiagnostics)
        router.connected(guest.id, may: configuration.permissions(of: .network(address)))
        return guest
    }

    package func say(_ message: VehicleMessage, as guest: VehicleGuest) {
        hub.beginRead()
        let isFull = unflushedLinkBytes + (link?.bytesInChannel ?? 0) > Self.linkQueueBytes
        carryOut(
            isFull
                ? [.note(.tooManyCommands(guest.id, message))]
                : router.receive(message, from: guest.id, at: hub.now), for: guest.id)
        hub.endRead()
    }

    /// Ends the request and takes back what only it wanted.
    package func dismiss(_ guest: VehicleGuest) {
        hub.beginRead()
        guests.dismiss(guest.id)
        carryOut(router.disconnected(guest.id, at: hub.now))
        hub.endRead()
    }

    // MARK: - Time

    package func flushLink() {
        guard unflushedLinkBytes > 0 else { return }
        unflushedLinkBytes = 0
        link?.flush()
    }

    package func readIsOver() {}
    package var nextDeadline: NIODeadline? {
        let deadlines = clients.values.lazy.compactMap(\.nextDeadline)
        return [router.nextDeadline, gathering.due, deadlines.min()].compactMap { $0 }.min()
    }

    package func advance() {
        if let due = gathering.due, due <= hub.now { deliver() }
        carryOut(router.advance(to: hub.now))
        for client in clients.values { client.offerDue(hub, at: hub.now) }
    }

    // MARK: - Status, reload and stop

    /// Permissions change at once. A client keeps the subscription and queue size that it got when it
    /// connected.
    package func reconfigure(_ configuration: RelayConfiguration) {
        self.configuration = settings.configuration
        for client in clients.values {
            router.permit(
                client.connection.id,
                self.configuration.permissions(of: ClientPlace(client.connection)))
        }
        for (id, address) in guests.addresses {
            router.permit(id, self.configuration.permissions(of: .network(address)))
        }
    }

    package func describe(_ link: inout RelaySnapshot.Link) {
        link.garbageBytes = hub.link.garbageBytes + (reader?.counts.garbageBytes ?? 0)
        link.queuedBytes = unflushedLinkBytes + (self.link?.bytesInChannel ?? 0)
    }

    package func describe(_ app: inout RelaySnapshot.App) {
        guard let client = clients[app.id] else { return }
        app.lostFrames = client.lost
        if app.lastProblem == nil { app.lastProblem = client.problem }
    }

    /// The same for readers that want to know about the vehicle and its clients rather than about bytes.
    package func snapshot() -> VehicleSnapshot {
        VehicleSnapshot(
            isConnected: link != nil, address: hub.accessoryAddress, identity: identity,
            format: reader?.format, counts: reader?.counts ?? .init(),
            recurring: router.recurringOwners, switches: router.switchOwners,
            clients: clients.values.sorted { $0.connection.id < $1.connection.id }
                .map { $0.snapshot(router.permissions(of: $0.connection.id)) })
    }

    /// A vehicle interface goes on with what it was asked for until its power is cut.
    package func leaveAll() {
        deliver()
        for id in clients.keys.sorted() + guests.ids {
            carryOut(router.disconnected(id, at: hub.now))
        }
    }

    package var isAllSaid: Bool { true }
    /// Most clients only listen, so silence is no reason to disconnect one.
    package var silentTimeout: TimeAmount { .zero }
    package func refusal(_ reason: String) -> any ChannelHandler { SilentRefusal() }

    package var accessoryName: String { "vehicle interface" }
    package var clientName: String { "client" }
}

/// Closes the connection of a client for which there is no place: no text would be a message to it.
private final class SilentRefusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) { context.close(promise: nil) }
}
