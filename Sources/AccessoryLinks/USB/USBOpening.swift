import CLibUSB
import Glibc

/// Opens one device on the pump's thread, after leading it into accessory mode if it is a phone:
/// carries out what `AccessorySwitch` decides.
final class USBOpening {
    enum Progress {
        /// The device still has to answer, or to come back on the bus.
        case waiting
        case opened(USBLink, USBOpened)
        case failed(LinkProblem, refusesPort: String?, isFinal: Bool)
    }

    let request: USBMailbox.OpenRequest
    private(set) var deadline: ContinuousClock.Instant?
    /// The port of the phone that is being switched.
    let switchingPort: String?
    /// Lets the device that comes back at that port count as the phone.
    private var claims = AccessoryClaims()
    private let context: USBContext
    private var machine: AccessorySwitch?
    private var handle: USBHandle?
    private var transfer: USBTransfer?
    private var isTransferring = false
    private var isCancelled = false
    private var step = AccessorySwitch.Step.stay

    init(
        _ request: USBMailbox.OpenRequest, _ context: USBContext, phone: USBDeviceDescription?
    ) {
        self.request = request
        self.context = context
        switchingPort = phone?.portPath
        if let phone { claims.switches(phone) }
    }

    // MARK: Opening at once

    static func open(
        _ description: USBDeviceDescription, _ pipes: USBPipes, _ request: USBMailbox.OpenRequest,
        _ context: USBContext
    ) throws(LinkProblem) -> (link: USBLink, opened: USBOpened) {
        guard let device = context.device(description) else {
            throw USBProblem.opening(description, LIBUSB_ERROR_NO_DEVICE.rawValue)
        }
        var handle = try USBHandle(device, description)
        try handle.claim(pipes, of: description, for: request.selector)
        let ends = try OwnedDescriptor.socketPair()
        let hubEnd = OwnedDescriptor(ends.0)
        let end = USBLinkEnd(request.details)
        guard
            let link = USBLink(
                handle, device: description, pipes: pipes, selector: request.selector,
                socket: OwnedDescriptor(ends.1), end: end)
        else { throw USBProblem.library(LIBUSB_ERROR_NO_MEM.rawValue) }
        return (link, USBOpened(socket: hubEnd.release(), end: end))
    }

    // MARK: Switching

    /// Sends the first request.
    func startSwitching(_ phone: USBDeviceDescription) throws(LinkProblem) {
        guard let device = context.device(phone) else {
            throw USBProblem.opening(phone, LIBUSB_ERROR_NO_DEVICE.rawValue)
        }
        handle = try USBHandle(device, phone)
        // Room for the longest string and the setup packet in front of it.
        transfer = USBTransfer(
            capacity: USBTransfer.setupBytes + AndroidAccessory.maximumStringBytes
        ) { [unowned self] transfer in
            isTransferring = false
            take { $0.ended(transfer.controlReply) }
        }
        let machine = AccessorySwitch(phone: phone, identity: request.selector.identity)
        self.machine = machine
        step = machine.start()
        send()
    }

    func saw(_ event: USBContext.Event) {
        switch event {
        case .arrived(let device): take { $0.appeared(device) }
        case .left(let device): take { $0.left(device) }
        }
    }

    func cancel() {
        isCancelled = true
        transfer?.cancel()
    }

    /// Called after every wait.
    func advance(at now: ContinuousClock.Instant) -> Progress {
        if let deadline, now >= deadline {
            self.deadline = nil
            take { $0.deadlinePassed() }
        }
        // A transfer must be back before its device is closed.
        guard !isTransferring else { return .waiting }
        guard !isCancelled else {
            return .failed(
                LinkProblem(.closedHere, "relayd stopped opening \(request.selector.address)"),
                refusesPort: nil, isFinal: false)
        }
        switch step {
        case .send, .stay:
            return .waiting
        case .awaitReturn:
            // The phone leaves the bus; the old device is not needed any more.
            handle = nil
            step = .stay
            deadline = now + AccessorySwitch.reappearLimit
            return .waiting
        case .open(let device):
            return open(device)
        case .fail(let problem, let isFinal):
            return .failed(problem, refusesPort: switchingPort, isFinal: isFinal)
        }
    }

    private func open(_ device: USBDeviceDescription) -> Progress {
        do throws(LinkProblem) {
            guard case .opens(let pipes) = request.selector.verdict(on: device, claims) else {
                // For example, the address has a serial number that the phone shows in one mode only.
                throw try notTheOne(device)
            }
            let (link, opened) = try Self.open(device, pipes, request, context)
            return .opened(link, opened)
        } catch {
            return .failed(error, refusesPort: nil, isFinal: false)
        }
    }

    private func notTheOne(_ device: USBDeviceDescription) throws(LinkProblem) -> LinkProblem {
        guard case .other(let reason) = request.selector.verdict(on: device, claims) else {
            _ = try request.selector.choose(among: [device], claims)
            return LinkProblem(.unsupported, "\(device.placeAndName) cannot be opened")
        }
        return LinkProblem(
            .unsupported, "\(device.placeAndName) is in accessory mode now, but \(reason)",
            remedy: "use bus=\(device.portPath) in the head unit's address instead of serial=")
    }

    private func take(_ change: (inout AccessorySwitch) -> AccessorySwitch.Step) {
        guard var machine else { return }
        let next = change(&machine)
        self.machine = machine
        guard next != .stay else { return }
        step = next
        send()
    }

    private func send() {
        guard case .send(let controlRequest) = step, !isCancelled else { return }
        guard handle != nil, let transfer else { return }
        let code = transfer.submitControl(handle!, controlRequest)
        isTransferring = code == 0
        if code != 0 {
            take {
                $0.ended(
                    code == LIBUSB_ERROR_NO_DEVICE.rawValue
                        ? .gone : .failed(USBProblem.words(code)))
            }
        }
    }
}
