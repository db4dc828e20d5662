import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("LinkScheduler orders what waits for a busy link")
struct LinkSchedulerTests {
    private func drain(
        _ scheduler: inout LinkScheduler<String>, at now: NIODeadline = .uptimeNanoseconds(0)
    ) -> [Frame] {
        var frames: [Frame] = []
        while let entry = scheduler.next(at: now) { frames.append(entry.frame) }
        return frames
    }

    @Test("the more important service of different sessions goes first")
    func priority() {
        var scheduler = LinkScheduler<String>()
        let frames: [Frame] = [
            .data(session: 1, service: .bulk, bytes: 5),
            .data(session: 2, service: .video, bytes: 5),
            .data(session: 3, service: .audio, bytes: 5), .rpc(session: 4),
            .control(.heartbeat, service: .control, session: 5),
        ]
        for frame in frames { scheduler.enqueue(frame, from: "app", at: .uptimeNanoseconds(0)) }
        #expect(scheduler.waitingBytes == frames.reduce(0) { $0 + $1.wire.readableBytes })
        #expect(drain(&scheduler) == frames.reversed())
        #expect(scheduler.waitingBytes == 0)
    }

    @Test("an app's RPC overtakes its own files; a service's frames keep their order")
    func orderWithinSession() {
        var scheduler = LinkScheduler<String>()
        let frames: [Frame] = [
            .data(session: 1, service: .bulk, message: 1, bytes: 5), .rpc(session: 1, message: 2),
            .data(session: 1, service: .bulk, message: 3, bytes: 5), .rpc(session: 1, message: 4),
        ]
        for frame in frames { scheduler.enqueue(frame, from: "app", at: .uptimeNanoseconds(0)) }
        #expect(drain(&scheduler).map(\.messageID) == [2, 4, 1, 3])
    }

    @Test("what ends a session goes after all of it, and nothing behind it overtakes it")
    func endOfSession() {
        for end in [ControlFrameType.endService, .endServiceACK] {
            var scheduler = LinkScheduler<String>()
            let frames: [Frame] = [
                .data(session: 1, service: .video, message: 1, bytes: 5),
                .data(session: 1, service: .bulk, message: 2, bytes: 5),
                .control(end, session: 1, messageID: 3),
                .control(.heartbeat, service: .control, session: 1, messageID: 4),
                .data(session: 2, service: .bulk, message: 5, bytes: 5),
            ]
            for frame in frames { scheduler.enqueue(frame, from: "app", at: .uptimeNanoseconds(0)) }
            let order = drain(&scheduler).filter { $0.sessionID == 1 }.map(\.messageID)
            #expect(order == [1, 2, 3, 4])
        }
    }

    @Test("starting and ending a stream stay where they were in the stream")
    func streamControl() {
        var scheduler = LinkScheduler<String>()
        let frames: [Frame] = [
            .control(.startService, service: .video, session: 1, messageID: 1),
            .data(session: 1, service: .video, message: 2, bytes: 5),
            .control(.endService, service: .video, session: 1, messageID: 3),
            .control(.startService, service: .video, session: 1, messageID: 4),
        ]
        for frame in frames { scheduler.enqueue(frame, from: "app", at: .uptimeNanoseconds(0)) }
        #expect(drain(&scheduler) == frames)
    }

    @Test("single frames may go in the middle of a message, another message of the session may not")
    func contiguity() {
        var scheduler = LinkScheduler<String>()
        let file = Frame.message(session: 1, service: .bulk, message: 1, frames: 3, bytes: 10)
        let request = Frame.message(session: 1, service: .rpc, message: 2, frames: 2, bytes: 10)
        let now = NIODeadline.uptimeNanoseconds(0)
        // The first frame of the file went while the link was free.
        for frame in file.dropFirst() { scheduler.enqueue(frame, from: "app", at: now) }
        for frame in request { scheduler.enqueue(frame, from: "app", at: now) }
        scheduler.enqueue(
            .control(.heartbeat, service: .control, session: 1), from: "app", at: now)
        let sent = drain(&scheduler)
        #expect(sent.first?.controlType == .heartbeat)
        #expect(Array(sent.dropFirst()) == Array(file.dropFirst()) + request)
    }

    @Test("what keeps an RPC waiting goes with the urgency of an RPC")
    func promotion() {
        var scheduler = LinkScheduler<String>()
        let now = NIODeadline.uptimeNanoseconds(0)
        let file = Frame.message(session: 1, service: .bulk, message: 1, frames: 3, bytes: 1000)
        let request = Frame.message(session: 1, service: .rpc, message: 2, frames: 1, bytes: 10)
        for frame in file { scheduler.enqueue(frame, from: "app", at: now) }
        for message in UInt32(1)...50 {
            scheduler.enqueue(
                .data(session: 2, message: message, bytes: 1000), from: "other", at: now)
        }
        for frame in request { scheduler.enqueue(frame, from: "app", at: now) }
        #expect(Array(drain(&scheduler).prefix(6)) == file + request)
    }

