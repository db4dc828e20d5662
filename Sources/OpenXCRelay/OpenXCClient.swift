import NIOCore
import OpenXCProtocol
import RelayCore

/// One client: the messages it sends, and its queue of messages to receive.
final class OpenXCClient: AppReader {
    let connection: AppConnection
    private unowned let language: OpenXCLanguage
    private var messages = VehicleMessageReader(recovery: .nextPiece)
    private(set) var framing: MessageFraming
    /// The framing that this client gets as JSON: one that began with lines reads lines.
    private let jsonFraming: MessageFraming
    private var filter: SubscriptionFilter
    private let maximumQueueBytes: Int
    /// Bytes that may be written before the length of the queue is checked again.
    private var room: Int
    /// Messages that the client has missed.
    private(set) var lost: UInt64 = 0

    init(_ connection: AppConnection, _ language: OpenXCLanguage, _ settings: OpenXCConfiguration) {
        self.connection = connection
        self.language = language
        let choice = settings.choice(at: connection.entrance)
        framing = choice.framing
        jsonFraming = choice.framing == .protobuf ? .json : choice.framing
        filter = SubscriptionFilter(choice.subscription)
        maximumQueueBytes = settings.queueBytes
        room = maximumQueueBytes
    }

    /// The last thing that went wrong, for status.
    var problem: String? {
        if lost > 0 { return "reads too slowly: \(lost) messages lost" }
        let failures = messages.counts.failures
        return failures > 0 ? "\(failures) of its messages could not be read" : nil
    }

    func snapshot(_ permissions: WritePermissions) -> VehicleSnapshot.Client {
        VehicleSnapshot.Client(
            id: connection.id, peer: connection.peer, connectedAt: connection.connectedAt,
            framing: framing, subscription: filter.subscription,
            queuedBytes: connection.queuedBytes, maximumQueueBytes: maximumQueueBytes,
            lost: lost, refused: connection.refusals, counts: messages.counts,
            counters: connection.counters, problem: connection.lastProblem ?? problem,
            permissions: permissions)
    }

    // MARK: From the client

    func received(_ bytes: ByteBuffer) {
        connection.counters.bytesIn &+= UInt64(bytes.readableBytes)
        messages.append(bytes.readableBytesView)
    }

    func passOn() {
        while connection.mayGoOn, language.makeRoom(for: self), let message = messages.next() {
            language.receive(message, from: self)
        }
    }

    func waits() {}
    func stops() {}
    func hungUp() {}

    // MARK: To the client

    func asks(for request: DiagnosticRequest) { filter.asks(for: request) }

    func speak(_ format: PayloadFormat) {
        framing = format == .protobuf ? .protobuf : jsonFraming
    }

    /// Sends the messages of one link read, or of several reads within the time of `Gathering`.
    func offer(_ batch: inout MessageBatch, _ hub: Switchboard, at now: NIODeadline) {
        if filter.isOpen, let (bytes, count) = batch.all(in: framing),
            makeRoom(for: bytes.readableBytes)
        {
            connection.counters.framesOut &+= UInt64(count - 1)
            return write(bytes, hub)
        }
        for index in batch.indices {
            switch batch.destination(index) {
            case .all:
                guard batch.message(index).isFit(for: framing),
                    filter.pass(batch.message(index), at: now)
                else { continue }
            case .client(connection.id): break
            case .client, .nobody: continue
            }
            if let bytes = batch.bytes(index, in: framing) { send(bytes, hub) }
        }
    }

    /// When the next message that was delayed by the maximum rate is due.
    var nextDeadline: NIODeadline? { filter.nextDeadline }

    func offerDue(_ hub: Switchboard, at now: NIODeadline) {
        for message in filter.takeDue(at: now) { offer(message, hub) }
    }

    func offer(_ message: VehicleMessage, _ hub: Switchboard) {
        var bytes: [UInt8] = []
        guard (try? framing.append(message, to: &bytes)) != nil else { return }
        send(ByteBuffer(bytes: bytes), hub)
    }

    private func send(_ message: ByteBuffer, _ hub: Switchboard) {
        // With an empty queue, one message is always sent: it may be longer than the queue.
        guard makeRoom(for: message.readableBytes) || room == maximumQueueBytes else {
            lost &+= 1
            return
        }
        write(message, hub)
    }

    private func write(_ messages: ByteBuffer, _ hub: Switchboard) {
        room -= messages.readableBytes
        hub.send(messages, to: connection)
    }

    /// Flushes if the queue has no room for so many bytes: what the socket takes at once does not count as
    /// waiting, even when a read brings more than the queue holds.
    ///
    /// - Returns: Whether there is room for them now.
    private func makeRoom(for count: Int) -> Bool {
        if count > room {
            connection.flush()
            room = maximumQueueBytes - connection.queuedBytes
        }
        return count <= room
    }
}
