import Glibc
import Synchronization

@testable import AccessoryLinks

/// A simulated gadget and head unit that behave like FunctionFS and its controllers (Linux 6.1): bulk calls
/// wait until the gadget is configured; they end with ESHUTDOWN when it is no longer configured, and with EINTR
/// when the thread is interrupted; data read ahead survives that, data written ahead is lost; a short transfer
/// counts as done while it lies in the controller's memory, and is lost if the head unit never fetches it; a
/// request followed by another event is void (EIDRM); of disable and enable only the last is reported.
final class FakeGadget: Gadget {
    struct State {
        var events: [FunctionEvent] = []
        /// The request waiting to be answered.
        var request: SetupRequest?
        var requestIsVoid = false
        var data: [UInt8] = []
        var replies: [Reply] = []
        var isConfigured = false
        var configurations = 0
        /// Packets from the head unit that relayd has not read.
        var packets: [[UInt8]] = []
        /// Whether the head unit has stopped reading.
        var isHeld = false
        /// A transfer in the controller's memory that has not been fetched.
        var kept: [UInt8]?
        var lastDone = 0
        /// Transfers waiting for the head unit.
        var ahead: [[UInt8]] = []
        var waiting: Int { ahead.reduce(0) { $0 + $1.count } }
        /// Packets read ahead before the gadget was unconfigured.
        var readAhead: [[UInt8]] = []
        /// Transfers that the head unit has received whole; an empty packet is a transfer of no bytes.
        var transfers: [[UInt8]] = []
        /// The faces it has shown on the bus so far; nil while off the bus.
        var faces: [AccessoryOnEndpointZero.Face?] = []
        /// The error of the next attempt to go on the bus.
        var refusal: LinkProblem?
        /// The error thrown when a link sets up its transfers to the head unit.
        var transferRefusal: LinkProblem?
    }

    enum Reply: Equatable {
        case data([UInt8])
        case acknowledged
        case halted
    }

    let state = Watched(State())
    let zero: CInt
    private let zeroBell: CInt
    private let bells: [(wait: CInt, ring: CInt)]

    init() throws {
        var pairs: [(CInt, CInt)] = []
        for _ in 0..<3 {
            var ends: [CInt] = [-1, -1]
            let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
            guard socketpair(AF_UNIX, CInt(kind), 0, &ends) == 0 else {
                throw LinkProblem(.other, "no sockets")
            }
            pairs.append((ends[0], ends[1]))
        }
        (zero, zeroBell) = pairs[0]
        bells = pairs.dropFirst().map { (wait: $0.0, ring: $0.1) }
    }

    deinit {
        for descriptor in [zero, zeroBell] + bells.flatMap({ [$0.wait, $0.ring] }) {
            close(descriptor)
        }
    }

    // MARK: Calls by relayd

    func events() -> [FunctionEvent] {
        var byte: UInt8 = 0
        while Glibc.read(zero, &byte, 1) > 0 {}
        let taken = Mutex<[FunctionEvent]>([])
        state.update { state in
            guard !state.requestIsVoid else {
                state.requestIsVoid = false
                return
            }
            taken.withLock { $0 = state.events }
            for case .setup(let request) in state.events { state.request = request }
            state.events = []
        }
        if !state.value.events.isEmpty { ring(zeroBell) }
        return taken.withLock { $0 }
    }

    func answer(_ bytes: [UInt8]) -> Int { reply(.data(bytes), bytes.count) }

    func take(_ count: Int) -> (count: Int, bytes: [UInt8]) {
        let data = Array(state.value.data.prefix(count))
        let result = reply(.acknowledged, data.count)
        return (result, result < 0 ? [] : data)
    }

    func halt(_ request: SetupRequest) { _ = reply(.halted, 0) }

    private func reply(_ reply: Reply, _ count: Int) -> Int {
        let result = Mutex(count)
        state.update { state in
            if state.requestIsVoid {
                state.requestIsVoid = false
                result.withLock { $0 = -Int(EIDRM) }
            } else if state.request == nil {
                result.withLock { $0 = -Int(ESRCH) }
            } else {
                state.request = nil
                state.replies.append(reply)
            }
        }
        return result.withLock { $0 }
    }

