package import NIOCore
package import OpenXCProtocol
package import RelayCore

/// What is known of a vehicle from the messages of its interface: the latest of each signal, of each CAN
/// identifier and of each diagnostic answer. A value; `VehicleTraffic` keeps one.
package struct VehicleFacts: Sendable {
    /// Signals kept; each state of an event counts separately. A vehicle has some dozen.
    package static let maximumSignals = 1024
    /// Pairs of bus and identifier kept. A bus has some hundred.
    package static let maximumCAN = 4096
    /// Answers kept, by bus, identifier, mode and PID.
    package static let maximumDiagnostics = 512

    /// When such a message last came, and how often.
    package struct Arrival: Sendable {
        package var at: WallTime
        /// The vehicle interface's own clock, in the milliseconds of its messages.
        package var vehicleTime: Double?
        package var count: UInt64 = 0
        fileprivate var rate = MessageRate()

        fileprivate mutating func count(_ moment: Moment, _ message: VehicleMessage) {
            at = moment.time
            vehicleTime = message.timestamp
            count &+= 1
            rate.count(at: moment.second)
        }

        /// Messages per second.
        package func rate(at now: NIODeadline) -> Double {
            rate.perSecond(at: Moment.second(of: now))
        }
    }

    package struct Signal: Sendable {
        package var measurement: Measurement
        package var arrival: Arrival
        /// Empty for texts.
        package var history = ValueHistory()
    }

    package struct CAN: Sendable {
        package var message: CANMessage
        package var arrival: Arrival
    }

    package struct Diagnostic: Sendable {
        /// The whole answer, even when it came in pieces.
        package var response: DiagnosticResponse
        package var arrival: Arrival
    }

    /// The key of a signal: doors have one name and several states.
    private struct SignalName: Hashable {
        var name: String
        /// Nil for signals that are not events.
        var state: VehicleValue?
    }

    private struct CANName: Hashable {
        var bus: Int32
        var id: UInt32
    }

    fileprivate struct Moment {
        var time: WallTime
        var second: Int64

        init(_ item: VehicleTime) {
            time = item.time
            second = Self.second(of: item.steady)
        }

        static func second(of steady: NIODeadline) -> Int64 {
            Int64(clamping: steady.uptimeNanoseconds / 1_000_000_000)
        }
    }

    private var signals: [SignalName: Signal] = [:]
    private var can: [CANName: CAN] = [:]
    private var diagnostics: [DiagnosticName: Diagnostic] = [:]
    private var joiner = SegmentJoiner()
    /// All messages of the vehicle interface.
    package private(set) var all = Arrival(at: WallTime(nanoseconds: 0))

    /// Messages dropped because there was no room for their signal, identifier or request.
    package private(set) var signalsLeftOut: UInt64 = 0
    package private(set) var canLeftOut: UInt64 = 0
    package private(set) var diagnosticsLeftOut: UInt64 = 0
    /// Diagnostic answers whose pieces did not fit together.
    package var brokenAnswers: UInt64 { joiner.broken }

    package init() {}

    package mutating func heard(_ message: VehicleMessage, at time: VehicleTime) {
        let moment = Moment(time)
        all.count(moment, message)
        switch message.content {
        case .measurement(let measurement): note(measurement, message, moment)
        case .can(let frame): note(frame, message, moment)
        case .diagnostic(let response):
            if let whole = joiner.add(response) { note(whole, message, moment) }
        case .command, .response, .header, .unknown: break
        }
    }

    private mutating func note(
        _ measurement: Measurement, _ message: VehicleMessage, _ moment: Moment
    ) {
        let name = SignalName(
            name: measurement.name, state: measurement.event == nil ? nil : measurement.value)
        var signal: Signal
        if let known = signals[name] {
            signal = known
        } else if signals.count < Self.maximumSignals {
            signal = Signal(measurement: measurement, arrival: Arrival(at: moment.time))
        } else {
            signalsLeftOut &+= 1
            return
        }
        signal.measurement = measurement
        signal.arrival.count(moment, message)
        switch measurement.event ?? measurement.value {
        case .number(let number): signal.history.add(number, at: moment.second)
        case .flag(let flag): signal.history.add(flag ? 1 : 0, at: moment.second)
        case .text: break
        }
        signals[name] = signal
    }

    private mutating func note(
        _ frame: CANMessage, _ message: VehicleMessage, _ moment: Moment
    ) {
        let name = CANName(bus: frame.bus, id: frame.id)
        guard can[name] != nil || can.count < Self.maximumCAN else {
            canLeftOut &+= 1
            return
        }
        var known = can[name] ?? CAN(message: frame, arrival: Arrival(at: moment.time))
        known.message = frame
        known.arrival.count(moment, message)
        can[name] = known
    }

    private mutating func note(
        _ response: DiagnosticResponse, _ message: VehicleMessage, _ moment: Moment
    ) {
        let name = DiagnosticName(response)
        guard diagnostics[name] != nil || diagnostics.count < Self.maximumDiagnostics else {
            diagnosticsLeftOut &+= 1
            return
        }
        var known =
            diagnostics[name] ?? Diagnostic(response: response, arrival: Arrival(at: moment.time))
        known.response = response
        known.arrival.count(moment, message)
        diagnostics[name] = known
    }

    // MARK: - Reading

    /// By name, then by state.
    package var allSignals: [Signal] {
        signals.values.sorted { left, right in
            let (one, other) = (left.measurement, right.measurement)
            guard one.name == other.name else { return one.name < other.name }
            return "\(one.value)" < "\(other.value)"
        }
    }

    /// By bus, then by identifier.
    package var allCAN: [CAN] {
        can.values.sorted {
            ($0.message.bus, $0.message.id) < ($1.message.bus, $1.message.id)
        }
    }

    /// By bus, identifier, mode and PID.
    package var allDiagnostics: [Diagnostic] {
        diagnostics.values.sorted { left, right in
            let (one, other) = (left.response, right.response)
            return (one.bus, one.id, one.mode, one.pid) < (
                other.bus, other.id, other.mode, other.pid
            )
        }
    }
}

/// The time at which a message passed.
package struct VehicleTime: Sendable {
    package var time: WallTime
    /// By the monotonic clock.
    package var steady: NIODeadline

    package init(_ time: WallTime, steady: NIODeadline) {
        self.time = time
        self.steady = steady
    }
}
