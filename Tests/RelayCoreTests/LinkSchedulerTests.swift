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

    @Test("a session's frames keep their order whatever their service")
    func orderWithinSession() {
        var scheduler = LinkScheduler<String>()
        let frames: [Frame] = [
            .data(session: 1, service: .bulk, message: 1, bytes: 5), .rpc(session: 1, message: 2),
            .data(session: 1, service: .bulk, message: 3, bytes: 5),
        ]
        for frame in frames { scheduler.enqueue(frame, from: "app", at: .uptimeNanoseconds(0)) }
        #expect(drain(&scheduler) == frames)
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

    @Test("nothing starves: what has waited long goes before what is important")
    func ageing() {
        var scheduler = LinkScheduler<String>()
        scheduler.enqueue(
            .data(session: 1, service: .bulk, bytes: 5), from: "slow", at: .uptimeNanoseconds(0))
        let later = NIODeadline.uptimeNanoseconds(0) + .milliseconds(250)
        scheduler.enqueue(.rpc(session: 2), from: "quick", at: later)
        #expect(drain(&scheduler, at: later).map(\.sessionID) == [1, 2])
    }

    @Test("random work comes out complete, each session in order")
    func randomWork() {
        var random = SystemRandomNumberGenerator()
        var scheduler = LinkScheduler<Int>()
        var sent: [UInt8: [UInt32]] = [:]
        var received: [UInt8: [UInt32]] = [:]
        for step in 0..<5000 {
            let now = NIODeadline.uptimeNanoseconds(UInt64(step) * 1_000_000)
            let session = UInt8.random(in: 1...9, using: &random)
            let service = ServiceType.allCases.randomElement(using: &random) ?? .rpc
            let frame = Frame.data(
                session: session, service: service, message: UInt32(step + 1), bytes: 1)
            scheduler.enqueue(frame, from: 0, at: now)
            sent[session, default: []].append(UInt32(step + 1))
            guard step % 3 != 0, let entry = scheduler.next(at: now) else { continue }
            received[entry.frame.sessionID, default: []].append(entry.frame.messageID ?? 0)
        }
        while let entry = scheduler.next(at: .uptimeNanoseconds(0)) {
            received[entry.frame.sessionID, default: []].append(entry.frame.messageID ?? 0)
        }
        #expect(received == sent)
    }
}
