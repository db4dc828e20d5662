package import NIOCore
package import SDLProtocol

/// An app implemented in code, for demos and as a probe of head units and of the relay: connects, registers, shows
/// text, uploads an icon, subscribes to vehicle data, leaves. Wrapped by `SampleAppHandler` for `relayctl
/// sample-app`, and called by tests.
///
/// A value without sockets or clocks: its owner tells it what happened and when, sends the frames that come out and
/// shows the lines. It works through `Step` from top to bottom and has ended when `outcome` is set.
package struct SampleApp: Sendable {
    /// How the app ended.
    package enum Outcome: Hashable, Sendable {
        case finished
        /// Why the app failed, in a sentence that names the request and the result code.
        case failed(String)
    }

    /// The result of an event.
    package struct Output: Sendable {
        /// Frames to send, in this order.
        package var frames: [Frame] = []
        /// Lines to show.
        package var lines: [String] = []
    }

    /// What the app does, in this order; each waits for the answer to the one before.
    package enum Step: Int, CaseIterable, Sendable {
        case startService
        case register
        /// Waits until a user, or the simulator, puts the app on the screen.
        case activation
        case listFiles
        case uploadIcon
        case setAppIcon
        case show
        case subscribe
        case vehicleData
        case alert
        /// Goes on receiving vehicle data until `leave`; skipped unless asked for.
        case stay
        case unsubscribe
        case unregister
        case endService
    }

    /// OnVehicleData notifications to wait for.
    package static let vehicleDataCount = 3

    package let configuration: Configuration
    package internal(set) var outcome: Outcome?
    /// The current step; nil before the connection.
    package internal(set) var step: Step?
    /// When `advance` has to be called next; nil while there is nothing to wait for.
    package internal(set) var nextDeadline: NIODeadline?

    var session: SessionGrant?
    var assembler = MessageAssembler()
    var sentMessages: UInt32 = 0
    var correlationID: Int32 = 0
    /// The request whose answer is awaited.
    var awaited: FunctionID?
    var hmiLevel: HMILevel?
    var receivedVehicleData = 0
    var uploadedBytes = 0
    var isSubscribed = false
    var isLeaving = false
    let icon: ByteBuffer
    /// Whether the head unit has taken the registration, even if the app has left since.
    var isRegistered: Bool { step.map { $0.rawValue > Step.register.rawValue } ?? false }

    var now = NIODeadline.uptimeNanoseconds(0)
    var output = Output()

    package init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        icon = AppIcon.png
    }

    // MARK: Events

    package mutating func connected(at now: NIODeadline) -> Output {
        perform(at: now) { $0.begin(.startService) }
    }

    /// Takes a frame from the head unit.
    package mutating func receive(_ frame: Frame, at now: NIODeadline) -> Output {
        perform(at: now) { $0.receive(frame) }
    }

    /// Stops waiting once the deadline has passed.
    package mutating func advance(to now: NIODeadline) -> Output {
        perform(at: now) { app in
            guard let deadline = app.nextDeadline, deadline <= now else { return }
            if app.step == .vehicleData { app.goOnWithoutData() } else { app.failLate() }
        }
    }

    /// Ends `Step.stay`, or skips it when it has not begun; called on Ctrl-C.
    package mutating func leave(at now: NIODeadline) -> Output {
        perform(at: now) { app in
            app.isLeaving = true
            if app.step == .stay { app.begin(.unsubscribe) }
        }
    }

    /// Fails, because the connection is gone.
    package mutating func disconnected() -> Output {
        perform(at: now) { app in
            app.fail("the connection was closed while the app waited for \(app.waitsFor)")
        }
    }

    private mutating func perform(
        at now: NIODeadline, _ event: (inout SampleApp) -> Void
    ) -> Output {
        guard outcome == nil else { return Output() }
        self.now = now
        event(&self)
        defer { output = Output() }
        return output
    }

    // MARK: Ends

    mutating func fail(_ reason: String) {
        guard outcome == nil else { return }
        outcome = .failed(PrintableText.string(reason, limit: Self.lineLimit))
        nextDeadline = nil
    }

    private mutating func failLate() {
        let patience =
            step == .activation ? configuration.activationPatience : configuration.patience
        let hint = step == .activation ? "; pick the app on the head unit" : ""
        fail("waited \(patience.components.seconds) s for \(waitsFor), and it did not come\(hint)")
    }

    /// What the app is waiting for, in words.
    private var waitsFor: String {
        switch step {
        case .startService, nil: "the answer to StartService"
        case .activation: "HMI level FULL"
        case .vehicleData, .stay: "vehicle data"
        case .endService: "the answer to EndService"
        default: "the response to \(awaited?.description ?? "a request")"
        }
    }
}

extension SampleApp {
    /// The app's identity and its patience.
    package struct Configuration: Hashable, Sendable {
        package var name = "relayd sample"
        package var appID = "relayd-sample"
        /// Values of AppHMIType.
        package var hmiTypes = ["DEFAULT"]
        /// Stay registered until `leave` instead of leaving at the end.
        package var stays = false
        /// Do nothing between registering and `Step.stay`.
        package var isIdle = false
        /// Patience for any answer; slow head units have taken 14 s for a StartServiceACK.
        package var patience: Duration = .seconds(20)
        /// Patience for the next vehicle data: a head unit sends only what has changed, and the car may be parked.
        package var vehicleDataPatience: Duration = .seconds(5)
        /// Patience for a user to find the app on the head unit's screen.
        package var activationPatience: Duration = .seconds(120)

        package init() {}
    }
}
