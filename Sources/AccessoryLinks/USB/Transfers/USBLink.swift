import CLibUSB
import Glibc

/// Moves the bytes of one opened device between its bulk endpoints and the pump's end of a socket pair, whose other
/// end is the link's NIO channel. Does not interpret them.
///
/// `USBPumpThread` has at most one; all of it runs on that thread. Nothing is buffered beyond the transfers: one
/// towards the host is submitted again only when the socket has taken its bytes, one towards the device is filled
/// straight from the socket; so a slow side stops the other.
final class USBLink {
    /// Transfers under way at once towards the host. One is being written to the socket while the others keep the
    /// device sending. For their size see `USBInboundRequest`.
    static let inboundTransfers = 4

    /// Transfers under way at once towards the device, together `USBOutbound.maximumBytesUnderWay` at most.
    static let outboundTransfers = 4

    /// How long a device may take for the remaining bytes when the hub has closed the link: the sessions' goodbyes
    /// travel then.
    static let drainLimit: Duration = .seconds(1)

    /// How long cancelled transfers may take to come back, which takes the kernel microseconds.
    /// After that the device is closed, which makes it give them up.
    static let cancelLimit: Duration = .seconds(1)

    /// An unplug often shows as failed transfers first; the bus reports it within this time, and then it is named
    /// as the reason.
    static let unplugGrace: Duration = .milliseconds(300)

    private typealias Inbound = USBInbound<USBTransfer>
    private typealias Outbound = USBOutbound<USBTransfer>

    private enum Phase {
        case flowing
        /// The hub has closed; what it sent before is on its way to the device.
        case draining(until: ContinuousClock.Instant)
        /// Transfers have been cancelled and are coming back.
        case cancelling(until: ContinuousClock.Instant)
        /// All transfers are back; the device may still turn out to have been unplugged.
        case lingering(until: ContinuousClock.Instant)
        case ended
    }

    let device: USBDeviceDescription
    private var hub: HubSocket
    private var handle: USBHandle?
    private let pipes: USBPipes
    private let sendsZeroLengthPackets: Bool
    let end: USBLinkEnd
    /// Called when the device turns out to be gone, before the hub is told.
    var onVanished: () -> Void = {}
    /// Called with what the device has told about itself, which may be nothing.
    var onIdentity: (OpenXCInquiry.Identity) -> Void = { _ in }
    /// Runs beside the bytes, which it only examines; on OpenXC interfaces.
    private var inquiry: USBInquiry?
    private var inbound: Inbound
    private var outbound: Outbound
    private var transfers: [USBTransfer] = []
    private var phase = Phase.flowing
    /// Why the link ends; nil when the hub ends it.
    private var fault: USBFault?
    private var undeliveredBytes = 0

    /// Takes over an open device whose interface is claimed; bytes flow at once.
    init?(
        _ handle: consuming USBHandle, device: USBDeviceDescription, pipes: USBPipes,
        selector: USBSelector, socket: consuming OwnedDescriptor, end: USBLinkEnd
    ) {
        self.device = device
        self.pipes = pipes
        self.end = end
        sendsZeroLengthPackets = selector.sendsZeroLengthPackets
        hub = HubSocket(consume socket)
        self.handle = consume handle
        inbound = Inbound(endpoint: pipes.endpointIn, transfers: [])
        outbound = Outbound(endpoint: pipes.endpointOut, transfers: [])
        // The link owns the transfers, and is itself kept until all of them are back.
        let incoming = (0..<Self.inboundTransfers).compactMap { _ in
            USBTransfer(capacity: USBInboundRequest.ofStream.bytes) { [unowned self] in
                returnedInbound($0)
            }
        }
        let outgoing = (0..<Self.outboundTransfers).compactMap { _ in
            USBTransfer(capacity: Outbound.maximumBytes) { [unowned self] in
                returnedOutbound($0)
            }
        }
        transfers = incoming + outgoing
        guard transfers.count == Self.inboundTransfers + Self.outboundTransfers else { return nil }
        inbound = Inbound(endpoint: pipes.endpointIn, transfers: incoming)
        outbound = Outbound(endpoint: pipes.endpointOut, transfers: outgoing)
        submitInbound()
        if selector.device == .openXC {
            inquiry = USBInquiry(endpointIn: pipes.endpointIn) { [unowned self] transfer, request in
                withHandle { transfer.submitControl($0, request) }
            } onEnd: { [unowned self] identity in
                onIdentity(identity)
            }
        }
    }

