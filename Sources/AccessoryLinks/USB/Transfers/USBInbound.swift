/// How a transfer from the device is submitted.
struct USBInboundRequest: Equatable {
    /// Room for the bytes: a multiple of every packet size, as transfers to the host must have.
    var bytes: Int
    /// Milliseconds after which it comes back with what it has; 0 for never.
    var milliseconds: UInt32

    /// The size that Android's accessory driver moves at once.
    static let usual = USBInboundRequest(bytes: 16_384, milliseconds: 0)

    /// For a device that streams: every transfer costs the same, whatever it moves.
    ///
    /// It needs a time limit: a device that sends 16 KiB without an empty packet after them, as head units let it,
    /// and waits for the answer would wait for ever. Within the limit, four of these are filled at 0.7 MB/s.
    static let ofStream = USBInboundRequest(bytes: 32_768, milliseconds: 200)
}

/// The bytes from the device: which transfers are full and wait to be written to the socket, and which are free to
/// be submitted. Decisions only; `USBLink` carries them out.
struct USBInbound<Transfer: Equatable> {
    /// A transfer with bytes for the socket.
    struct Filled {
        let transfer: Transfer
        var bytes: Range<Int>
    }

    /// A device streams once it has had this many more full transfers than others. As many again are counted, so
    /// that a few that are not full do not end the stream.
    static var fullOnesOfStream: Int { 4 }
    /// Full transfers after which a device that was too slow may count as a stream again.
    static var penalty: Int { 256 }

    let endpoint: UInt8
    private var order: USBTransferOrder<Transfer>
    /// Recent full transfers, less those that were not.
    private var fullOnes = 0
    /// In the order of their bytes.
    private(set) var filled: [Filled] = []
    /// Transfers to be submitted again.
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

    /// How to submit the next transfer.
    var request: USBInboundRequest { fullOnes < Self.fullOnesOfStream ? .usual : .ofStream }

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
            // Transfers after the stalled one may come back in any order.
            guard order.areAllBack else { return isFirst ? .cancelRest : .go }
            collect()
            stalls += 1
            return stalls > maximumUSBStalls ? .fail(.stalled(endpoint: endpoint)) : .clearHalt
        }
        collect()
        return .go
    }

    /// The halt has been cleared.
    mutating func recovered() { isRecovering = false }

    /// The socket took this many bytes of the first filled transfer.
    mutating func wrote(_ count: Int) {
        filled[0].bytes = filled[0].bytes.dropFirst(count)
        if filled[0].bytes.isEmpty { idle.append(filled.removeFirst().transfer) }
    }

    /// Forgets the bytes that the socket did not take; returns how many there were.
    mutating func dropFilled() -> Int {
        let lost = filledBytes
        filled.removeAll()
        return lost
    }

    private mutating func collect() {
        while let entry = order.takeReturned() {
            switch entry.outcome {
            case .completed where entry.bytes >= USBInboundRequest.usual.bytes:
                fullOnes = min(fullOnes + 1, 2 * Self.fullOnesOfStream)
            case .completed: fullOnes = max(fullOnes - 1, min(fullOnes, 0))
            // Ended in the middle of its bytes: the device is too slow for this. Transfers of ordinary size need
            // not be taken back while they are being filled.
            case .timedOut where entry.bytes > 0: fullOnes = -Self.penalty
            default: fullOnes = min(fullOnes, 0)
            }
            if entry.bytes > 0 {
                filled.append(Filled(transfer: entry.transfer, bytes: 0..<entry.bytes))
            } else {
                idle.append(entry.transfer)
            }
        }
    }
}
