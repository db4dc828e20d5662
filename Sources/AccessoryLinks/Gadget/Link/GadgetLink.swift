import CShims
import Glibc
import HostNames
import NIOConcurrencyHelpers
import Synchronization

/// Moves the bytes of one link between the gadget's bulk endpoints and the hub's socket, for as long as the head
/// unit has configured the accessory. Does not interpret them.
///
/// FunctionFS cannot be polled, so each direction has a thread that waits in the kernel. The gadget keeps a few
/// transfers of each: a slow side stops the other. `GadgetThread` has at most one link, starts it and ends it.
final class GadgetLink: Sendable {
    enum News: Sendable {
        /// The hub has closed, and the head unit has all that it sent.
        case drained
        /// The kernel refused a transfer: an errno value.
        case failed(CInt)
        /// The transfers of a direction could not be set up.
        case refused(LinkProblem)
    }

    /// Counts of what happened to the bytes.
    struct Counts: Equatable {
        /// Bytes from the head unit, and those of them that the hub did not take.
        var arrivedBytes = 0
        var undeliveredBytes = 0
        /// Bytes from the hub for the head unit.
        var takenBytes = 0
        /// Those of them in transfers that the link's end has broken off or prevented.
        var brokenOffBytes = 0
        /// Those that the controller has reported as done but may still hold: its memory holds a packet, and Linux
        /// does not say whether the head unit has fetched it. 0 if another packet has followed.
        var keptBytes = 0
        /// How often bytes from the head unit were taken.
        var reads = 0
        /// Transfers to the head unit, including empty packets.
        var transfers = 0
        var emptyPackets = 0

        /// Bytes not known to have reached the head unit.
        var unsentBytes: Int { brokenOffBytes + keptBytes }

        var words: String {
            "\(arrivedBytes) bytes from the head unit; \(takenBytes) for it, of which \(brokenOffBytes) were broken"
                + " off and \(keptBytes) may have stayed in the controller; \(reads) reads, \(transfers) transfers,"
                + " of which \(emptyPackets) empty"
        }
    }

    private struct State {
        var isStopped = false
        /// Threads that have been started and have not ended.
        var running = 0
        var threads: [pthread_t] = []
        var counts = Counts()
    }

    let end: USBLinkEnd
    private let gadget: any Gadget
    private let packetBytes: Int
    private let socket: OwnedDescriptor
    private let stopped: OwnedDescriptor
    private let stopping: OwnedDescriptor
    private let onNews: @Sendable (News) -> Void
    private let state = Mutex(State())
    /// True while no thread runs.
    private let hasEnded = ConditionLock(value: true)

    /// How long the head unit may take for the remaining bytes when the hub has closed the link, as with `USBLink`.
    static let drainLimit = USBLink.drainLimit
    /// The most bytes taken from the gadget at a time.
    private static let readBytes = 65_536

    init(
        _ gadget: any Gadget, socket: consuming OwnedDescriptor, end: USBLinkEnd,
        onNews: @escaping @Sendable (News) -> Void
    ) throws(LinkProblem) {
        let ends = try OwnedDescriptor.socketPair()
        stopped = OwnedDescriptor(ends.0)
        stopping = OwnedDescriptor(ends.1)
        self.gadget = gadget
        self.end = end
        self.socket = socket
        self.onNews = onNews
        packetBytes = gadget.packetBytes()
    }

    /// A descriptor to poll: shows that the hub has closed.
    var hubSocket: CInt { socket.rawValue }

    /// Starts both threads. Even on failure the link has to be stopped.
    func start() throws(LinkProblem) {
        let hubIn = try socket.duplicate()
        let hubOut = try socket.duplicate()
        var error = relay_interrupt_prepare()
        if error == 0 {
            error = run("gadget in", with: hubIn.release()) {
                self.moveToHub(HubSocket(OwnedDescriptor($0)))
            }
        }
        if error == 0 {
            error = run("gadget out", with: hubOut.release()) {
                self.moveToHost(HubSocket(OwnedDescriptor($0)))
            }
        }
        guard error == 0 else {
            throw .system("a thread for the gadget could not be started", errno: error)
        }
    }

