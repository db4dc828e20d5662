/// The phone's part of Android Open Accessory: what it answers on endpoint 0, when it leaves the bus and as what it
/// comes back, and when there is a link. (`AccessorySwitch` is the head unit's part.)
///
/// Decisions only: `GadgetThread` reads events, carries the actions out in order and keeps the time. The dialogue
/// with a well-behaved head unit: 51 get protocol; 52 six strings; 53 start; the phone leaves, comes back as an
/// accessory, is configured, and the link is open until it is no longer configured. A head unit can break the
/// dialogue off anywhere and begin anew; 51 is answered in every state.
package struct AccessoryOnEndpointZero: Sendable {
    /// What the machine is on the bus.
    package enum Face: Hashable, Sendable {
        case phone
        case accessory
    }

    package enum Action: Hashable, Sendable {
        /// Data for the host, which ends the request.
        case answer([UInt8])
        /// Take this many bytes from the host, then call `took`; 0 acknowledges a request without data.
        case take(Int)
        /// Refuse the request: the endpoint halts until the next one.
        case halt(SetupRequest)
        /// Leave the bus and come back; events from before no longer mean anything.
        case comeBack(as: Face)
        /// The bulk endpoints work.
        case openLink
        /// The bulk endpoints no longer work, or the host has begun anew with them.
        case closeLink(LinkEnd)
        /// The gadget has lost its controller.
        case lostController
        case tell(GadgetRemark)
    }

    /// Why the bulk endpoints stopped.
    package enum LinkEnd: Hashable, Sendable {
        /// The host has left, or reset the device.
        case left
        /// The host has left and configured the device again before relayd learned that it had left.
        case reset
        /// The host asked the accessory to start once more.
        case startsAnew
        case lostController
    }

    package enum State: Hashable, Sendable {
        /// A phone that no host has configured.
        case phone
        /// A phone that a host has configured but has not asked anything yet.
        case seen
        /// A phone that has been asked for its protocol version.
        case asked
        /// An accessory that waits to be configured.
        case awaited
        /// An accessory in use.
        case open
        /// An accessory that was in use. The next host may expect a phone.
        case left
    }

    /// A host that has configured the phone asks within milliseconds; for a person this is soon enough to learn
    /// that nothing happens.
    package static let askLimit: Duration = .seconds(10)
    /// The same from the first question to the start. Android gives its user as long.
    package static let startLimit: Duration = .seconds(10)
    /// As long as Android waits for the host that has told it to start (`ACCESSORY_REQUEST_TIMEOUT`).
    package static let returnLimit: Duration = .seconds(10)
    /// A host that only resets the device has configured it again by then; after a pulled cable, none does.
    package static let leaveLimit: Duration = .seconds(2)

    private let startsAsAccessory: Bool
    private let protocolVersion: UInt16
    package private(set) var state: State
    package private(set) var headUnit = HeadUnitIntroduction()
    package private(set) var isSuspended = false
    /// The index of the string whose bytes are being taken.
    private var stringUnderWay: UInt16?
    /// Request 53 is being acknowledged.
    private var isStarting = false
    /// Reported once per dialogue.
    private var hasToldOfUnknown = false

    package init(startsAsAccessory: Bool = false, protocolVersion: UInt16 = 2) {
        self.startsAsAccessory = startsAsAccessory
        self.protocolVersion = protocolVersion
        state = startsAsAccessory ? .awaited : .phone
    }

    package var face: Face {
        switch state {
        case .phone, .seen, .asked: .phone
        case .awaited, .open, .left: .accessory
        }
    }

    /// How long the state may last before `waitedLongEnough` is called; nil for any time.
    package var patience: Duration? {
        switch state {
        case .phone, .open: nil
        case .seen: Self.askLimit
        case .asked: Self.startLimit
        case .awaited: startsAsAccessory ? nil : Self.returnLimit
        case .left: startsAsAccessory ? nil : Self.leaveLimit
        }
    }

    // MARK: What happens

    package mutating func received(_ event: FunctionEvent) -> [Action] {
        // The kernel has given up the request that was under way.
        stringUnderWay = nil
        isStarting = false
        switch event {
        case .bind, .unknown: return []
        case .unbind: return leave(because: .lostController) + [.lostController]
        case .enable: return enabled()
        case .disable: return leave(because: .left)
        case .setup(let request): return asked(request)
        case .suspend:
            isSuspended = true
            return state == .open ? [.tell(.suspended)] : []
        case .resume:
            let told = isSuspended && state == .open
            isSuspended = false
            return told ? [.tell(.resumed)] : []
        }
    }

    /// The bytes that `take` asked for have come; an acknowledgement has none.
    package mutating func took(_ bytes: [UInt8]) -> [Action] {
        if let index = stringUnderWay {
            stringUnderWay = nil
            return headUnit.set(index, bytes) ? [] : [.tell(.unknownString(index))]
        }
        guard isStarting else { return [] }
        isStarting = false
        return start()
    }

    /// The host went away in the middle of a request, or began another one.
    package mutating func requestFailed() {
        stringUnderWay = nil
        // The host need not wait for the acknowledgement of a start, but then it asks again.
        isStarting = false
    }

    /// `patience` has passed.
    package mutating func waitedLongEnough() -> [Action] {
        switch state {
        case .phone, .open: return []
        case .seen:
            state = .phone
            return [.tell(.neverAsked)]
        case .asked:
            state = .phone
            return [.tell(.neverStarted(headUnit))]
        case .awaited, .left:
            let hasReturned = state == .left
            state = .phone
            return (hasReturned ? [] : [.tell(.neverReturned)]) + [.comeBack(as: .phone)]
        }
    }

    /// Starts over, for the next time that the gadget goes on the bus.
    package mutating func restarted() {
        self = AccessoryOnEndpointZero(
            startsAsAccessory: startsAsAccessory, protocolVersion: protocolVersion)
    }

    // MARK: The bus

    private mutating func enabled() -> [Action] {
        isSuspended = false
        switch state {
        case .phone: state = .seen
        case .seen, .asked: break
        case .awaited, .left:
            state = .open
            return [.tell(.configured(headUnit)), .openLink]
        case .open: return [.closeLink(.reset), .openLink]
        }
        return []
    }

    private mutating func leave(because end: LinkEnd) -> [Action] {
        isSuspended = false
        switch state {
        case .phone, .awaited, .left: return []
        case .seen, .asked:
            let wasAsked = state == .asked
            state = .phone
            return wasAsked ? [.tell(.leftBeforeStart)] : []
        case .open:
            state = .left
            return [.closeLink(end)]
        }
    }

    // MARK: The requests

    private mutating func asked(_ request: SetupRequest) -> [Action] {
        switch (request.type, request.request) {
        case (0xC0, AndroidAccessory.Request.getProtocol):
            return tellProtocol(request)
        case (0x40, AndroidAccessory.Request.sendString):
            // No AOA string is longer, and a host may announce 64 KB.
            guard request.length <= AndroidAccessory.maximumStringBytes else {
                return [.tell(.longString(request.length)), .halt(request)]
            }
            stringUnderWay = request.index
            return [.take(Int(request.length))]
        case (0x40, AndroidAccessory.Request.start) where request.length == 0:
            isStarting = true
            return [.take(0)]
        default:
            guard !hasToldOfUnknown else { return [.halt(request)] }
            hasToldOfUnknown = true
            return [.tell(.unknownRequest(request)), .halt(request)]
        }
    }

    /// Begins a new dialogue, whatever was before: the head unit's introduction is forgotten, as in Android. An
    /// open link stays: some head units ask every device that they meet, even an accessory.
    private mutating func tellProtocol(_ request: SetupRequest) -> [Action] {
        let isAgain = state == .asked
        if face == .phone {
            state = .asked
            headUnit = HeadUnitIntroduction()
        }
        let answer = [UInt8(protocolVersion & 0xFF), UInt8(protocolVersion >> 8)]
        let told = Array(answer.prefix(Int(request.length)))
        return [.answer(told)] + (isAgain ? [.tell(.askedAgain)] : [])
    }

    private mutating func start() -> [Action] {
        let wasOpen = state == .open
        state = .awaited
        hasToldOfUnknown = false
        isSuspended = false
        return (wasOpen ? [.closeLink(.startsAnew)] : [])
            + [.tell(.starts(headUnit)), .comeBack(as: .accessory)]
    }
}
