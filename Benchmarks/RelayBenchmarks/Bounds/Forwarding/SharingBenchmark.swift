// The effect of one app's flood on the others on a slow link.

import Foundation
import Synchronization

/// Two apps send requests while a third saturates the link; the head unit reads at the link's rate.
enum SharingBenchmark: Benchmark {
    static let name = "sharing"
    static let summary =
        "RPC latency of two apps while a third saturates a slow link, against a plain FIFO"

    private static let requestBytes = 256
    /// The pause between an answer and the next request, in microseconds.
    private static let pause: UInt32 = 5000

    /// What the third app sends.
    private enum Load: String, CaseIterable {
        case files = "64 KB PutFiles"
        case large = "128 KB frames"
        case small = "8 KB frames"
        case video

        /// The pieces that the app writes, one by one.
        func pieces(session: UInt8) -> [[UInt8]] {
            switch self {
            case .files:
                // The libraries cut messages into 1.5 KB unless a head unit allows more.
                [
                    Traffic.wire(
                        Traffic.multiFrameUpload(
                            session: session, bytes: 64 << 10, frameBytes: 1500, message: 1,
                            correlation: 1))
                ]
            case .large: [upload(session, 128 << 10)]
            case .small: [upload(session, 8 << 10)]
            case .video:
                [Traffic.wire([Traffic.video(session: session, bytes: 16 << 10, message: 1)])]
            }
        }

        private func upload(_ session: UInt8, _ bytes: Int) -> [UInt8] {
            Traffic.wire([
                Traffic.upload(session: session, bytes: bytes, message: 1, correlation: 1)
            ])
        }
    }

    /// A link and the rate at which its head unit takes bytes; nil to take them as they come.
    private struct Link {
        var kind: LinkKind
        var bytesPerSecond: Int?

        var name: String {
            let rate = bytesPerSecond.map {
                $0 < 1_000_000 ? "\($0 / 1000) KB/s" : "\($0 / 1_000_000) MB/s"
            }
            return "\(kind.rawValue) \(rate ?? "unthrottled")"
        }
    }

    private static let links = [
        Link(kind: .pty), Link(kind: .pty, bytesPerSecond: 1_000_000),
        Link(kind: .pty, bytesPerSecond: 150_000),
        Link(kind: .tcp, bytesPerSecond: 1_000_000), Link(kind: .tcp, bytesPerSecond: 150_000),
    ]

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "two apps ask with \(requestBytes) B requests, one in flight each, 5 ms after the answer"
                + " before; the head unit",
            "answers when it has read a request; PutFiles in frames of 1.5 KB; a throttled head unit",
            "takes 5 ms worth at a time (TCP: SO_RCVBUF 8 KB, segments of 1,460 B); percentiles over",
            "all requests, those unanswered at the end count with their age; FIFO: the apps' frames in",
            "the order of writing through one socat; link: bytes the head unit got during the flood",
        ])
        for link in links {
            let loads = link.bytesPerSecond == nil ? [Load.files] : Load.allCases
            for load in loads { try measure(link, load, setting, &findings) }
        }
        return findings
    }

    /// The times of one contestant, in milliseconds.
    private struct Times {
        var idle: [Double] = []
        var loaded: [Double] = []
        var megabytesPerSecond: [Double] = []
        /// Medians of the rounds.
        var idleMedians: [Double] = []
        var loadedMedians: [Double] = []
    }

    private static func measure(
        _ link: Link, _ load: Load, _ setting: Setting, _ findings: inout Findings
    ) throws {
        var (relayd, fifo) = (Times(), Times())
        // Each takes seconds; percentiles come from the requests of all rounds.
        for round in 0..<(setting.isQuick ? 1 : min(3, setting.rounds)) {
            try measure(link, load, setting, &relayd) { receiveBuffer in
                let lane = try Lane.relayd(setting, link: link.kind, receiveBuffer: receiveBuffer)
                return try RelayedLink(lane, answerBytes: requestBytes)
            }
            guard round == 0 else { continue }
            try measure(link, load, setting, &fifo) { receiveBuffer in
                FIFOLink(
                    try Lane.socat(setting, link: link.kind, receiveBuffer: receiveBuffer))
            }
        }
        let subject = "\(link.name), \(load.rawValue)"
        for (name, times) in [("relayd", relayd), ("FIFO", fifo)] {
            findings.add(subject, name, "idle p50", times.idleMedians, "ms")
            findings.add(subject, name, "p50", times.loadedMedians, "ms")
            findings.add(subject, name, "p99", [times.loaded.percentile(0.99)], "ms")
            findings.add(subject, name, "requests", [Double(times.loaded.count)], "")
            findings.add(subject, name, "link", times.megabytesPerSecond, "MB/s")
        }
        bound(link, load, subject, relayd, &findings)
    }

    private static func bound(
        _ link: Link, _ load: Load, _ subject: String, _ times: Times,
        _ findings: inout Findings
    ) {
        guard let rate = link.bytesPerSecond else {
            findings.bound(
                "\(subject): p50 of another app's RPCs, loaded / idle",
                times.loadedMedians.ratios(to: times.idleMedians).median, .atMost, 3, "×")
            return
        }
        findings.bound(
            "\(subject): the link stays full", times.megabytesPerSecond.median, .atLeast,
            0.9 * Double(rate) / 1e6, "MB/s")
        guard rate == 1_000_000, load == .large || load == .small else { return }
        findings.bound(
            "\(subject): p99 of another app's RPCs", times.loaded.percentile(0.99), .atMost,
            load == .large ? 200 : 20, "ms")
    }

    private static func measure(
        _ link: Link, _ load: Load, _ setting: Setting, _ times: inout Times,
        connect: (_ receiveBuffer: Int32?) throws -> any SharedLink
    ) throws {
        let shared = try connect(link.bytesPerSecond == nil ? nil : 8 << 10)
        let answers = shared.sessions.map { ($0, Pings.answer(session: $0, bytes: requestBytes)) }
        let headUnit = AnsweringHeadUnit(
            shared.headUnit, bytesPerSecond: link.bytesPerSecond,
            answers: Dictionary(uniqueKeysWithValues: answers))
        defer { headUnit.stop() }
        let asking = Asking(shared, requestBytes: requestBytes, pause: pause)
        usleep(setting.isQuick ? 200_000 : 1_000_000)
        let idle = asking.take()
        times.idle += idle
        times.idleMedians.append(idle.median)

        let flood = Flood(load.pieces(session: shared.floodSession), write: shared.flood)
        // Lets queues fill up; requests before that do not count.
        usleep(setting.isQuick ? 200_000 : 500_000)
        _ = asking.take()
        let (before, start) = (headUnit.bytesReceived, Clock.now())
        usleep(setting.isQuick ? 700_000 : 3_000_000)
        let bytes = Double(headUnit.bytesReceived - before)
        times.megabytesPerSecond.append(bytes / (Clock.now() - start) / 1e6)
        let loaded = asking.takeAll()
        times.loaded += loaded
        times.loadedMedians.append(loaded.median)
        shared.end()
        asking.stop()
        flood.stop()
    }
}

