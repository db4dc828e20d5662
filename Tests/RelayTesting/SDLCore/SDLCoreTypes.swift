// What the stand-in for sdl_core remembers, and what it lets tests see.

package import NIOCore
package import SDLProtocol

extension SDLCoreModel {
    /// Something for the owner to carry out.
    package enum Output {
        case frame(Sent)
        case close(ConnectionID)

        package var connection: ConnectionID {
            switch self {
            case .frame(let sent): sent.connection
            case .close(let id): id
            }
        }
    }

    /// A frame on its way to the relay.
    package struct Sent {
        package var connection: ConnectionID
        package var frame: Frame
        /// The life of the session it is sent in; nil when that session does not exist (any more).
        package var life: Int?
        /// The life of the session that caused it: another one when an answer comes late.
        package var cause: Int
        /// Whether the frame answers a message that never came as a whole.
        package var isAboutHalf = false
    }

    /// A file that the head unit believes it has.
    package struct StoredFile {
        package var appID: String
        package var name: String
        package var contents: ByteBuffer
        package var correlationID: Int32
        /// Lives of sessions whose frames are in it; more than one is a mixture.
        package var lives: [Int]
        package var session: UInt8
    }

    /// The end of an app, as told to the HMI.
    package struct AppEnd: Hashable {
        package var appID: String
        package var isUnexpected: Bool
        package var life: Int
    }

    package struct Resumption: Hashable {
        package var hash: String
        package var commands: Int
    }

    package struct Counters: Hashable {
        package var framesReceived = 0
        package var framesSent = 0
        package var malformed = 0
        /// StartServices that were answered with ACK.
        package var grants = 0
        package var floods = 0
        /// Data for sessions that do not exist.
        package var strayMessages = 0
    }

    /// A session number in use.
    package struct Session {
        package let id: UInt8
        /// Counts grants; tells the users of one number apart.
        package let life: Int
        package let connection: ConnectionID
        package let hash: UInt32
        package internal(set) var version: UInt8
        package internal(set) var app: RegisteredApp?
        /// The core has sent EndService itself and keeps the session (see `refuseProtection`).
        package internal(set) var isEndedByCore = false
        package internal(set) var streams: Set<ServiceType> = []
        package internal(set) var streamBytes = 0
        var isVersionSettled: Bool
        var frameTimes = RecentTimes()
        var requestTimes = RecentTimes()
        var heartbeat: Heartbeat?
    }

    package struct RegisteredApp {
        package var appID: String
        package var name: String
        package var level: HMILevel = .none
        package var hash: String?
        package var commands = 0
    }

    struct Heartbeat {
        /// When the silence began.
        var silentSince: NIODeadline
        var isSent = false
    }

    struct Connection {
        var framing = SDLCoreFraming()
        var malformed = RecentTimes()
        var sessionZero = RecentTimes()
        /// Whether the core no longer reads the connection.
        var hasStoppedReading = false
    }

    struct QueuedFrame {
        var frame: Frame
        var connection: ConnectionID
        var life: Int
        /// Its place among all frames.
        var number: Int
        var due: NIODeadline
    }

    struct QueuedMessage {
        /// The place of its last frame among all frames.
        var number: Int
        var session: UInt8
        var version: UInt8
        var payload: ByteBuffer
        /// Announced bytes that did not come; 0 for a whole message.
        var missing = 0
        var connection: ConnectionID
        var lives: [Int]
        var due: NIODeadline
    }

    struct Timer {
        enum Action {
            case activate(session: UInt8, life: Int)
            case answer(session: UInt8, life: Int, function: UInt32, correlationID: Int32)
            case start(QueuedFrame)
            case malformed(ConnectionID)
            case stopped
        }

        var due: NIODeadline
        var action: Action
    }

    /// The service is not part of the key: message ID 11 on services 7 and 15 at once is one message.
    struct HalfKey: Hashable {
        var connection: ConnectionID
        var session: UInt8
        var messageID: UInt32
    }

    /// A message whose last frame has not come.
    struct Half {
        var version: UInt8
        var announced: Int
        var bytes = ByteBuffer()
        var info: UInt8 = 0
        var movedAt: NIODeadline
        var lives: [Int]
    }
}

/// Moments within a recent period; adding and counting are cheap.
struct RecentTimes {
    private var times: [NIODeadline] = []
    private var start = 0

    /// Adds `now` and returns how many moments there have been within `time`.
    mutating func add(_ now: NIODeadline, within time: TimeAmount) -> Int {
        while start < times.count, times[start] + time <= now { start += 1 }
        if start > 512, start * 2 > times.count {
            times.removeFirst(start)
            start = 0
        }
        times.append(now)
        return times.count - start
    }

    mutating func removeAll() {
        times.removeAll(keepingCapacity: true)
        start = 0
    }
}

/// One element for each session number.
package struct SessionTable<Element> {
    private var elements: ContiguousArray<Element>

    init(repeating element: Element) {
        elements = .init(repeating: element, count: 256)
    }

    package subscript(number: UInt8) -> Element {
        _read { yield elements[Int(number)] }
        _modify { yield &elements[Int(number)] }
    }

    package var all: ContiguousArray<Element> { elements }
}
