package import NIOCore
package import SDLProtocol

/// A head unit implemented in code, as seen from one link: frames in, frames out. Wrapped by
/// `SimulatedAccessoryHandler` for the `sim:` link, and called directly by tests.
///
/// A value without sockets or clocks: its owner passes frames and the time in and sends the frames that come out.
/// It behaves like sdl_core where that is known, and needs no user: apps are activated on their own (see
/// `Configuration.activationDelay`), and whatever waits for a touch ends as if nothing was touched.
///
/// Only one app is on the screen at a time: an activated app gets FULL, and the others make room (see `HMIState`).
/// When the app on the screen leaves, none takes its place.
package struct SimulatedAccessory: Sendable {
    package let configuration: Configuration
    /// Counts of frames and messages since the link was opened.
    package internal(set) var counters = Counters()

    /// Sessions by ID; an ID is free again as soon as its session has ended, as in sdl_core.
    var sessions: [UInt8: Session] = [:]
    /// Files stored by apps, by app ID: persistent files outlive a registration.
    var files: [String: FileStore] = [:]
    /// The request that covers the screen; there is room for one.
    var overlay: Overlay?
    /// The text being spoken, and those to be spoken after it.
    var speeches: [Speech] = []
    var vehicle = Vehicle()
    /// When subscribers next get data; nil while there are none, so that nothing wakes up.
    var vehicleDataDue: NIODeadline?

    /// The time of the event being handled.
    var now = NIODeadline.uptimeNanoseconds(0)
    private var outbox: [Frame] = []
    var generator: any RandomNumberGenerator & Sendable

    /// - Parameter generator: The source of hash IDs; tests pass a seeded one.
    package init(
        configuration: Configuration = Configuration(),
        generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.configuration = configuration
        self.generator = generator
    }

    // MARK: Events

    /// Takes a frame from the link and answers it.
    package mutating func receive(_ frame: Frame, at now: NIODeadline) -> [Frame] {
        self.now = now
        counters.framesReceived += 1
        switch frame.type {
        case .control: receiveControl(frame)
        case .single, .first, .consecutive: receiveData(frame)
        }
        return takeOutbox()
    }

    /// Does what is due: activates apps, ends overlays and speech, sends vehicle data.
    package mutating func advance(to now: NIODeadline) -> [Frame] {
        self.now = now
        activateDueApps()
        advanceOverlay()
        advanceSpeeches()
        sendDueVehicleData()
        return takeOutbox()
    }

    /// When `advance` has to be called next; nil while there is nothing to wait for.
    package var nextDeadline: NIODeadline? {
        var earliest = vehicleDataDue
        for session in sessions.values {
            if let due = session.app?.activationDue { earliest = min(earliest ?? due, due) }
        }
        if let due = overlay?.due { earliest = min(earliest ?? due, due) }
        if let end = speeches.first?.end { earliest = min(earliest ?? end, end) }
        return earliest
    }

    /// Ends all sessions, because the link is gone. Persistent files stay.
    package mutating func disconnected() {
        for id in sessions.keys.sorted() { removeSession(id) }
        outbox = []
    }

    /// IDs of the running sessions, lowest first.
    package var sessionIDs: [UInt8] { sessions.keys.sorted() }

    /// The app registered in a session; nil before and after.
    package func app(inSession id: UInt8) -> RegisteredApp? { sessions[id]?.app }

    // MARK: Sending

    mutating func send(_ frame: Frame) {
        counters.framesSent += 1
        outbox.append(frame)
    }

    private mutating func takeOutbox() -> [Frame] {
        defer { outbox = [] }
        return outbox
    }
}

extension SimulatedAccessory {
    /// Plain counts for status and tests.
    package struct Counters: Hashable, Sendable {
        package var framesReceived: UInt64 = 0
        package var framesSent: UInt64 = 0
        /// Frames of sessions that are not running, or of services that were not started.
        package var unexpectedFrames: UInt64 = 0
        /// Messages whose frames or RPC header do not match.
        package var malformedMessages: UInt64 = 0
        /// Audio and video data of all sessions, discarded after counting.
        package var audio = StreamCount()
        package var video = StreamCount()
    }

    package struct StreamCount: Hashable, Sendable {
        package var frames: UInt64 = 0
        /// Payload bytes; first frames of multi-frame messages carry none.
        package var bytes: UInt64 = 0
    }
}