    func packetBytes() -> Int { 512 }

    static let transfersAhead = 4
    /// Size of the controller's memory in bytes, as in dummy_hcd.
    static let keptBytes = 64

    func fromHost(packetBytes: Int) -> any BulkFromHost { Endpoint(fake: self) }
    func toHost() throws(LinkProblem) -> any BulkToHost {
        if let refusal = state.value.transferRefusal { throw refusal }
        state.update { $0.lastDone = 0 }
        return Endpoint(fake: self)
    }

    private final class Endpoint: BulkFromHost, BulkToHost {
        private let fake: FakeGadget

        init(fake: FakeGadget) { self.fake = fake }

        func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int { fake.read(buffer) }
        func readRest(_ buffer: UnsafeMutableRawBufferPointer) -> Int { fake.readRest(buffer) }
        func write(_ bytes: UnsafeRawBufferPointer) -> Int { fake.write(bytes) }
        func underWay() -> Int { fake.underWay() }
        var news: CInt { fake.bells[1].wait }
        func flush() -> Int { fake.flush() }
        var lastDone: Int { fake.state.value.lastDone }
        func unread() -> Int { fake.unread() }
    }

    private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let began = Mutex<Int?>(nil)
        let packet = Mutex<[UInt8]?>(nil)
        return call(bells[0].wait, began) { state in
            guard !state.packets.isEmpty else { return nil }
            let first = state.packets.removeFirst()
            packet.withLock { $0 = first }
            return first.count
        } then: { _ in
            buffer.copyBytes(from: packet.withLock { $0 } ?? [])
        }
    }

    private func readRest(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let packet = Mutex<[UInt8]>([])
        state.update { state in
            guard !state.readAhead.isEmpty else { return }
            let first = state.readAhead.removeFirst()
            packet.withLock { $0 = first }
        }
        let bytes = packet.withLock { $0 }
        buffer.copyBytes(from: bytes)
        return bytes.count
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        let transfer = Array(bytes)
        return call(bells[1].wait, Mutex(nil)) { state in
            guard state.ahead.count < Self.transfersAhead else { return nil }
            if !state.isHeld {
                state.transfers.append(transfer)
                state.lastDone = transfer.count
            } else if state.kept == nil, state.ahead.isEmpty, transfer.count <= Self.keptBytes {
                state.kept = transfer
                state.lastDone = transfer.count
            } else {
                state.ahead.append(transfer)
            }
            return transfer.count
        } then: { _ in
        }
    }

    private func underWay() -> Int {
        var byte: UInt8 = 0
        while Glibc.read(bells[1].wait, &byte, 1) > 0 {}
        let state = state.value
        return state.isConfigured ? state.ahead.count : -Int(ESHUTDOWN)
    }

    private func flush() -> Int {
        call(bells[1].wait, Mutex(nil)) {
            $0.ahead.isEmpty ? 0 : nil
        } then: { _ in
        }
    }

    private func unread() -> Int {
        let unread = Mutex(0)
        state.update { state in
            let waiting = state.waiting
            unread.withLock { $0 = waiting }
            state.ahead = []
            state.kept = nil
        }
        return unread.withLock { $0 }
    }

    /// Performs a call on one bulk endpoint.
    private func call(
        _ bell: CInt, _ began: borrowing Mutex<Int?>,
        _ attempt: @Sendable (inout State) -> Int?, then finish: (Int) -> Void
    ) -> Int {
        while true {
            var byte: UInt8 = 0
            while Glibc.read(bell, &byte, 1) > 0 {}
            let known = began.withLock { $0 }
            let result = Mutex<(count: Int?, configuration: Int?)>((nil, known))
            withoutActuallyEscaping(attempt) { attempt in
                state.update { state in
                    guard state.isConfigured else {
                        if known != nil { result.withLock { $0.count = -Int(ESHUTDOWN) } }
                        return
                    }
                    // A call begun in one configuration never continues in the next.
                    guard known == nil || known == state.configurations else {
                        result.withLock { $0.count = -Int(ESHUTDOWN) }
                        return
                    }
                    let count = attempt(&state)
                    let configuration = state.configurations
                    result.withLock { $0 = (count, configuration) }
                }
            }
            let (count, configuration) = result.withLock { $0 }
            began.withLock { $0 = configuration }
            if let count {
                if count >= 0 { finish(count) }
                return count
            }
            var polled = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
            if poll(&polled, 1, -1) < 0, errno == EINTR { return -Int(EINTR) }
        }
    }

    func appear(
        as face: AccessoryOnEndpointZero.Face, on controller: String
    ) throws(LinkProblem) {
        if let refusal = state.value.refusal { throw refusal }
        // Reported first, because a head unit that sees the face may react quickly.
        tell(.bind)
        state.update { $0.faces.append(face) }
    }

    func disappear() {
        state.update { state in
            state.isConfigured = false
            state.faces.append(nil)
        }
        tell(.unbind)
    }

    // MARK: Actions of the head unit

    /// Chooses the configuration; may be called again.
    func configure(packets: [[UInt8]] = []) {
        state.update { state in
            state.isConfigured = true
            state.configurations += 1
            state.packets = packets
        }
        tell(.enable)
    }

    /// Pulls the cable, after packets that relayd has not looked at.
    func leave(after packets: [[UInt8]] = []) {
        state.update { state in
            state.isConfigured = false
            state.readAhead = packets
        }
        tell(.disable)
    }

    /// Removes the controller.
    func loseController() {
        state.update { $0.isConfigured = false }
        tell(.unbind)
    }

    func suspend() { tell(.suspend) }
    func resume() { tell(.resume) }

    func send(_ packet: [UInt8]) {
        state.update { $0.packets.append(packet) }
        ring(bells[0].ring)
    }

    func holdReads(_ isHeld: Bool) {
        state.update { state in
            state.isHeld = isHeld
            guard !isHeld else { return }
            state.transfers += [state.kept].compactMap { $0 } + state.ahead
            state.lastDone = state.ahead.last?.count ?? state.lastDone
            state.kept = nil
            state.ahead = []
        }
        ring(bells[1].ring)
    }

    /// Reads one of the waiting transfers.
    func readOne() {
        state.update { state in
            guard !state.ahead.isEmpty else { return }
            let first = state.ahead.removeFirst()
            state.transfers.append(first)
            state.lastDone = first.count
        }
        ring(bells[1].ring)
    }

    /// Sends a request and returns relayd's reply.
    func request(_ request: SetupRequest, _ data: [UInt8] = []) async throws -> Reply {
        let count = state.value.replies.count
        state.update { $0.data = data }
        tell(.setup(request))
        let replies = try await state.wait(for: "an answer to \(request)") {
            $0.replies.count > count
        }.replies
        return replies[count]
    }

    /// Leads the phone into accessory mode, and configures the accessory.
    func start(packets: [[UInt8]] = []) async throws {
        let before = state.value.faces.count
        configure()
        _ = try await request(SetupRequest(type: 0xC0, request: 51, length: 2))
        for (index, name) in ["SDL", "Core", "unit", "1.0", "uri", "7"].enumerated() {
            let bytes = Array(name.utf8)
            _ = try await request(
                SetupRequest(
                    type: 0x40, request: 52, index: UInt16(index), length: UInt16(bytes.count)),
                bytes)
        }
        _ = try await request(SetupRequest(type: 0x40, request: 53))
        try await state.wait(for: "an accessory") {
            $0.faces.count >= before + 2 && $0.faces.last == .accessory
        }
        configure(packets: packets)
    }

    private func tell(_ event: FunctionEvent) {
        state.update { state in
            if state.request != nil {
                state.request = nil
                state.requestIsVoid = true
            }
            switch event {
            case .setup, .suspend, .resume: break
            default: state.events.removeAll { $0 != .suspend && $0 != .resume }
            }
            state.events.append(event)
        }
        ring(zeroBell)
        for bell in bells { ring(bell.ring) }
    }

    private func ring(_ descriptor: CInt) {
        var byte: UInt8 = 1
        _ = Glibc.write(descriptor, &byte, 1)
    }
}