    /// - Parameter hub: A descriptor for the body to own; closed here if there is no thread.
    private func run(
        _ name: String, with hub: CInt, _ body: @escaping @Sendable (CInt) -> Void
    ) -> CInt {
        countThreads(1)
        let error = DetachedThread.run {
            _ = relay_thread_set_name(name)
            _ = relay_thread_allow_interrupt()
            let thread = pthread_self()
            self.state.withLock { $0.threads.append(thread) }
            body(hub)
            // Under the lock, so that a thread that has ended is not interrupted.
            self.state.withLock { $0.threads.removeAll { $0 == thread } }
            self.countThreads(-1)
        }
        if error != 0 {
            close(hub)
            countThreads(-1)
        }
        return error
    }

    private func countThreads(_ change: Int) {
        hasEnded.lock()
        let running = state.withLock { state in
            state.running += change
            return state.running
        }
        hasEnded.unlock(withValue: running == 0)
    }

    /// Ends the link, and waits for both threads: afterwards the endpoints are free for the next link. First the
    /// reason is known, and only then the hub is told of the end.
    func stop(
        because problem: (@Sendable (_ unsent: Int, _ undelivered: Int) -> LinkProblem)?
    ) -> Counts {
        state.withLock { $0.isStopped = true }
        var byte: UInt8 = 1
        _ = Glibc.write(stopping.rawValue, &byte, 1)
        // A call that is only about to wait misses the interruption.
        while !hasEnded.lock(whenValue: true, timeoutSeconds: 0.02) {
            state.withLock { state in
                for thread in state.threads { _ = relay_thread_interrupt(thread) }
            }
        }
        hasEnded.unlock()
        let counts = state.withLock { $0.counts }
        end.set(
            USBLinkEnd.Report(
                problem: problem, takenBytes: counts.takenBytes, unsentBytes: counts.unsentBytes,
                undeliveredBytes: counts.undeliveredBytes))
        guard let last = try? socket.duplicate() else {
            shutdown(socket.rawValue, CInt(SHUT_RDWR))
            return counts
        }
        var hub = HubSocket(last)
        hub.close()
        shutdown(socket.rawValue, CInt(SHUT_WR))
        return counts
    }

    // MARK: Head unit → hub

    private func moveToHub(_ socket: consuming HubSocket) {
        var hub = socket
        guard
            let endpoint = opened({ () throws(LinkProblem) in
                try gadget.fromHost(packetBytes: packetBytes)
            })
        else { return }
        withUnsafeTemporaryAllocation(byteCount: Self.readBytes, alignment: 16) { buffer in
            while waitToTransfer() {
                let count = endpoint.read(buffer)
                if count > 0 {
                    deliver(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: &hub)
                } else if count < 0 {
                    failed(-count)
                }
            }
            while case let count = endpoint.readRest(buffer), count > 0 {
                deliver(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: &hub)
            }
        }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer, to hub: inout HubSocket) {
        state.withLock { state in
            state.counts.arrivedBytes += bytes.count
            state.counts.reads += 1
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = hub.send(UnsafeRawBufferPointer(rebasing: rest))
            rest = rest.dropFirst(count)
            if count == 0, hub.hubIsGone || !wait(for: hub.descriptor, Int16(POLLOUT)) {
                let lost = rest.count
                state.withLock { $0.counts.undeliveredBytes += lost }
                return
            }
        }
    }

    // MARK: Hub → head unit

    private func moveToHost(_ socket: consuming HubSocket) {
        var hub = socket
        guard let endpoint = opened({ () throws(LinkProblem) in try gadget.toHost() }) else {
            return
        }
        withUnsafeTemporaryAllocation(byteCount: ShortPackets.transferBytes, alignment: 16) {
            buffer in
            // The head unit's read ends only with the bytes that follow, or with an empty packet.
            var leavesWaiting = false
            while !isStopped {
                let count = hub.receive(buffer.baseAddress, atMost: buffer.count)
                if count > 0 {
                    state.withLock { $0.counts.takenBytes += count }
                    send(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: endpoint)
                    leavesWaiting = ShortPackets.leavesWaiting(
                        after: count, packetBytes: packetBytes)
                } else if hub.isDrained {
                    drain(endpoint)
                    onNews(.drained)
                    waitForStop()
                } else if leavesWaiting {
                    leavesWaiting = !endRead(at: endpoint, unless: hub.descriptor)
                } else {
                    _ = wait(for: hub.descriptor, Int16(POLLIN))
                }
            }
        }
        let lost = endpoint.unread()
        let kept = ShortPackets.lastPacket(of: endpoint.lastDone, packetBytes: packetBytes)
        state.withLock { state in
            state.counts.brokenOffBytes += lost
            state.counts.keptBytes = kept
        }
    }

