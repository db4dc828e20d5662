// What an app that stops reading costs the others.

import ControlAPI
import Foundation
import Synchronization

/// A head unit that sends to two apps, one of which stops reading.
enum StuckAppBenchmark: Benchmark {
    static let name = "stuck-app"
    static let summary = "an app stops reading: the longest gap in another app's stream, and memory"

    private static let frameBytes = 16 << 10
    private static let bytesPerSecond = 40_000_000

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "the head unit sends \(bytesPerSecond / 1_000_000) MB/s of \(Report.size(frameBytes))"
                + " frames to two apps in turn; one stops reading;",
            "gap: the longest time the other gets nothing; memory: resident, at its highest until the",
            "stuck app has been closed, above what it was before",
        ])
        var (before, after, growth, closed): ([Double], [Double], [Double], [Double]) =
            ([], [], [], [])
        for _ in 0..<(setting.isQuick ? 1 : min(setting.rounds, 5)) {
            let run = try measure(setting)
            before.append(run.before)
            after.append(run.after)
            growth.append(run.growth)
            closed.append(run.closedAfter)
        }
        findings.add("both read", "relayd", "longest gap", before, "ms")
        findings.add("one is stuck", "relayd", "longest gap", after, "ms")
        findings.add("one is stuck", "relayd", "memory", growth, "MiB")
        findings.add("one is stuck", "relayd", "closed after", closed, "s")
        findings.bound(
            "a stuck app: longest gap for another, beyond that without",
            zip(after, before).map { $0 - $1 }.median, .atMost, 50,
            "ms")
        findings.bound("a stuck app: memory", growth.median, .atMost, 16, "MiB")
        return findings
    }

    private struct Run {
        var before: Double
        var after: Double
        var growth: Double
        var closedAfter: Double
    }

    private static func measure(_ setting: Setting) throws -> Run {
        let lane = try Lane.relayd(setting)
        let (stuck, stuckSession) = try lane.join()
        let frames = [lane.session, stuckSession].map {
            Traffic.wire([Traffic.video(session: $0, bytes: frameBytes, message: 1)])
        }
        let headUnit = lane.headUnit
        let flood = Flood(frames, bytesPerSecond: bytesPerSecond) { try headUnit.write($0) }
        let healthy = GapReader(lane.app)
        let other = GapReader(stuck)
        guard let relayd = lane.relayd else { throw BenchmarkError("this lane has no relayd") }
        // Lets buffers and windows grow to their size.
        usleep(1_000_000)
        _ = healthy.takeLongestGap()
        usleep(1_000_000)
        let before = healthy.takeLongestGap()
        let resident = try relayd.facts.memory().resident
        other.stop()
        let start = Clock.now()
        var (peak, closedAfter) = (resident, Double.nan)
        while Clock.now() < start + (setting.isQuick ? 5 : 10) {
            peak = max(peak, try relayd.facts.memory().resident)
            usleep(5000)
            if closedAfter.isNaN, try relayd.status().apps.count < 2 {
                closedAfter = Clock.now() - start
                break
            }
        }
        let after = healthy.takeLongestGap()
        flood.stop()
        lane.app.shutDown()
        healthy.stop()
        return Run(
            before: before, after: after, growth: Double(peak - resident) / Double(1 << 20),
            closedAfter: closedAfter)
    }
}

/// Reads in a thread of its own and remembers the longest time in which nothing came.
private final class GapReader: Sendable {
    private let isStopping = Atomic(false)
    private let isDone = DispatchSemaphore(value: 0)
    private let longest = Atomic<Int64>(0)

    init(_ socket: Socket) {
        let thread = Thread { [self] in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
            defer { buffer.deallocate() }
            var last = Clock.nanoseconds()
            while !isStopping.load(ordering: .relaxed) {
                guard socket.isReadable(within: 100) else { continue }
                guard let count = try? socket.read(into: buffer), count > 0 else { break }
                let now = Clock.nanoseconds()
                if now - last > longest.load(ordering: .relaxed) {
                    longest.store(now - last, ordering: .relaxed)
                }
                last = now
            }
            isDone.signal()
        }
        thread.start()
    }

    /// The longest gap since the last call, in milliseconds.
    func takeLongestGap() -> Double {
        Double(longest.exchange(0, ordering: .relaxed)) / 1e6
    }

    func stop() {
        isStopping.store(true, ordering: .relaxed)
        isDone.wait()
        isDone.signal()
    }
}
