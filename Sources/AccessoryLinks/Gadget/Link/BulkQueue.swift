import CShims
import Glibc

/// The transfers of one bulk endpoint of a gadget. The kernel has several at a time: while relayd handles one, the
/// controller goes on with the next. They are in the order of their bytes.
///
/// Each has a buffer here, which the kernel uses until the transfer has ended. Belongs to one link, and to the
/// thread of its direction. Counts are negative errno values where a call failed.
final class BulkQueue: BulkFromHost, BulkToHost {
    private struct Transfer {
        let slot: Int
        let count: Int
        /// Nil while it is under way.
        var result: Int?
    }

    private let endpoint: CInt
    private let isToHost: Bool
    private let slots: Int
    private let slotBytes: Int
    /// Rung by each transfer to the host when it ends.
    private let bell: OwnedDescriptor?
    /// The bell's descriptor; -1 for transfers from the host.
    let news: CInt
    private let buffers: UnsafeMutableRawBufferPointer
    private let context: UInt64
    private var free: [Int]
    private var order: [Transfer] = []
    /// How many of the first transfers have ended.
    private var ended = 0
    /// How many bytes of the first transfer, which has ended, `take` has already handed out.
    private var takenOfFirst = 0
    private(set) var lastDone = 0

    /// How long the kernel may need to end the transfers under way when the endpoint no longer works.
    private static let endLimit: Duration = .seconds(1)
    /// How long to let packets gather: at high speed, one takes about a tenth of this time at least.
    private static let gatherMicroseconds: UInt32 = 100

    /// - Parameter slots: At most `RELAY_TRANSFERS`.
    init(_ endpoint: CInt, toHost: Bool, slots: Int, of slotBytes: Int) throws(LinkProblem) {
        var context: UInt64 = 0
        var bell: CInt = -1
        let error = toHost ? relay_transfers_bell(&bell) : 0
        guard error == 0 else { throw GadgetProblem.settingUp(errno: error) }
        self.bell = toHost ? OwnedDescriptor(bell) : nil
        news = bell
        let refusal = relay_transfers_open(UInt32(slots), &context)
        guard refusal == 0 else { throw GadgetProblem.settingUp(errno: refusal) }
        self.endpoint = endpoint
        isToHost = toHost
        self.slots = slots
        self.slotBytes = slotBytes
        self.context = context
        buffers = .allocate(byteCount: slots * slotBytes, alignment: 16)
        free = Array((0..<slots).reversed())
        order.reserveCapacity(slots)
    }

    deinit {
        // The kernel must give up the buffers first.
        relay_transfers_close(context)
        buffers.deallocate()
    }

