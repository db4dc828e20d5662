import CLibUSB

/// Asks an open OpenXC interface what it is, on the pump's thread: carries out what
/// `OpenXCInquiry` decides. Part of `USBLink`, whose bytes flow meanwhile.
final class USBInquiry {
    private var machine: OpenXCInquiry
    private var transfer: USBTransfer?
    private var isTransferring = false
    private var isOver = false
    private(set) var deadline: ContinuousClock.Instant?
    /// Submits the transfer; returns a LIBUSB_ERROR code, 0 when it is under way.
    private let submit: (USBTransfer, USBControlRequest) -> CInt
    /// Called once, with what is known by then.
    private let onEnd: (OpenXCInquiry.Identity) -> Void

    /// The largest answer, and the setup packet in front of it.
    private static let transferBytes = USBTransfer.setupBytes + 256

    init(
        endpointIn: UInt8, submit: @escaping (USBTransfer, USBControlRequest) -> CInt,
        onEnd: @escaping (OpenXCInquiry.Identity) -> Void
    ) {
        machine = OpenXCInquiry(endpointIn: endpointIn)
        self.submit = submit
        self.onEnd = onEnd
        transfer = USBTransfer(capacity: Self.transferBytes) { [unowned self] transfer in
            isTransferring = false
            follow(machine.ended(transfer.controlReply))
        }
    }

    func start() {
        follow(machine.start())
    }

    var isListening: Bool { !isOver && machine.isListening }

    /// Whether the kernel has no transfer of the inquiry.
    var isQuiet: Bool { !isTransferring }

    func received(_ bytes: UnsafeRawBufferPointer) {
        follow(machine.received(bytes))
    }

    func advance(at now: ContinuousClock.Instant) {
        guard let deadline, now >= deadline else { return }
        self.deadline = nil
        follow(machine.deadlinePassed())
    }

    /// Ends the inquiry with the link.
    func cancel() {
        isOver = true
        deadline = nil
        if isTransferring { transfer?.cancel() }
    }

    private func follow(_ step: OpenXCInquiry.Step) {
        guard !isOver else { return }
        switch step {
        case .send(let request):
            guard let transfer else { return }
            let code = submit(transfer, request)
            isTransferring = code == 0
            if code != 0 {
                follow(
                    machine.ended(
                        code == LIBUSB_ERROR_NO_DEVICE.rawValue
                            ? .gone : .failed(USBProblem.words(code))))
            }
        case .listen:
            deadline = .now + OpenXCInquiry.answerLimit
        case .stay:
            break
        case .end:
            isOver = true
            deadline = nil
            onEnd(machine.identity)
        }
    }
}
