// A stand-in for sdl_core 8.2.0 on a connection that a relay shares among apps: bytes in, bytes out,
// and a clock that moves when told. Unlike `SimulatedAccessory`, which shows apps what a head unit
// can do, it does to a relay what a head unit was seen to do, the bad habits included.
//
// In running order: `receive` cuts frames (SDLCoreFraming), counts them (+Limits) and joins messages
// (+Messages); control frames wait in one queue (+Sessions), messages in another (+Requests), and
// `advance` handles what is due. Two queues, because sdl_core has two threads: an EndService may
// overtake the requests before it.

package import NIOCore
import SDLProtocol

/// sdl_core as its connections see it. Everything random comes from the seed.
package struct SDLCoreModel {
    package typealias ConnectionID = Int

    package var habits: SDLCoreHabits
    package internal(set) var sessions = SessionTable<Session?>(repeating: nil)
    /// What apps stored, by app ID and file name.
    package internal(set) var files: [String: [String: ByteBuffer]] = [:]
    /// Every file in the order it was stored.
    package internal(set) var stored: [StoredFile] = []
    /// How apps ended, in order: what `BasicCommunication.OnAppUnregistered` tells the HMI.
    package internal(set) var ends: [AppEnd] = []
    /// Data kept for resumption, by app ID.
    package internal(set) var resumption: [String: Resumption] = [:]
    package internal(set) var counters = Counters()

    var connections: [ConnectionID: Connection] = [:]
    var connectionCount = 0
    var lives = 0
    /// The life that had a session number last.
    var lastLife = SessionTable(repeating: 0)
    /// The next message ID by session number. Reset to 0 when the session ends; frames sent to an
    /// ended session count from there.
    var messageIDs = SessionTable<UInt32>(repeating: 0)
    var halves: [HalfKey: Half] = [:]
    /// The header and size of the last message of several frames: what the heap still holds.
    var staleHeap: (header: RPCHeader, bytes: Int)?
    var controlQueue = CircularBuffer<QueuedFrame>()
    var requestQueue = CircularBuffer<QueuedMessage>()
    var timers: [Timer] = []
    var beating: Set<UInt8> = []
    var hashCount = 0
    /// Whether the core has sent IGNITION_OFF: it answers nothing any more.
    package internal(set) var isStopping = false

    var now = NIODeadline.uptimeNanoseconds(0)
    var random: SeededGenerator
    var outbox: [Output] = []
    var isHandlingHalf = false

    package init(habits: SDLCoreHabits = SDLCoreHabits(), seed: UInt64 = 1) {
        self.habits = habits
        random = SeededGenerator(seed: seed)
    }

    // MARK: - Connections

    package mutating func connect(at now: NIODeadline) -> ConnectionID {
        self.now = now
        connectionCount += 1
        connections[connectionCount] = Connection()
        return connectionCount
    }

    /// The other side has closed, or the cable is out.
    package mutating func disconnected(_ id: ConnectionID, at now: NIODeadline) {
        self.now = now
        remove(id, unexpected: true)
    }

    /// A connection, its half messages and its sessions.
    mutating func remove(_ id: ConnectionID, unexpected: Bool) {
        guard connections.removeValue(forKey: id) != nil else { return }
        halves = halves.filter { $0.key.connection != id }
        controlQueue.removeAll { $0.connection == id }
        requestQueue.removeAll { $0.connection == id }
        outbox.removeAll { $0.connection == id }
        for session in running where session.connection == id {
            free(session.id, unexpected: unexpected)
        }
    }

    mutating func close(_ id: ConnectionID, unexpected: Bool) {
        guard connections[id] != nil else { return }
        remove(id, unexpected: unexpected)
        outbox.append(.close(id))
    }

    // MARK: - Bytes in

    package mutating func receive(_ bytes: ByteBuffer, on id: ConnectionID, at now: NIODeadline) {
        advance(to: now)
        guard connections[id]?.hasStoppedReading == false else { return }
        connections[id]?.framing.append(bytes)
        while connections[id]?.hasStoppedReading == false,
            let piece = connections[id]?.framing.next()
        {
            switch piece {
            case .frame(let frame): receive(frame, on: id)
            case .malformed: countMalformed(on: id)
            }
        }
    }

    private mutating func receive(_ frame: Frame, on id: ConnectionID) {
        if frame.controlType == .endService, frame.service == .rpc, chance(habits.lostEndChance) {
            return
        }
        counters.framesReceived += 1
        guard count(frame, on: id) else { return }
        hear(frame)
        switch frame.type {
        case .control:
            controlQueue.append(
                QueuedFrame(
                    frame: frame, connection: id, life: life(of: frame.sessionID),
                    number: counters.framesReceived,
                    due: due(habits.controlLatency, after: controlQueue.last?.due)))
        case .single where frame.service.isStream: stream(frame)
        case .single: deliver(frame.payload, of: frame, on: id, life: life(of: frame.sessionID))
        case .first: begin(frame, on: id)
        case .consecutive: goOn(frame, on: id)
        }
        // Finished and expired messages are looked for now, after any frame, and at no other time.
        takeHalves()
    }

    /// The life that has the session number, or had it last.
    func life(of session: UInt8) -> Int { sessions[session]?.life ?? lastLife[session] }

    // MARK: - Time

    mutating func due(_ latency: ClosedRange<Int64>, after last: NIODeadline?) -> NIODeadline {
        let own =
            now
            + .nanoseconds(
                latency.lowerBound == latency.upperBound
                    ? latency.lowerBound : Int64.random(in: latency, using: &random))
        return max(own, last ?? own)
    }

    /// When `advance` has to be called next.
    package var nextDeadline: NIODeadline? {
        var next: NIODeadline?
        func consider(_ other: NIODeadline?) {
            if let other { next = min(next ?? other, other) }
        }
        consider(controlQueue.first?.due)
        consider(requestQueue.first?.due)
        consider(timers.first?.due)
        consider(nextHeartbeat?.due)
        return next
    }

    package mutating func advance(to now: NIODeadline) {
        while let next = nextDeadline, next <= now {
            self.now = max(self.now, next)
            if let first = controlQueue.first, first.due <= next {
                controlQueue.removeFirst()
                handle(first)
            } else if let first = requestQueue.first, first.due <= next {
                requestQueue.removeFirst()
                handle(first)
            } else if let first = timers.first, first.due <= next {
                timers.removeFirst()
                fire(first)
            } else {
                beat()
            }
        }
        self.now = max(self.now, now)
    }

    mutating func schedule(_ action: Timer.Action, in time: TimeAmount) {
        let timer = Timer(due: now + time, action: action)
        let place = timers.firstIndex { $0.due > timer.due } ?? timers.endIndex
        timers.insert(timer, at: place)
    }

    mutating func chance(_ probability: Double) -> Bool {
        probability > 0 && Double.random(in: 0..<1, using: &random) < probability
    }

    // MARK: - Bytes out

    /// Takes out what there is to send, in order.
    package mutating func takeOutput() -> [Output] {
        guard !outbox.isEmpty else { return [] }
        defer { outbox = [] }
        return outbox
    }

    /// - Parameter cause: The life of a session that this is an answer to.
    mutating func send(_ frame: Frame, on connection: ConnectionID, cause: Int) {
        guard connections[connection] != nil else { return }
        counters.framesSent += 1
        let sent = Sent(
            connection: connection, frame: frame, life: sessions[frame.sessionID]?.life,
            cause: cause, isAboutHalf: isHandlingHalf)
        outbox.append(.frame(sent))
    }

    /// Messages whose end has not come, of running sessions and of ended ones.
    package var unfinishedMessages: Int { halves.count }
    /// Whether the core no longer reads the connection.
    package func hasStoppedReading(_ id: ConnectionID) -> Bool {
        connections[id]?.hasStoppedReading ?? false
    }

    /// Running sessions, lowest number first.
    package var running: [Session] { sessions.all.compactMap(\.self) }

    mutating func takeMessageID(_ session: UInt8) -> UInt32 {
        defer { messageIDs[session] &+= 1 }
        return messageIDs[session]
    }
}