    /// Asks the device what it is, if it is of a kind that can answer.
    func startInquiry() {
        inquiry?.start()
    }

    var hasEnded: Bool { if case .ended = phase { true } else { false } }

    /// The events to poll the socket for; nil when none matters.
    var interest: Int16? {
        isMoving
            ? hub.interest(hasBytes: !inbound.filled.isEmpty, hasRoom: outbound.canFill) : nil
    }

    /// -1 when there is nothing left to poll.
    var socket: CInt { hub.descriptor }

    /// When `advance` is to be called at the latest.
    var deadline: ContinuousClock.Instant? {
        switch phase {
        case .flowing: inquiry?.deadline
        case .ended: nil
        case .draining(let until), .cancelling(let until), .lingering(let until): until
        }
    }

    /// Whether the kernel has no transfer of the link.
    private var isQuiet: Bool {
        inbound.isQuiet && outbound.isQuiet && inquiry?.isQuiet != false
    }

    private var isMoving: Bool {
        switch phase {
        case .flowing, .draining: true
        case .cancelling, .lingering, .ended: false
        }
    }

    // MARK: Driven by the thread

    /// The poll has reported events on the socket.
    func polled(_ events: Int16) { hub.polled(events) }

    /// Moves what can be moved; called after every wait.
    func advance(at now: ContinuousClock.Instant) {
        if isMoving {
            deliver()
            submitInbound()
            fill()
            inquiry?.advance(at: now)
        }
        switch phase {
        case .flowing where hub.hubHasFinished:
            phase = .draining(until: now + Self.drainLimit)
            finishDraining(at: now)
        case .draining:
            finishDraining(at: now)
        case .cancelling(let until):
            guard isQuiet || now >= until else { return }
            lingerOrFinish(at: now)
        case .lingering(let until) where now >= until || fault == .vanished:
            finish()
        case .flowing, .lingering, .ended:
            break
        }
    }

    /// The bus reports that the device is gone.
    func deviceLeft() {
        fail(.vanished)
    }

    /// Ends the link, since relayd wants the device back at once.
    func stop(at now: ContinuousClock.Instant) {
        hub.finish()
        if isMoving { cancelAll(at: now) }
    }

    // MARK: Device → hub

    private func returnedInbound(_ transfer: USBTransfer) {
        if let inquiry, inquiry.isListening {
            inquiry.received(
                UnsafeRawBufferPointer(rebasing: transfer.buffer[..<transfer.actualBytes]))
        }
        follow(
            inbound.returned(transfer, transfer.outcome, bytes: transfer.actualBytes),
            endpoint: pipes.endpointIn)
    }

    /// Writes received bytes to the socket, as many as it takes.
    private func deliver() {
        while let next = inbound.filled.first {
            let count = hub.send(UnsafeRawBufferPointer(rebasing: next.transfer.buffer[next.bytes]))
            guard count > 0 else { return }
            inbound.wrote(count)
        }
    }

    private func submitInbound() {
        while isMoving, !hub.hubIsGone, let transfer = inbound.takeIdle() {
            let request = inbound.request
            let code = withHandle {
                transfer.submitBulk(
                    $0, endpoint: pipes.endpointIn, bytes: 0..<request.bytes,
                    milliseconds: request.milliseconds)
            }
            guard code != 0 else { continue }
            _ = inbound.returned(transfer, .failed, bytes: 0)
            fail(refusal(code))
        }
    }

    // MARK: Hub → device

    private func returnedOutbound(_ transfer: USBTransfer) {
        follow(
            outbound.returned(transfer, transfer.outcome, bytes: transfer.actualBytes),
            endpoint: pipes.endpointOut)
    }