    @Test("a message that was begun is not kept waiting by others that begin")
    func begun() {
        var scheduler = LinkScheduler<Int>()
        let now = NIODeadline.uptimeNanoseconds(0)
        for session in UInt8(1)...5 {
            for frame in Frame.message(
                session: session, service: .bulk, message: 1, frames: 4, bytes: 100)
            {
                scheduler.enqueue(frame, from: Int(session), at: now)
            }
        }
        var open: Set<UInt8> = []
        while let frame = scheduler.next(at: now)?.frame {
            if frame.type == .first { open.insert(frame.sessionID) }
            if frame.type == .consecutive, frame.info == 0 { open.remove(frame.sessionID) }
            #expect(open.count <= LinkScheduler<Int>.begunLimit)
        }
    }

    @Test("an app's sessions share what one app gets")
    func sessionsOfOneApp() {
        var scheduler = LinkScheduler<String>()
        let now = NIODeadline.uptimeNanoseconds(0)
        for message in UInt32(1)...10 {
            for (session, app) in [(UInt8(1), "twice"), (2, "twice"), (3, "once")] {
                scheduler.enqueue(
                    .data(session: session, message: message, bytes: 100), from: app, at: now)
            }
        }
        let apps = (0..<20).compactMap { _ in scheduler.next(at: now)?.app }
        #expect(apps.count { $0 == "once" } == 10)
    }

    @Test("one large frame at a time is no way to get more")
    func debt() {
        var scheduler = LinkScheduler<String>()
        let now = NIODeadline.uptimeNanoseconds(0)
        var large = 0
        var small = 0
        for message in UInt32(1)...2000 {
            scheduler.enqueue(
                .data(session: 2, message: message, bytes: 52), from: "small", at: now)
        }
        scheduler.enqueue(.data(session: 1, bytes: 16_000), from: "large", at: now)
        while small < 100_000, let entry = scheduler.next(at: now) {
            let bytes = entry.frame.wire.readableBytes
            guard entry.app == "large" else {
                small += bytes
                continue
            }
            large += bytes
            scheduler.enqueue(.data(session: 1, bytes: 16_000), from: "large", at: now)
        }
        #expect(abs(large - small) <= 16_012)
    }

    @Test("a frame that is too large for the room stays first in line")
    func room() {
        var scheduler = LinkScheduler<String>()
        let now = NIODeadline.uptimeNanoseconds(0)
        scheduler.enqueue(.data(session: 1, bytes: 988), from: "app", at: now)
        #expect(scheduler.next(at: now, upTo: 999) == nil)
        scheduler.enqueue(.rpc(session: 2), from: "app", at: now)
        #expect(scheduler.next(at: now, upTo: 999)?.frame.sessionID == 2, "an RPC fits and goes")
        #expect(scheduler.next(at: now, upTo: 1000)?.frame.sessionID == 1)
        #expect(scheduler.isEmpty)
    }

    @Test("the link's end gives everything back, in the order it came")
    func removeAll() {
        var scheduler = LinkScheduler<String>()
        let frames: [Frame] = [
            .data(session: 1, service: .bulk, bytes: 5), .rpc(session: 2),
            .data(session: 1, service: .video, bytes: 5),
        ]
        for frame in frames { scheduler.enqueue(frame, from: "app", at: .uptimeNanoseconds(0)) }
        #expect(scheduler.removeAll().map(\.frame) == frames)
        #expect(scheduler.isEmpty && scheduler.waitingBytes == 0)
        scheduler.enqueue(frames[1], from: "app", at: .uptimeNanoseconds(0))
        #expect(drain(&scheduler) == [frames[1]])
    }

    @Test("equals take turns")
    func turns() {
        var scheduler = LinkScheduler<String>()
        for session in [UInt8(1), 2, 3] {
            for message in [UInt32(1), 2] {
                scheduler.enqueue(
                    .rpc(session: session, message: message), from: "app",
                    at: .uptimeNanoseconds(0))
            }
        }
        #expect(drain(&scheduler).map(\.sessionID) == [1, 2, 3, 1, 2, 3])
    }

    @Test("a class that has waited long goes before what is important, for a moment")
    func ageing() {
        var scheduler = LinkScheduler<String>()
        let start = NIODeadline.uptimeNanoseconds(0)
        for message in UInt32(1)...2 {
            scheduler.enqueue(
                .data(session: 1, message: message, bytes: 5000), from: "slow", at: start)
            scheduler.enqueue(.rpc(session: 2, message: message), from: "quick", at: start)
        }
        #expect(scheduler.next(at: start)?.frame.sessionID == 2)
        let later = start + .milliseconds(250)
        #expect(drain(&scheduler, at: later).map(\.sessionID) == [1, 2, 1])
    }
}
