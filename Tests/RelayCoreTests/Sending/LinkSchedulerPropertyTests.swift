// Properties of the scheduler that must hold whatever apps send, with random work and a manual clock.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("LinkScheduler keeps its promises over random work")
struct LinkSchedulerPropertyTests {
    /// Each makes a different run; a failure names the seed that repeats it.
    static let seeds = Array(UInt64(1)...8)

    @Test(
        "everything comes out once, in the order of its service, messages unmixed", arguments: seeds
    )
    func order(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var link = ModelLink(bytesPerSecond: 100_000)
        var apps = (0..<6).map { RandomApp(number: $0, sessions: $0 == 0 ? 2 : 1) }
        var sent: [Lane: [Frame]] = [:]
        var sentOfSession: [UInt8: Int] = [:]
        var receiver = Receiver()
        for _ in 0..<800 {
            // In bursts, so that the queue grows and empties.
            if Int.random(in: 0..<10, using: &random) < 6 {
                let app = Int.random(in: apps.indices, using: &random)
                let frame = apps[app].next(using: &random)
                sent[Lane(frame), default: []].append(frame)
                sentOfSession[frame.sessionID, default: 0] += 1
                receiver.willCome(frame, after: sentOfSession[frame.sessionID, default: 0] - 1)
                link.scheduler.enqueue(frame, from: app, at: link.now)
            } else if let entry = link.next() {
                receiver.receive(entry.frame)
            }
        }
        while let entry = link.next() { receiver.receive(entry.frame) }
        #expect(receiver.problems == [], "seed \(seed)")
        #expect(receiver.received == sent, "seed \(seed)")
        #expect(link.scheduler.waitingBytes == 0)
    }

    @Test(
        "of a session that is held nothing that counts comes out, and all of it afterwards",
        arguments: seeds)
    func held(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var link = ModelLink(bytesPerSecond: 100_000)
        var apps = (0..<6).map { RandomApp(number: $0, sessions: $0 == 0 ? 2 : 1) }
        var sent: [Lane: [Frame]] = [:]
        var received: [Lane: [Frame]] = [:]
        var held: Set<UInt8> = []
        func receive(_ frame: Frame) {
            let mayGo = frame.service.isStream || !held.contains(frame.sessionID)
            #expect(mayGo, "seed \(seed): \(frame)")
            received[Lane(frame), default: []].append(frame)
        }
        for _ in 0..<800 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<6:
                let app = Int.random(in: apps.indices, using: &random)
                let frame = apps[app].next(using: &random)
                sent[Lane(frame), default: []].append(frame)
                link.scheduler.enqueue(frame, from: app, at: link.now)
            case 6..<10:
                let canGo = link.scheduler.hasReady
                let entry = link.next()
                #expect(entry == nil || canGo, "seed \(seed)")
                if let frame = entry?.frame { receive(frame) }
            case 10:
                guard let session = sent.keys.map(\.session).sorted().randomElement(using: &random)
                else { continue }
                held.insert(session)
                link.scheduler.hold(session)
            default:
                guard let session = held.sorted().randomElement(using: &random) else { continue }
                held.remove(session)
                link.scheduler.release(session)
            }
        }
        for session in held { link.scheduler.release(session) }
        held = []
        while let entry = link.next() { receive(entry.frame) }
        #expect(received == sent, "seed \(seed)")
        #expect(link.scheduler.waitingBytes == 0 && !link.scheduler.hasReady)
    }

    @Test("no class waits longer than the ageing limit and a frame of each other", arguments: seeds)
    func starvation(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var link = ModelLink(bytesPerSecond: 1_000_000)
        let largest = 20_000
        // Refilled at once: more important classes never run empty.
        func fill(_ service: ServiceType) {
            let session = UInt8.random(in: 1...20, using: &random)
            let bytes = Int.random(in: 1...largest - 12, using: &random)
            link.scheduler.enqueue(
                .data(session: session, service: service, bytes: bytes), from: Int(session),
                at: link.now)
        }
        for service in ServiceType.allCases { for _ in 0..<30 { fill(service) } }
        var lastServed: [ServiceType: NIODeadline] = [:]
        // Small frames go several at a time, so ageing costs each other class those and a frame.
        let turn = link.time(of: largest + LinkScheduler<Int>.ageingBytes)
        let bound =
            LinkScheduler<Int>.ageingLimit
            + .nanoseconds(turn.nanoseconds * Int64(TrafficClass.count + 1))
        var longest = TimeAmount.zero
        for _ in 0..<600 {
            guard let frame = link.next()?.frame else { break }
            let since = lastServed[frame.service] ?? .uptimeNanoseconds(0)
            longest = max(longest, link.now - since)
            lastServed[frame.service] = link.now
            fill(frame.service)
        }
        #expect(longest <= bound, "seed \(seed)")
        #expect(Set(lastServed.keys) == Set(ServiceType.allCases))
    }

    @Test("apps of a class get the same bytes, but for one frame", arguments: seeds)
    func fairness(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var link = ModelLink(bytesPerSecond: 1_000_000)
        let sizes = (0..<8).map { _ in [64, 500, 8192, 131_072].randomElement(using: &random) ?? 64
        }
        func fill(_ app: Int) {
            // The first app has two sessions.
            let session = app == 0 ? UInt8.random(in: 100...101, using: &random) : UInt8(app)
            link.scheduler.enqueue(
                .data(session: session, bytes: sizes[app] - 12), from: app, at: link.now)
        }
        for app in sizes.indices { for _ in 0..<3 { fill(app) } }
        var served = [Int](repeating: 0, count: sizes.count)
        var largestSpread = 0
        for _ in 0..<1000 {
            guard let entry = link.next(), let app = entry.app else { break }
            served[app] += entry.frame.wire.readableBytes
            largestSpread = max(largestSpread, (served.max() ?? 0) - (served.min() ?? 0))
            fill(app)
        }
        #expect(largestSpread <= sizes.max() ?? 0, "seed \(seed)")
    }

    @Test("no message stands still for 10 s on a moving link, whatever else is sent")
    func consecutiveLimit() {
        // Four classes in which eight apps each send messages of 128 KB frames without end, against
        // single frames of as many others.
        var link = ModelLink(bytesPerSecond: 150_000)
        let payload = 131_072
        let services: [ServiceType] = [.rpc, .audio, .video, .bulk]
        var messages: [UInt8: [Frame]] = [:]
        func fill(_ session: UInt8, _ service: ServiceType) {
            let frames =
                messages[session]
                ?? (session % 2 == 0
                    ? Frame.message(
                        session: session, service: service, message: 1, frames: 4, bytes: payload)
                    : Array(
                        repeating: .data(session: session, service: service, bytes: payload),
                        count: 4))
            messages[session] = frames
            for frame in frames {
                link.scheduler.enqueue(frame, from: Int(session), at: link.now)
            }
        }
        var waiting: [UInt8: Int] = [:]
        for (index, service) in services.enumerated() {
            for number in 0..<16 {
                let session = UInt8(index * 16 + number + 1)
                fill(session, service)
                waiting[session] = session % 2 == 0 ? 5 : 4
            }
        }
        var movedAt: [UInt8: NIODeadline] = [:]
        var longest = TimeAmount.zero
        var finished = 0
        for _ in 0..<1000 {
            guard let frame = link.next()?.frame else { break }
            let session = frame.sessionID
            if frame.type == .consecutive, let moved = movedAt[session] {
                longest = max(longest, link.now - moved)
                if frame.info == 0 { finished += 1 }
            }
            movedAt[session] = link.now
            waiting[session, default: 0] -= 1
            if waiting[session, default: 0] == 0 {
                fill(session, frame.service)
                waiting[session] = session % 2 == 0 ? 5 : 4
            }
        }
        #expect(longest < .seconds(10), "\(longest.nanoseconds / 1_000_000) ms")
        #expect(finished > 50)
    }
}