/// The two apps that ask, each in a thread of its own.
private final class Asking: Sendable {
    private struct State {
        var milliseconds: [Double] = []
        /// When the requests in flight were sent, by app.
        var sentAt: [Int: Int64] = [:]
    }

    private let isStopping = Atomic(false)
    private let group = DispatchGroup()
    private let state = Mutex(State())

    init(_ link: any SharedLink, requestBytes: Int, pause: UInt32) {
        for (index, session) in link.sessions.enumerated() {
            group.enter()
            let asker = Asker(link: link)
            Thread { [self] in
                run(asker, index, session, requestBytes, pause)
                group.leave()
            }.start()
        }
    }

    /// Takes the link into a thread.
    ///
    /// Unchecked: its sockets, semaphores and queues are safe to use from several threads, and the rest
    /// does not change.
    private struct Asker: @unchecked Sendable {
        let link: any SharedLink
    }

    private func run(
        _ asker: Asker, _ index: Int, _ session: UInt8, _ bytes: Int, _ pause: UInt32
    ) {
        var request = Traffic.wire([Traffic.request(session: session, bytes: bytes)])
        var correlation: UInt32 = 100
        while !isStopping.load(ordering: .relaxed) {
            correlation += 1
            Traffic.setCorrelation(correlation, in: &request)
            let start = Clock.nanoseconds()
            state.withLock { $0.sentAt[index] = start }
            guard (try? asker.link.ask(index, request)) != nil else { return }
            let time = Double(Clock.nanoseconds() - start) / 1e6
            state.withLock { state in
                state.sentAt[index] = nil
                state.milliseconds.append(time)
            }
            usleep(pause)
        }
    }

    /// The times of the requests that were answered since the last call.
    func take() -> [Double] {
        state.withLock { state in
            defer { state.milliseconds = [] }
            return state.milliseconds
        }
    }

    /// The same, and the ages of requests that still wait for their answer.
    func takeAll() -> [Double] {
        let now = Clock.nanoseconds()
        return state.withLock { state in
            defer { state.milliseconds = [] }
            return state.milliseconds + state.sentAt.values.map { Double(now - $0) / 1e6 }
        }
    }

    /// Returns when both threads have ended; the link must have been ended.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        group.wait()
    }
}
