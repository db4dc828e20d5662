import CShims
import Glibc
import HostNames
import Logging

/// The thread that has endpoint 0: puts the gadget on the bus, reads the kernel's events there, asks
/// `AccessoryOnEndpointZero` what follows, and carries it out. It lasts from the first request to the stop, over
/// many links, so that the head unit finds a phone whenever it looks.
///
/// It waits in `poll` for endpoint 0, its mailbox and the hub's end of a link. A call that takes the bytes of a
/// request waits for the host; that takes microseconds, and ends when the cable is pulled.
final class GadgetThread {
    typealias OpenGadget = @Sendable () throws(LinkProblem) -> any Gadget

    private let mailbox: GadgetMailbox
    private let options: GadgetOptions
    private let controllers: DeviceControllers
    private let openGadget: OpenGadget
    private let absence: Duration
    private let logger = Logger(label: "link")

    private var gadget: (any Gadget)?
    private var dialogue: AccessoryOnEndpointZero
    /// The gadget's controller, while it is on the bus or about to come back to it.
    private var controller: String?
    /// Set while the gadget is off the bus to come back: when, and as what.
    private var comingBack: (at: ContinuousClock.Instant, as: AccessoryOnEndpointZero.Face)?
    /// When the current state of the dialogue has lasted long enough, if it has a time limit.
    private var patienceEnds: ContinuousClock.Instant?
    private var patientWith: AccessoryOnEndpointZero.State?
    /// The request that waits for the head unit.
    private var request: GadgetMailbox.OpenRequest?
    /// The problem to answer it with if the controller is still there at that time.
    private var refusal: (problem: LinkProblem, controller: String, at: ContinuousClock.Instant)?
    private var link: GadgetLink?
    private var linkTicket: USBMailbox.Ticket?
    private var drainEnds: ContinuousClock.Instant?
    /// What last went wrong with the head unit, for the status.
    private var trouble: GadgetRemark?
    private var toldPlace: String?

    /// How long the gadget is off the bus before it comes back as something else. Android phones, with which head
    /// units are tested, are off for 100 ms. A hub may be asked for its changes only every 256 ms, but keeps them
    /// until then.
    static let usualAbsence: Duration = .milliseconds(100)
    /// Longer than a controller that is being removed can still be seen.
    private static let departure: Duration = .milliseconds(100)

    init(
        _ mailbox: GadgetMailbox, _ options: GadgetOptions, _ controllers: DeviceControllers,
        absence: Duration = GadgetThread.usualAbsence, openGadget: @escaping OpenGadget
    ) {
        self.mailbox = mailbox
        self.options = options
        self.controllers = controllers
        self.absence = absence
        self.openGadget = openGadget
        dialogue = AccessoryOnEndpointZero(
            startsAsAccessory: options.startsAsAccessory, protocolVersion: options.protocolVersion)
    }

    func run() {
        _ = relay_thread_set_name("gadget")
        _ = relay_thread_allow_interrupt()
        while !mailbox.mustStop {
            wait()
            for message in mailbox.take() { follow(message) }
            readEvents()
            keepTime(at: .now)
            watchPatience()
            tellPlace()
        }
        leaveBus(endingLink: nil)
        answer(.failure(LinkProblem(.closedHere, "relayd stopped waiting for the head unit")))
        gadget = nil
    }

    // MARK: Waiting

    private var deadline: ContinuousClock.Instant? {
        [comingBack?.at, patienceEnds, drainEnds, refusal?.at].compactMap { $0 }.min()
    }

    private func wait() {
        var polled = [
            pollfd(fd: mailbox.wakeUp, events: Int16(POLLIN), revents: 0),
            pollfd(
                fd: controller == nil ? -1 : gadget?.zero ?? -1, events: Int16(POLLIN), revents: 0),
            // POLLRDHUP: the hub has closed. Its bytes are left to the link.
            pollfd(fd: drainEnds == nil ? link?.hubSocket ?? -1 : -1, events: 0x2000, revents: 0),
        ]
        var timeout: CInt = -1
        if let deadline {
            let left = (deadline - .now) / .milliseconds(1)
            timeout = CInt(max(0, min(left.rounded(.up), 60_000)))
        }
        guard poll(&polled, 3, timeout) > 0 else { return }
        if polled[2].revents != 0, link != nil { drainEnds = .now + GadgetLink.drainLimit }
    }

