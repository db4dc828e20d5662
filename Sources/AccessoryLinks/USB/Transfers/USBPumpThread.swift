import CLibUSB
import CShims
import Glibc
import HostNames
import Logging

/// The thread that speaks to libusb, and its state: polls libusb's descriptors, the socket of the open link and the
/// mailbox, all in one place, and sleeps in between.
final class USBPumpThread {
    /// Attempts to switch one phone before it is left alone until it is plugged in again: each attempt makes the
    /// phone leave the bus.
    static let maximumSwitchAttempts = 3

    private static let logger = Logger(label: "link")

    private let mailbox: USBMailbox
    private var context: USBContext?
    private var link: USBLink?
    private var opening: USBOpening?
    /// A request that came while an earlier link was still releasing its device.
    private var waiting: USBMailbox.OpenRequest?
    private var switchAttempts: [String: Int] = [:]
    private var refusals: [String: LinkProblem] = [:]
    private var claims = AccessoryClaims()
    private var mustStop = false
    /// The mailbox has requests.
    private var isCalled = true
    private var polled: [pollfd] = []

    private init(_ mailbox: USBMailbox) {
        self.mailbox = mailbox
    }

    /// - Returns: an errno value, 0 when it runs.
    static func start(_ mailbox: USBMailbox) -> CInt {
        guard mailbox.wakeUp >= 0 else { return EMFILE }
        return DetachedThread.run { USBPumpThread(mailbox).run() }
    }

    private func run() {
        _ = relay_thread_set_name("usb")
        while true {
            if isCalled {
                isCalled = false
                for request in mailbox.take() { receive(request) }
            }
            if let context, context.doubtDeadline != nil { context.settleDoubts(at: .now) }
            followBus()
            advance()
            if mustStop && link == nil && opening == nil { return }
            wait()
        }
    }

    /// Sleeps until something happens, and lets libusb handle its own events.
    private func wait() {
        polled.removeAll(keepingCapacity: true)
        polled.append(pollfd(fd: mailbox.wakeUp, events: Int16(POLLIN), revents: 0))
        // A negative descriptor is ignored.
        let interest = link?.interest
        polled.append(
            pollfd(fd: interest == nil ? -1 : link?.socket ?? -1, events: interest ?? 0, revents: 0)
        )
        let own = polled.count
        if let context { polled.append(contentsOf: context.pollDescriptors()) }
        let deadline = [link?.deadline, opening?.deadline, context?.doubtDeadline].compactMap { $0 }
            .min()
        let timeout = deadline.map { Self.milliseconds(until: $0) } ?? -1
        guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return }
        isCalled = polled[0].revents != 0
        if polled[1].revents != 0 { link?.polled(polled[1].revents) }
        if polled[own...].contains(where: { $0.revents != 0 }) { context?.handleEvents() }
    }

    /// Rounded up, so that the deadline has passed afterwards.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> CInt {
        let rest = max(.zero, deadline - .now)
        return CInt(clamping: Int64(rest / .milliseconds(1)) + 1)
    }

    // MARK: Requests

    private func receive(_ request: USBMailbox.Request) {
        switch request {
        case .open(let request):
            waiting = request
        case .cancel(let ticket):
            if opening?.request.ticket === ticket { opening?.cancel() }
            if let request = waiting, request.ticket === ticket {
                waiting = nil
                request.reply(
                    .failure(
                        LinkProblem(
                            .closedHere, "relayd stopped opening \(request.selector.address)")))
            }
        case .enumerate(let reply):
            do throws(LinkProblem) {
                _ = try ready()
                reply(nil)
            } catch {
                reply(error)
            }
        case .stop:
            mustStop = true
            link?.stop(at: .now)
            opening?.cancel()
        }
    }

    /// The context, made when it is first needed; it watches the bus from then on.
    private func ready() throws(LinkProblem) -> USBContext {
        if let context { return context }
        let context = try USBContext()
        try context.watch()
        self.context = context
        claims = AccessoryClaims(among: context.present)
        followBus()
        return context
    }

    // MARK: The bus

    private func followBus() {
        guard let context else { return }
        let events = context.takeEvents()
        guard !events.isEmpty else { return }
        for event in events {
            opening?.saw(event)
            if case .arrived(let device) = event { claims.appeared(device) }
            if case .left(let device) = event {
                if let link, link.device.bus == device.bus, link.device.number == device.number {
                    link.deviceLeft()
                }
                if opening?.switchingPort != device.portPath {
                    switchAttempts[device.portPath] = nil
                    refusals[device.portPath] = nil
                }
            }
        }
        publish()
    }

    private func publish() {
        mailbox.board.publish(context?.present ?? [], refusals: refusals, claims: claims)
    }

    // MARK: The link

    private func advance() {
        let now = ContinuousClock.now
        link?.advance(at: now)
        if let link, link.hasEnded { self.link = nil }
        if let opening { follow(opening, opening.advance(at: now)) }
        if link == nil, opening == nil, let request = waiting {
            waiting = nil
            open(request)
        }
    }

    private func open(_ request: USBMailbox.OpenRequest) {
        do throws(LinkProblem) {
            let context = try ready()
            switch try request.selector.choose(among: context.present, claims) {
            case .open(let device, let pipes):
                try open(device, pipes, request, context)
            case .switchToAccessory(let phone):
                if let refusal = refusals[phone.portPath] { throw refusal }
                let opening = USBOpening(request, context, phone: phone)
                try opening.startSwitching(phone)
                claims.switches(phone)
                switchAttempts[phone.portPath, default: 0] += 1
                self.opening = opening
            }
        } catch {
            request.reply(.failure(error))
        }
    }

    private func open(
        _ device: USBDeviceDescription, _ pipes: USBPipes, _ request: USBMailbox.OpenRequest,
        _ context: USBContext
    ) throws(LinkProblem) {
        do throws(LinkProblem) {
            let (link, opened) = try USBOpening.open(device, pipes, request, context)
            adopt(link)
            request.reply(.success(opened))
        } catch {
            guard let problem = request.selector.heldByAnother(device, error, claims) else {
                throw error
            }
            claims.heldByAnother(device)
            publish()
            throw problem
        }
    }

    private func adopt(_ link: USBLink) {
        self.link = link
        link.end.details.opened(link.device.placeAndName)
        link.onIdentity = {
            [details = link.end.details, name = link.device.placeAndName] identity in
            guard let words = identity.text else { return }
            details.learnt(words)
            Self.logger.info("\(name): \(words)")
        }
        link.startInquiry()
        // So that the device is not opened once more.
        link.onVanished = { [unowned self, unowned link] in
            context?.doubt(link.device)
            followBus()
        }
    }

    private func follow(_ opening: USBOpening, _ progress: USBOpening.Progress) {
        switch progress {
        case .waiting:
            return
        case .opened(let link, let opened):
            self.opening = nil
            adopt(link)
            if let port = opening.switchingPort { switchAttempts[port] = nil }
            opening.request.reply(.success(opened))
        case .failed(let problem, let port, let isFinal):
            self.opening = nil
            if isFinal, let port { claims.refused(port: port) }
            // If the phone was unplugged meanwhile, it deserves a fresh start.
            if let port, context?.present.contains(where: { $0.portPath == port }) == true,
                isFinal || switchAttempts[port, default: 0] >= Self.maximumSwitchAttempts
            {
                refusals[port] = problem
                publish()
            }
            opening.request.reply(.failure(problem))
        }
    }
}
