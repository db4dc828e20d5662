import CSystemd
import Glibc

/// A connection to the system's message bus (D-Bus), through libsystemd. It belongs to one thread.
///
/// Arrivals are kept until `next` takes them: none of our code runs inside libsystemd.
final class MessageBus {
    enum Arrival {
        /// A method call to an object registered with `serve`. Wants an answer.
        case call(BusMessage)
        /// The outcome of the call with this number.
        case answer(to: UInt64, Result<BusMessage, BusFailure>)
        case signal(BusMessage)
    }

    private let bus: OpaquePointer
    private var arrivals: [Arrival] = []

    /// Begins to connect; `process` throws what fails later.
    ///
    /// - Throws: `BusFailure` when there is no bus.
    init() throws(BusFailure) {
        var opened: OpaquePointer?
        let status = sd_bus_open_system(&opened)
        guard status >= 0, let opened else {
            throw .system("the system's message bus cannot be reached", errno: -status)
        }
        bus = opened
    }

    deinit {
        sd_bus_flush(bus)
        sd_bus_close(bus)
        sd_bus_unref(bus)
    }

    // MARK: Waiting

    /// What to poll, and for how many milliseconds at most (-1: as long as it takes).
    var interest: (descriptor: CInt, events: Int16, milliseconds: CInt) {
        var due: UInt64 = .max
        _ = sd_bus_get_timeout(bus, &due)
        guard due != .max else { return (sd_bus_get_fd(bus), events, -1) }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let passed = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
        let left = due > passed ? (due - passed) / 1000 + 1 : 0
        return (sd_bus_get_fd(bus), events, CInt(min(left, 60_000)))
    }

    private var events: Int16 { Int16(truncatingIfNeeded: max(0, sd_bus_get_events(bus))) }

    /// Sends what is waiting to be sent, and takes what has arrived.
    ///
    /// - Throws: `BusFailure` when the connection has ended.
    func process() throws(BusFailure) {
        while true {
            let status = sd_bus_process(bus, nil)
            if status == 0 { return }
            guard status > 0 else {
                throw .system("the connection to the system's message bus ended", errno: -status)
            }
        }
    }

    /// Removes and returns the first arrival.
    func next() -> Arrival? { arrivals.isEmpty ? nil : arrivals.removeFirst() }

    // MARK: Calls and answers

    /// Calls a method.
    ///
    /// - Parameters:
    ///   - starts: Whether the bus may start the service that is called.
    ///   - write: Appends the arguments.
    /// - Returns: The number that the answer will have.
    func call(
        _ method: BusMethod, on path: String, of destination: String, within seconds: UInt64,
        starts: Bool = true, write: (BusMessage) throws(BusFailure) -> Void = { _ in }
    ) throws(BusFailure) -> UInt64 {
        var made: OpaquePointer?
        let status = sd_bus_message_new_method_call(
            bus, &made, destination, path, method.interface, method.name)
        guard status >= 0, let made else {
            throw .system("\(method.name) could not be put into a message", errno: -status)
        }
        let message = BusMessage(taking: made)
        if !starts { message.lend { _ = sd_bus_message_set_auto_start($0, 0) } }
        try write(message)
        let user = Unmanaged.passUnretained(self).toOpaque()
        var number: UInt64 = 0
        let sent = message.lend { message in
            let sent = sd_bus_call_async(
                bus, nil, message, Self.answered, user, seconds * 1_000_000)
            if sent >= 0 { _ = sd_bus_message_get_cookie(message, &number) }
            return sent
        }
        guard sent >= 0 else { throw .system("\(method.name) was not sent", errno: -sent) }
        return number
    }

    /// Calls a method and waits for the answer, for at most the given time.
    func ask(
        _ method: BusMethod, on path: String, of destination: String, within seconds: UInt64,
        starts: Bool = true
    ) throws(BusFailure) -> BusMessage {
        let number = try call(method, on: path, of: destination, within: seconds, starts: starts)
        while true {
            try process()
            while let arrival = next() {
                if case .answer(number, let answer) = arrival { return try answer.get() }
            }
            let (descriptor, events, milliseconds) = interest
            var polled = pollfd(fd: descriptor, events: events, revents: 0)
            poll(&polled, 1, milliseconds)
        }
    }

    /// Lets others call methods of the object at this path.
    func serve(_ path: String) throws(BusFailure) {
        let status = sd_bus_add_object(
            bus, nil, path, Self.called, Unmanaged.passUnretained(self).toOpaque())
        guard status >= 0 else { throw .system("\(path) cannot be offered", errno: -status) }
    }

    /// Subscribes to the signals that match a rule, in the syntax of the D-Bus specification (Match Rules).
    func hear(_ rule: String) throws(BusFailure) {
        let status = sd_bus_add_match_async(
            bus, nil, rule, Self.signalled, nil, Unmanaged.passUnretained(self).toOpaque())
        guard status >= 0 else { throw .system("signals cannot be heard", errno: -status) }
    }

    /// Answers a call, with success or a refusal. A caller that asked for no answer gets none.
    func answer(_ call: BusMessage, _ refusal: BusFailure? = nil) {
        let answer: BusMessage? = call.lend { call in
            var made: OpaquePointer?
            if case .refused(let name, let words)? = refusal {
                var error = sd_bus_error()
                sd_bus_error_set(&error, name, words)
                sd_bus_message_new_method_error(call, &made, &error)
                sd_bus_error_free(&error)
            } else {
                sd_bus_message_new_method_return(call, &made)
            }
            return made.map { BusMessage(taking: $0) }
        }
        _ = answer?.lend { sd_bus_send(bus, $0, nil) }
    }

    // MARK: libsystemd calls

    private static func arrived(
        _ message: OpaquePointer?, _ user: UnsafeMutableRawPointer?,
        _ arrival: (BusMessage) -> Arrival
    ) -> CInt {
        guard let message, let user else { return 0 }
        let bus = Unmanaged<MessageBus>.fromOpaque(user).takeUnretainedValue()
        bus.arrivals.append(arrival(BusMessage(sharing: message)))
        return 1
    }

    private static let called: sd_bus_message_handler_t = { message, user, _ in
        arrived(message, user) { .call($0) }
    }

    private static let signalled: sd_bus_message_handler_t = { message, user, _ in
        // Other handlers may want the same signal.
        min(0, arrived(message, user) { .signal($0) })
    }

    private static let answered: sd_bus_message_handler_t = { message, user, _ in
        arrived(message, user) { message in
            var number: UInt64 = 0
            _ = message.lend { sd_bus_message_get_reply_cookie($0, &number) }
            if let failure = message.failure { return .answer(to: number, .failure(failure)) }
            return .answer(to: number, .success(message))
        }
    }
}

/// A method of an interface on the bus.
struct BusMethod: Hashable, Sendable {
    let interface: String
    let name: String

    init(_ interface: String, _ name: String) { (self.interface, self.name) = (interface, name) }
}

/// Why an operation on the bus failed.
enum BusFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The other side answered with an error, such as `org.bluez.Error.NotReady`.
    case refused(name: String, words: String)
    /// There was no answer, or nobody to ask.
    case system(String, errno: CInt)

    var description: String {
        switch self {
        case .refused(let name, ""): name
        case .refused(let name, let words): "\(words) (\(name))"
        case .system(let what, let error): "\(what): \(systemMessage(error))"
        }
    }
}