    private func keepTime(at now: ContinuousClock.Instant) {
        if let comingBack, now >= comingBack.at {
            self.comingBack = nil
            appear(as: comingBack.as)
        }
        if let drainEnds, now >= drainEnds { hubHasClosed() }
        if let refusal, now >= refusal.at {
            answer(
                .failure(
                    controllers.names.contains(refusal.controller)
                        ? refusal.problem : GadgetProblem.absent(refusal.controller)))
        }
        if let patienceEnds, now >= patienceEnds {
            self.patienceEnds = nil
            carryOut(dialogue.waitedLongEnough())
        }
    }

    // MARK: Requests of the transport

    private func follow(_ message: GadgetMailbox.Message) {
        switch message {
        case .open(let request): open(request)
        case .cancel(let ticket):
            guard request?.ticket === ticket else { return }
            // The next request, if any, must find a phone that no host has spoken to.
            leaveBus(endingLink: nil)
            answer(.failure(LinkProblem(.closedHere, "relayd stopped waiting for the head unit")))
        case .link(let ticket, let news):
            guard ticket === linkTicket else { return }
            switch news {
            case .drained: hubHasClosed()
            case .failed(let error):
                leaveBus { GadgetProblem.failed(error, unsent: $0, undelivered: $1) }
            case .refused(let problem):
                leaveBus { GadgetProblem.refused(problem, unsent: $0, undelivered: $1) }
            }
        }
    }

    private func open(_ request: GadgetMailbox.OpenRequest) {
        answer(.failure(LinkProblem(.closedHere, "somebody else waits for the head unit")))
        self.request = request
        toldPlace = nil
        do throws(LinkProblem) {
            if gadget == nil { gadget = try openGadget() }
            if controller == nil {
                controller = try controllers.choose(options.controller)
                appear(as: dialogue.face)
            }
        } catch {
            answer(.failure(error))
            return
        }
        // The head unit may have come while there was no request.
        if dialogue.state == .open, link == nil { openLink() }
    }

    private func answer(_ result: Result<USBOpened, LinkProblem>) {
        request?.reply(result)
        request = nil
        refusal = nil
    }

    /// Reports that another program has the controller, unless it is about to be removed. When a controller is
    /// removed, the kernel first takes the gadget from it, then removes its entry in sysfs, and meanwhile refuses
    /// gadgets as if it were busy (`usb_del_gadget`, `usb_gadget_register_driver_owner`).
    private func refuse(_ controller: String, because problem: LinkProblem) {
        guard controllers.names.contains(controller) else {
            answer(.failure(GadgetProblem.absent(controller)))
            return
        }
        refusal = (problem, controller, .now + Self.departure)
    }

    /// Reports where the head unit can connect, and how far it has come.
    private func tellPlace() {
        guard let request, let controller else { return }
        let place = "the USB device controller \(controller), \(progress)"
        guard place != toldPlace else { return }
        toldPlace = place
        request.listening(place)
    }

    private var progress: String {
        let headUnit = dialogue.headUnit.name ?? "the head unit"
        switch dialogue.state {
        case .phone:
            return "as a phone" + (trouble.map { ": \($0.words)" } ?? "")
        case .seen: return "as a phone that the head unit sees, but has not asked anything"
        case .asked: return "as a phone that the head unit has asked for accessory mode"
        case .awaited: return "as an accessory that \(headUnit) has not taken yet"
        case .left: return "as an accessory that \(headUnit) has left"
        case .open: return "as an accessory in use"
        }
    }

    // MARK: On the bus

    private func appear(as face: AccessoryOnEndpointZero.Face) {
        guard let gadget, let controller else { return }
        do throws(LinkProblem) {
            try gadget.appear(as: face, on: controller)
        } catch {
            self.controller = nil
            dialogue.restarted()
            // If it was set up anew meanwhile, it is another gadget.
            if error.code == .absent { self.gadget = nil }
            guard error.code == .busy else {
                answer(.failure(error))
                return
            }
            refuse(controller, because: error)
        }
    }