    private func buffer(_ slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffers[slot * slotBytes..<(slot + 1) * slotBytes])
    }

    // MARK: From the host

    /// Submits all free buffers when that is worth a call, then waits for bytes and takes them.
    func read(_ target: UnsafeMutableRawBufferPointer) -> Int {
        if !hasEnded {
            if free.count >= slots / 4 || order.isEmpty {
                let error = begin(Array(repeating: slotBytes, count: free.count))
                if error < 0, order.isEmpty { return error }
            }
            while !hasEnded {
                let error = wait(milliseconds: -1)
                if error < 0 { return error }
            }
            gather()
        }
        return take(target)
    }

    /// Waits until a packet that is not full has come, or no other within a while.
    private func gather() {
        while true {
            guard
                ShortPackets.goesOn(
                    after: order[..<ended].last?.result ?? 0, packetBytes: slotBytes,
                    ahead: order.count - ended, of: slots)
            else { return }
            usleep(Self.gatherMicroseconds)
            guard wait(milliseconds: 0) > 0 else { return }
        }
    }

    func readRest(_ target: UnsafeMutableRawBufferPointer) -> Int {
        settle()
        while !order.isEmpty {
            let count = take(target)
            if count > 0 { return count }
        }
        return 0
    }

    /// The bytes of the transfers that have ended, as many as there is room for; or the failure of the first.
    private func take(_ target: UnsafeMutableRawBufferPointer) -> Int {
        if let result = order.first?.result, result < 0 {
            drop(1)
            return result
        }
        var (filled, done) = (0, 0)
        for transfer in order[..<ended] {
            guard let result = transfer.result, result >= 0 else { break }
            let from = buffer(transfer.slot)[..<min(result, slotBytes)].dropFirst(takenOfFirst)
            let count = min(from.count, target.count - filled)
            target.baseAddress.map { base in
                UnsafeMutableRawBufferPointer(start: base + filled, count: count)
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: from.prefix(count)))
            }
            filled += count
            guard count == from.count else {
                drop(done)
                takenOfFirst += count
                return filled
            }
            takenOfFirst = 0
            done += 1
        }
        drop(done)
        return filled
    }

    // MARK: To the host

    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        let failure = collect(untilLeft: free.isEmpty ? order.count - 1 : order.count)
        guard failure == 0 else { return failure }
        guard let slot = free.last else { return -Int(EAGAIN) }
        let count = min(bytes.count, slotBytes)
        buffer(slot).copyBytes(from: bytes.prefix(count))
        let error = begin([count])
        return error < 0 ? error : count
    }

    func underWay() -> Int {
        // Before the check: a transfer that ends after this read rings anew.
        var rung: UInt64 = 0
        _ = Glibc.read(news, &rung, 8)
        let error = wait(milliseconds: 0)
        guard error >= 0 else { return error }
        return dropDone() ?? order.count
    }

    func flush() -> Int { collect(untilLeft: 0) }

    /// Waits until at most this many are under way.
    private func collect(untilLeft left: Int) -> Int {
        while true {
            if let failure = dropDone() { return failure }
            guard order.count > left else { return 0 }
            let error = wait(milliseconds: -1)
            if error < 0 { return error }
        }
    }

    /// - Returns: The failure of the first failed transfer, which stays; nil when none has failed.
    private func dropDone() -> Int? {
        drop(order.firstIndex { ($0.result ?? -1) < 0 } ?? order.count)
        return order.first?.result
    }

    /// The kernel does not say how far a broken-off transfer had come.
    func unread() -> Int {
        settle()
        let unread = order.reduce(0) { ($1.result ?? -1) < 0 ? $0 + $1.count : $0 }
        drop(order.count)
        return unread
    }

    // MARK: Both

    private var hasEnded: Bool { ended > 0 }

    /// Forgets the first transfers.
    private func drop(_ count: Int) {
        for transfer in order.prefix(count) {
            if let result = transfer.result, result >= 0 { lastDone = result }
            free.append(transfer.slot)
        }
        order.removeFirst(count)
        ended -= min(ended, count)
        if count > 0 { takenOfFirst = 0 }
    }

    /// Begins transfers of these sizes with the next free buffers.
    private func begin(_ counts: [Int]) -> Int {
        var begun: [relay_transfer] = []
        begun.reserveCapacity(counts.count)
        for (slot, count) in zip(free.reversed(), counts) {
            begun.append(
                relay_transfer(
                    name: UInt64(slot), bytes: buffer(slot).baseAddress, count: UInt64(count),
                    result: 0))
        }
        guard !begun.isEmpty else { return 0 }
        let taken = Int(
            relay_transfers_begin(
                context, endpoint, isToHost ? 1 : 0, news, begun, CInt(begun.count)))
        for index in 0..<max(0, taken) {
            order.append(Transfer(slot: free.removeLast(), count: counts[index]))
        }
        return taken == 0 ? -Int(EAGAIN) : min(taken, 0)
    }

    /// Waits for transfers to end, and notes their results.
    ///
    /// - Returns: How many have ended; 0 when the time was over.
    private func wait(milliseconds: CInt) -> Int {
        withUnsafeTemporaryAllocation(of: relay_transfer.self, capacity: Int(RELAY_TRANSFERS)) {
            events in
            let count = Int(
                relay_transfers_wait(context, events.baseAddress, CInt(events.count), milliseconds))
            for transfer in events.prefix(max(0, count)) {
                // They end in order, unless the endpoint stops.
                guard
                    let index = order[ended...].firstIndex(where: {
                        $0.slot == Int(truncatingIfNeeded: transfer.name) && $0.result == nil
                    })
                else { continue }
                order[index].result = Int(transfer.result)
                while ended < order.count, order[ended].result != nil { ended += 1 }
            }
            return count
        }
    }

    /// Waits until nothing is under way, which happens at once when the endpoint has stopped.
    private func settle() {
        let end = ContinuousClock.now + Self.endLimit
        while ended < order.count, .now < end { _ = wait(milliseconds: 50) }
        for index in order.indices where order[index].result == nil {
            order[index].result = -Int(ETIMEDOUT)
        }
        ended = order.count
    }
}