    /// Fills free transfers from the socket and submits them.
    private func fill() {
        while isMoving, outbound.canFill, let transfer = outbound.free.first {
            let count = hub.receive(transfer.buffer.baseAddress, atMost: outbound.room)
            guard count > 0 else { return }
            outbound.filled(count)
            submitOutbound(transfer, 0..<count)
        }
    }

    private func submitOutbound(_ transfer: USBTransfer, _ bytes: Range<Int>) {
        let code = withHandle {
            transfer.submitBulk(
                $0, endpoint: pipes.endpointOut, bytes: bytes,
                endsWithEmptyPacket: sendsZeroLengthPackets)
        }
        guard code != 0 else { return }
        _ = outbound.returned(transfer, .failed, bytes: 0)
        fail(refusal(code))
    }

    // MARK: Recovery

    private func follow(_ step: USBStep, endpoint: UInt8) {
        guard isMoving else {
            // The transfer comes back after a cancel; an unplug is still worth knowing.
            if step == .fail(.vanished) { fail(.vanished) }
            return
        }
        switch step {
        case .go:
            break
        case .cancelRest:
            let rest = endpoint == pipes.endpointIn ? inbound.underWay : outbound.underWay
            for transfer in rest { transfer.cancel() }
        case .clearHalt:
            // The control request for this waits for its answer, which a device that has just stalled gives within
            // a millisecond.
            let code = withHandle { libusb_clear_halt($0.raw, endpoint) }
            if code == 0 { resume(endpoint) } else { fail(refusal(code)) }
        case .resume:
            resume(endpoint)
        case .fail(let fault):
            fail(fault)
        }
    }

    private func resume(_ endpoint: UInt8) {
        if endpoint == pipes.endpointIn {
            inbound.recovered()
            submitInbound()
        } else {
            for load in outbound.recovered() where isMoving {
                submitOutbound(load.transfer, load.bytes)
            }
        }
    }

    private func refusal(_ code: CInt) -> USBFault {
        code == LIBUSB_ERROR_NO_DEVICE.rawValue ? .vanished : .refused(code: code)
    }

    // MARK: End

    private func fail(_ fault: USBFault) {
        // The first reason counts, but an unplug explains every other.
        if self.fault == nil || fault == .vanished { self.fault = fault }
        if isMoving { cancelAll(at: .now) }
    }

    private func finishDraining(at now: ContinuousClock.Instant) {
        guard case .draining(let until) = phase else { return }
        if hub.isDrained && outbound.isEmpty || now >= until { cancelAll(at: now) }
    }

    private func cancelAll(at now: ContinuousClock.Instant) {
        phase = .cancelling(until: now + Self.cancelLimit)
        for transfer in inbound.underWay + outbound.underWay { transfer.cancel() }
        inquiry?.cancel()
    }

    private func lingerOrFinish(at now: ContinuousClock.Instant) {
        switch fault {
        case .failed, .interrupted, .refused:
            phase = .lingering(until: now + Self.unplugGrace)
        case nil, .vanished, .stalled, .overflow, .outOfOrder:
            finish()
        }
    }

    /// All transfers are back, or given up by the close. First the device is free again, then the reason is known,
    /// and only then the hub is told of the end.
    private func finish() {
        phase = .ended
        deliver()
        handle = nil
        if fault == .vanished { onVanished() }
        undeliveredBytes += inbound.dropFilled()
        end.set(
            USBLinkEnd.Report(
                problem: problem, takenBytes: hub.takenBytes,
                unsentBytes: outbound.unsentBytes, undeliveredBytes: undeliveredBytes))
        // From here on the hub may see the end.
        hub.close()
    }

    private var problem: (@Sendable (_ unsent: Int, _ undelivered: Int) -> LinkProblem)? {
        guard let fault else { return nil }
        let device = device
        return { USBProblem.ended(fault, device, unsent: $0, undelivered: $1) }
    }

    /// The handle is there until `finish`.
    private func withHandle(_ body: (borrowing USBHandle) -> CInt) -> CInt {
        guard handle != nil else { return LIBUSB_ERROR_NO_DEVICE.rawValue }
        return body(handle!)
    }
}