    /// Takes the gadget off the bus; everything is as at the beginning.
    private func leaveBus(
        endingLink problem: (@Sendable (_ unsent: Int, _ undelivered: Int) -> LinkProblem)?
    ) {
        if controller != nil { gadget?.disappear() }
        controller = nil
        comingBack = nil
        endLink(problem)
        _ = gadget?.events()
        dialogue.restarted()
    }

    // MARK: Endpoint 0

    private func readEvents() {
        guard controller != nil, comingBack == nil, let gadget else { return }
        for event in gadget.events() {
            logger.debug("gadget: \(event)")
            carryOut(dialogue.received(event))
            // Events from before it left the bus no longer mean anything.
            if comingBack != nil || controller == nil { return }
        }
    }

    private func carryOut(_ actions: [AccessoryOnEndpointZero.Action]) {
        for action in actions { carryOut(action) }
    }

    /// Restarts the timer with each new state, and when the gadget is back on the bus.
    private func watchPatience() {
        let state = controller == nil || comingBack != nil ? nil : dialogue.state
        guard state != patientWith else { return }
        patientWith = state
        patienceEnds = state == nil ? nil : dialogue.patience.map { .now + $0 }
    }

    private func carryOut(_ action: AccessoryOnEndpointZero.Action) {
        guard let gadget else { return }
        switch action {
        case .answer(let bytes):
            if gadget.answer(bytes) < 0 { dialogue.requestFailed() }
        case .take(let count):
            let (taken, bytes) = gadget.take(count)
            if taken == count { carryOut(dialogue.took(bytes)) } else { dialogue.requestFailed() }
        case .halt(let request): gadget.halt(request)
        case .comeBack(let face):
            gadget.disappear()
            // The events of having left.
            _ = gadget.events()
            comingBack = (.now + absence, face)
        case .openLink: openLink()
        case .closeLink(let end):
            // Once the endpoints have stopped, it is known what has come and what has not left.
            if end == .startsAnew { gadget.disappear() }
            endLink { GadgetProblem.ended(end, unsent: $0, undelivered: $1) }
        case .lostController: lostController()
        case .tell(let remark): tell(remark)
        }
    }

    private func lostController() {
        guard let lost = controller else { return }
        leaveBus(endingLink: nil)
        refuse(
            lost,
            because: LinkProblem(
                .busy, "somebody has taken the USB device controller \(lost) away from relayd",
                remedy: "see which program sets up gadgets on this machine besides relayd"))
    }

    private func tell(_ remark: GadgetRemark) {
        logger.log(level: remark.isWarning ? .warning : .info, "gadget: \(remark.words)")
        if remark.isWarning { trouble = remark }
        switch remark {
        case .configured: trouble = nil
        case .suspended: mailbox.details.opened("\(deviceWords), suspended by the head unit")
        case .resumed: mailbox.details.opened(deviceWords)
        default: break
        }
    }

    // MARK: The link

    private var deviceWords: String {
        let name = dialogue.headUnit.words ?? "a head unit that has not said its name"
        return controller.map { "\(name), at \($0)" } ?? name
    }

    private func openLink() {
        guard let gadget, request != nil, link == nil else { return }
        do throws(LinkProblem) {
            let ends = try OwnedDescriptor.socketPair()
            let hubEnd = OwnedDescriptor(ends.0)
            let own = OwnedDescriptor(ends.1)
            let end = USBLinkEnd(mailbox.details)
            let ticket = USBMailbox.Ticket()
            let link = try GadgetLink(gadget, socket: own, end: end) { [mailbox] news in
                mailbox.post(.link(ticket, news))
            }
            self.link = link
            linkTicket = ticket
            do throws(LinkProblem) {
                try link.start()
            } catch {
                endLink(nil)
                throw error
            }
            mailbox.details.opened(deviceWords)
            answer(.success(USBOpened(socket: hubEnd.release(), end: end)))
        } catch {
            answer(.failure(error))
        }
    }

    private func endLink(
        _ problem: (@Sendable (_ unsent: Int, _ undelivered: Int) -> LinkProblem)?
    ) {
        drainEnds = nil
        if let counts = link?.stop(because: problem) {
            logger.info("gadget: counted in this link: \(counts.words)")
        }
        link = nil
        linkTicket = nil
    }

    /// The hub no longer wants the link. To the head unit it looks like a pulled cable.
    private func hubHasClosed() {
        leaveBus(endingLink: nil)
    }
}