    private func send(_ bytes: UnsafeRawBufferPointer, to endpoint: any BulkToHost) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count =
                waitToTransfer()
                ? endpoint.write(UnsafeRawBufferPointer(rebasing: rest)) : -Int(EINTR)
            if count >= 0 {
                rest = rest.dropFirst(count)
                state.withLock { $0.counts.transfers += 1 }
            } else {
                if count != -Int(EINTR) { failed(-count) }
                guard isStopped else { continue }
                let lost = rest.count
                state.withLock { $0.counts.brokenOffBytes += lost }
                return
            }
        }
    }

    /// Sends an empty packet when the head unit has read all that was written and the hub has no more; more may
    /// come meanwhile, and is then sent after what is under way.
    ///
    /// - Returns: Whether the packet was sent; if not, the hub or the endpoint has something new.
    private func endRead(at endpoint: any BulkToHost, unless hub: CInt) -> Bool {
        let underWay = endpoint.underWay()
        guard underWay <= 0 else {
            _ = wait(for: hub, Int16(POLLIN), orFor: endpoint.news)
            return false
        }
        guard underWay == 0 else {
            failed(-underWay)
            return false
        }
        return sendEmptyPacket(to: endpoint)
    }

    /// - Returns: Whether it could be sent.
    private func sendEmptyPacket(to endpoint: any BulkToHost) -> Bool {
        guard waitToTransfer() else { return false }
        let result = endpoint.write(UnsafeRawBufferPointer(start: nil, count: 0))
        guard result >= 0 else {
            failed(-result)
            return false
        }
        state.withLock { state in
            state.counts.transfers += 1
            state.counts.emptyPackets += 1
        }
        return true
    }

    /// Waits until the head unit has everything: the controller is done with an empty packet only when the packet
    /// before it has left.
    private func drain(_ endpoint: any BulkToHost) {
        flush(endpoint)
        guard endpoint.lastDone > 0, sendEmptyPacket(to: endpoint) else { return }
        flush(endpoint)
    }

    private func flush(_ endpoint: any BulkToHost) {
        while waitToTransfer() {
            let result = endpoint.flush()
            if result == 0 { return }
            failed(-result)
        }
    }

    // MARK: Both

    private func opened<Endpoint>(_ open: () throws(LinkProblem) -> Endpoint) -> Endpoint? {
        do throws(LinkProblem) {
            return try open()
        } catch {
            onNews(.refused(error))
            waitForStop()
            return nil
        }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Waits until it is known whether the next transfer belongs to this link. The host may have left and come back
    /// since the last one: then the kernel would take the transfer for the new link, and this link would lose the
    /// new one's first bytes. But by then the kernel has reported that on endpoint 0, so nothing may be waiting to
    /// be read there.
    ///
    /// - Returns: Whether it belongs to this link; false when the link is to end.
    private func waitToTransfer() -> Bool {
        while !isStopped {
            if gadget.hasNews == false { return true }
            _ = Self.polls(stopped.rawValue, Int16(POLLIN), milliseconds: 2)
        }
        return false
    }

    /// Handles an endpoint that no longer works: the reason is reported on endpoint 0, and ends this link.
    private func failed(_ error: Int) {
        let error = CInt(truncatingIfNeeded: error)
        switch error {
        case EINTR: return
        case EAGAIN:
            // The host has just gone, and the report of it is on its way.
            _ = Self.polls(stopped.rawValue, Int16(POLLIN), milliseconds: 2)
            return
        case ESHUTDOWN, ENODEV, ECONNRESET: break
        default: onNews(.failed(error))
        }
        waitForStop()
    }

    private func waitForStop() {
        while !isStopped { _ = Self.polls(stopped.rawValue, Int16(POLLIN), milliseconds: -1) }
    }

    /// - Parameter other: Another descriptor that may become readable; -1 for none.
    /// - Returns: Whether one of them is ready; false when the link is to end.
    private func wait(for descriptor: CInt, _ events: Int16, orFor other: CInt = -1) -> Bool {
        var polled = [
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: other, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stopped.rawValue, events: Int16(POLLIN), revents: 0),
        ]
        while !isStopped {
            guard poll(&polled, 3, -1) > 0 else { continue }
            if polled[0].revents != 0 || polled[1].revents != 0 { return !isStopped }
        }
        return false
    }

    private static func polls(_ descriptor: CInt, _ events: Int16, milliseconds: CInt) -> Bool {
        var polled = pollfd(fd: descriptor, events: events, revents: 0)
        return poll(&polled, 1, milliseconds) > 0
    }
}