/// A link of a given rate: each frame sent moves the time on.
private struct ModelLink {
    var scheduler = LinkScheduler<Int>()
    var now = NIODeadline.uptimeNanoseconds(0)
    let bytesPerSecond: Int

    init(bytesPerSecond: Int) {
        self.bytesPerSecond = bytesPerSecond
    }

    func time(of bytes: Int) -> TimeAmount {
        .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(bytesPerSecond))
    }

    /// The next frame, after it has been sent.
    mutating func next() -> LinkScheduler<Int>.Entry? {
        guard let entry = scheduler.next(at: now) else { return nil }
        now = now + time(of: entry.frame.wire.readableBytes)
        return entry
    }
}

private struct Lane: Hashable {
    var session: UInt8
    var service: ServiceType

    init(_ frame: Frame) {
        (session, service) = (frame.sessionID, frame.service)
    }
}

/// Sends what libraries send: messages of a session one after the other, and ends now and then.
private struct RandomApp {
    let sessions: [UInt8]
    private var lastMessage: UInt32 = 0
    private var rest: [UInt8: [Frame]] = [:]

    init(number: Int, sessions count: Int) {
        sessions = (0..<count).map { UInt8(number * 10 + $0 + 1) }
    }

    mutating func next(using random: inout SeededGenerator) -> Frame {
        let session = sessions.randomElement(using: &random) ?? 1
        let service = ServiceType.allCases.randomElement(using: &random) ?? .rpc
        // In the middle of a message an app's other threads send single frames only.
        let isOpen = rest[session]?.isEmpty == false
        lastMessage += 1
        switch Int.random(in: 0..<20, using: &random) {
        case 0 where !isOpen: return .control(.endService, session: session, messageID: lastMessage)
        case 1:
            return .control(.endService, service: .video, session: session, messageID: lastMessage)
        case 2...9 where isOpen:
            return rest[session]?.removeFirst() ?? .rpc(session: session)
        case 10...14 where !isOpen:
            var frames = Frame.message(
                session: session, service: service, message: lastMessage,
                frames: Int.random(in: 1...6, using: &random),
                bytes: Int.random(in: 1...3000, using: &random))
            let first = frames.removeFirst()
            rest[session] = frames
            return first
        default:
            return .data(
                session: session, service: service, message: lastMessage,
                bytes: Int.random(in: 1...2000, using: &random))
        }
    }
}

/// Joins frames as strictly as sdl_ios: one message per session at a time.
private struct Receiver {
    var received: [Lane: [Frame]] = [:]
    var problems: [String] = []
    private var open: [UInt8: Lane] = [:]
    private var count: [UInt8: Int] = [:]
    /// How many frames of the session came before an end of it.
    private var before: [Frame: Int] = [:]

    mutating func willCome(_ frame: Frame, after count: Int) {
        if frame.service == .rpc, frame.controlType == .endService { before[frame] = count }
    }

    mutating func receive(_ frame: Frame) {
        let (session, lane) = (frame.sessionID, Lane(frame))
        if let expected = before[frame], expected != count[session, default: 0] {
            problems.append("\(frame) after \(count[session, default: 0]), not \(expected)")
        }
        count[session, default: 0] += 1
        received[lane, default: []].append(frame)
        switch frame.type {
        case .first:
            if open[session] != nil { problems.append("\(frame) in the middle of a message") }
            open[session] = lane
        case .consecutive:
            if open[session] != lane { problems.append("\(frame) of a message that is not open") }
            if frame.info == 0 { open[session] = nil }
        case .control, .single: break
        }
    }
}
