/// The bytes to the device: which transfers are free to be filled from the socket, and what is left of those that
/// came back short. Decisions only; `USBLink` carries them out.
struct USBOutbound<Transfer: Equatable> {
    /// Bytes of a transfer that are still to be sent.
    struct Load: Equatable {
        let transfer: Transfer
        var bytes: Range<Int>
    }

    /// Bytes of one transfer, and of all that are under way, which no control frame can overtake. Two transfers of
    /// 32 KiB move almost twice as much as four of 16 KiB where a transfer is expensive, and small frames still
    /// have four.
    static var maximumBytes: Int { 32_768 }
    static var maximumBytesUnderWay: Int { 65_536 }

    let endpoint: UInt8
    private var order: USBTransferOrder<Transfer>
    /// What each transfer under way is to send, in the order of submission.
    private var loads: [Load] = []
    private(set) var free: [Transfer]
    private(set) var isRecovering = false
    private var needsClearHalt = false
    private var stalls = 0

    init(endpoint: UInt8, transfers: [Transfer]) {
        self.endpoint = endpoint
        order = USBTransferOrder(capacity: transfers.count)
        loads.reserveCapacity(transfers.count)
        free = transfers
    }

    /// Whether nothing is left to be sent.
    var isEmpty: Bool { loads.isEmpty }
    /// Whether the kernel has none of the transfers.
    var isQuiet: Bool { order.areAllBack }
    var underWay: [Transfer] { order.entries.filter { $0.outcome == nil }.map(\.transfer) }
    var canFill: Bool { !isRecovering && !free.isEmpty && room > 0 }

    /// Bytes that the next transfer may take.
    var room: Int {
        let underWay = loads.reduce(0) { $0 + $1.bytes.count }
        return min(Self.maximumBytes, Self.maximumBytesUnderWay - underWay)
    }

    /// Bytes handed over that are not known to have arrived.
    var unsentBytes: Int {
        var bytes = loads.reduce(0) { $0 + $1.bytes.count }
        for entry in order.entries where entry.outcome != nil { bytes -= entry.bytes }
        return max(0, bytes)
    }

    /// The first free transfer has been filled with this many bytes and is about to be submitted.
    mutating func filled(_ count: Int) {
        let transfer = free.removeFirst()
        order.submitted(transfer)
        loads.append(Load(transfer: transfer, bytes: 0..<count))
    }

    mutating func returned(_ transfer: Transfer, _ outcome: USBOutcome, bytes: Int) -> USBStep {
        order.returned(transfer, outcome, bytes: bytes)
        if bytes > 0 { stalls = 0 }
        if let fault = USBFault(outcome, endpoint: endpoint), !isRecovering || outcome != .cancelled
        {
            return .fail(fault)
        }
        let isShort = loads.contains { $0.transfer == transfer && $0.bytes.count > bytes }
        guard isRecovering || outcome == .stalled || isShort else {
            collect()
            return .go
        }
        if outcome == .stalled { needsClearHalt = true }
        let isFirst = !isRecovering
        isRecovering = true
        guard order.areAllBack else { return isFirst ? .cancelRest : .go }
        return settle()
    }

    /// The halt has been cleared. Returns what has to be submitted again, in order, from where it stopped.
    mutating func recovered() -> [Load] {
        isRecovering = false
        needsClearHalt = false
        for load in loads { order.submitted(load.transfer) }
        return loads
    }

    /// All transfers are back: those sent whole are done; those cut short are sent again, unless a later one has
    /// overtaken them.
    private mutating func settle() -> USBStep {
        var left: [Load] = []
        while let entry = order.takeReturned() {
            var load = loads.removeFirst()
            if entry.bytes > 0, !left.isEmpty { return .fail(.outOfOrder) }
            load.bytes = load.bytes.dropFirst(entry.bytes)
            if load.bytes.isEmpty { free.append(load.transfer) } else { left.append(load) }
        }
        loads = left
        stalls += 1
        guard stalls <= maximumUSBStalls else { return .fail(.stalled(endpoint: endpoint)) }
        return needsClearHalt ? .clearHalt : .resume
    }

    /// Transfers that were sent whole are done; one that failed stays, as it has not been sent.
    private mutating func collect() {
        while order.entries.first?.outcome == .completed, let entry = order.takeReturned() {
            loads.removeFirst()
            free.append(entry.transfer)
        }
    }
}
