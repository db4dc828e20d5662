/// How one transfer came back.
enum USBOutcome: Hashable {
    case completed
    /// Its time limit passed; the bytes moved until then count.
    case timedOut
    /// The endpoint has halted; it goes on once the halt is cleared.
    case stalled
    case cancelled
    case gone
    /// The device sent more than fits: bytes are lost.
    case overflow
    /// The controller gave up: a bad cable, or a device that is being unplugged.
    case failed
}

/// The transfers of one endpoint in the order in which they were submitted, which is the order of their bytes.
/// Cancelled transfers may come back in another order.
struct USBTransferOrder<Transfer: Equatable> {
    struct Entry {
        let transfer: Transfer
        /// Nil while it is under way.
        var outcome: USBOutcome?
        /// Bytes that it has moved.
        var bytes = 0
    }

    private(set) var entries: [Entry] = []

    init(capacity: Int) {
        entries.reserveCapacity(capacity)
    }

    mutating func submitted(_ transfer: Transfer) {
        entries.append(Entry(transfer: transfer))
    }

    mutating func returned(_ transfer: Transfer, _ outcome: USBOutcome, bytes: Int) {
        guard let index = entries.firstIndex(where: { $0.transfer == transfer }) else { return }
        entries[index].outcome = outcome
        entries[index].bytes = bytes
    }

    /// Removes and returns the oldest transfer if it is back.
    mutating func takeReturned() -> Entry? {
        guard entries.first?.outcome != nil else { return nil }
        return entries.removeFirst()
    }

    /// Whether no transfer is under way any more.
    var areAllBack: Bool { entries.allSatisfy { $0.outcome != nil } }
}

/// Why a link ends from the device's side.
enum USBFault: Hashable {
    case vanished
    /// The endpoint stalls again and again.
    case stalled(endpoint: UInt8)
    case overflow(endpoint: UInt8)
    case failed(endpoint: UInt8)
    /// The kernel took back transfers that had not been cancelled: the interface was taken away, by a host that
    /// went to sleep or by another program.
    case interrupted
    /// A transfer was cut short after a later one had moved bytes: the stream has a hole.
    case outOfOrder
    /// libusb refused a transfer.
    case refused(code: Int32)

    init?(_ outcome: USBOutcome, endpoint: UInt8) {
        switch outcome {
        case .completed, .timedOut, .stalled: return nil
        case .cancelled: self = .interrupted
        case .gone: self = .vanished
        case .overflow: self = .overflow(endpoint: endpoint)
        case .failed: self = .failed(endpoint: endpoint)
        }
    }
}

/// What to do after a transfer has come back.
enum USBStep: Hashable {
    case go
    /// Cancel what is still under way on this endpoint and wait until all of it is back.
    case cancelRest
    /// All transfers are back: clear the halt, then submit again.
    case clearHalt
    /// All transfers are back, and there is no halt: submit again.
    case resume
    case fail(USBFault)
}

/// Stalls in a row, without a byte in between, after which a device counts as broken.
let maximumUSBStalls = 3
