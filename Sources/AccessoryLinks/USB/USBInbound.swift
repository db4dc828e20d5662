/// The bytes from the device: which transfers are full and wait to be written to the socket, which
/// are free to be submitted. Decisions only; `USBLink` carries them out.
struct USBInbound<Transfer: Equatable> {
    /// A transfer with bytes for the socket.
    struct Filled {
        let transfer: Transfer
        var bytes: Range<Int>
    }

    let endpoint: UInt8
    private var order: USBTransferOrder<Transfer>
    /// In the order of their bytes.
    private(set) var filled: [Filled] = []
    /// To be submitted again.
    private(set) var idle: [Transfer]
    /// Set while the endpoint recovers from a stall.
    private(set) var isRecovering = false
    private var stalls = 0

    init(endpoint: UInt8, transfers: [Transfer]) {
        self.endpoint = endpoint
        order = USBTransferOrder(capacity: transfers.count)
        idle = transfers
        filled.reserveCapacity(transfers.count)
    }

    /// Whether the kernel has none of the transfers.
    var isQuiet: Bool { order.areAllBack }
    var underWay: [Transfer] { order.entries.filter { $0.outcome == nil }.map(\.transfer) }
    var filledBytes: Int { filled.reduce(0) { $0 + $1.bytes.count } }

    /// The next transfer to submit; nil when there is none, or while the endpoint recovers.
    mutating func takeIdle() -> Transfer? {
        guard !isRecovering, !idle.isEmpty else { return nil }
        let transfer = idle.removeFirst()
        order.submitted(transfer)
        return transfer
    }

    mutating func returned(_ transfer: Transfer, _ outcome: USBOutcome, bytes: Int) -> USBStep {
        order.returned(transfer, outcome, bytes: bytes)
        if bytes > 0 { stalls = 0 }
        if let fault = USBFault(outcome, endpoint: endpoint), !isRecovering || outcome != .cancelled
        {
            collect()
            return .fail(fault)
        }
        if isRecovering || outcome == .stalled {
            let isFirst = !isRecovering
            isRecovering = true
            // Transfers behind the stalled one may come back in any order.
            guard order.areAllBack else { return isFirst ? .cancelRest : .go }
            collect()
            stalls += 1
            return stalls > maximumUSBStalls ? .fail(.stalled(endpoint: endpoint)) : .clearHalt
        }
        collect()
        return .go
    }

    /// The halt is cleared.
    mutating func recovered() { isRecovering = false }

    /// The socket took this many bytes of the first filled transfer.
    mutating func wrote(_ count: Int) {
        filled[0].bytes = filled[0].bytes.dropFirst(count)
        if filled[0].bytes.isEmpty { idle.append(filled.removeFirst().transfer) }
    }

    /// Forgets what the socket did not take; returns how much it was.
    mutating func dropFilled() -> Int {
        let lost = filledBytes
        filled.removeAll()
        return lost
    }

    private mutating func collect() {
        while let entry = order.takeReturned() {
            if entry.bytes > 0 {
                filled.append(Filled(transfer: entry.transfer, bytes: 0..<entry.bytes))
            } else {
                idle.append(entry.transfer)
            }
        }
    }
}
