// No number in an answer of relayd may crash relayctl, whatever program answers on its socket: every counter of
// every report is set to the largest and the smallest possible number and shown as text.

import ControlAPI
import Foundation
import Testing

@testable import relayctl

@Suite("Extreme counters in answers of relayd")
struct ExtremeCountersTests {
    /// Whole numbers for the counters of a report, taken in turn.
    private static let numbers: [[Int]] = [
        [.max], [.min], [.max, .min], [.min, .max], [.max, 1], [.min, -1],
    ]

    /// The same report with `numbers` in its counters.
    ///
    /// Replaces one counter at a time: the decoder refuses a number that does not fit the member's type, and
    /// the member keeps its value.
    private static func extreme<Report: Codable>(
        _ report: Report, _ numbers: [Int]
    ) throws -> (report: Report, changed: Int) {
        var text = String(decoding: try APICoding.encodeLine(report), as: UTF8.self)
        var (latest, changed) = (report, 0)
        var start = text.startIndex
        // After ":" or in an array; a number in a string follows a quotation mark.
        while let found = text[start...].firstMatch(of: /[:\[,]-?[0-9][0-9.eE+-]*/) {
            let number = text.index(after: found.range.lowerBound)..<found.range.upperBound
            let offset = text.utf8.distance(from: text.startIndex, to: number.lowerBound)
            let candidate = text.replacingCharacters(
                in: number, with: "\(numbers[changed % numbers.count])")
            if let decoded = try? APICoding.decode(Report.self, from: Array(candidate.utf8)) {
                (text, latest) = (candidate, decoded)
                changed += 1
            }
            // The text may have been replaced.
            let behind = text.utf8.index(text.startIndex, offsetBy: offset)
            start = text[behind...].firstIndex { ",]}".contains($0) } ?? text.endIndex
        }
        return (latest, changed)
    }

    private static let status = {
        var accessory = AccessoryStatus(
            kind: "usb", address: "usb:1:1", state: .waiting, since: Samples.start, attempts: 1,
            openedCount: 1)
        (accessory.lostBytesIn, accessory.lostBytesOut) = (1, 1)
        (accessory.garbageAt, accessory.lostAt) = (Samples.now, Samples.now)
        return Samples.snapshot(
            accessory: accessory,
            link: LinkStatus(state: .sessions, sessions: 1, protocolVersion: "5.4.0"),
            apps: [Samples.registeredApp, Samples.registeredApp],
            departures: [
                AppDeparture(id: 1, peer: "p", closedAt: Samples.now, reason: "it left")
            ],
            log: LogStatus(droppedBatches: 1, droppedLines: 1),
            limits: [LimitHit(name: "apps.maximum", limit: 3, count: 1, lastAt: Samples.now)])
    }()

    private static let stats = {
        var show = FunctionReport(
            function: "Show", requests: 1, responses: 1, notifications: 1,
            results: ["SUCCESS": 1, "REJECTED": 1, "ABORTED": 1])
        (show.meanMilliseconds, show.maximumMilliseconds) = (4.26, 9)
        var alert = AppFunctionReport(
            app: "Music", function: "Alert", requests: 1, responses: 1, notifications: 1, failed: 1,
            waitsForPeople: true)
        (alert.meanMilliseconds, alert.maximumMilliseconds) = (4.26, 9)
        (alert.p50Milliseconds, alert.p95Milliseconds, alert.p99Milliseconds) = (4.2, 8.9, 9)
        return StatsReport(
            since: Samples.start, at: Samples.now,
            traffic: [
                LaneReport(app: "Music", service: "rpc", from: "app", frames: 1, bytes: 1),
                LaneReport(app: "Music", service: "rpc", from: "accessory", frames: 1, bytes: 1),
            ],
            functions: [show], apps: [alert], dropped: ["no_link": 1, "queue_full": 1],
            unanswered: 1, unseen: 1)
    }()

    @Test("status, and what doctor makes of it", arguments: numbers)
    func status(numbers: [Int]) throws {
        let (status, changed) = try Self.extreme(Self.status, numbers)
        #expect(changed > 30)
        for width in [40, 100, 1000] {
            let text = StatusText(width: width, now: Samples.now, localTime: .utc)
            #expect(text.render(status).contains("Head unit"))
            let list = AppList(status)
            #expect(!text.render(list).isEmpty)
        }
        let verdict = Verdict(
            accessory: status.accessory, server: status.server, apps: status.apps)
        #expect(verdict.summary.contains("head unit"))
        let diagnosis = Diagnosis(status, advice: [], socket: "/s", now: Samples.now)
        #expect(diagnosis.text(width: 80, style: .plain).contains("daemon"))
    }

    @Test("stats, and the rates between any two of them", arguments: numbers)
    func stats(numbers: [Int]) throws {
        let (stats, changed) = try Self.extreme(Self.stats, numbers)
        #expect(changed > 12)
        for others in Self.numbers {
            var (before, _) = try Self.extreme(Self.stats, others)
            before.at = Samples.start
            for width in [40, 200] {
                let text = StatsText(width: width).render(stats, since: before)
                #expect(text.contains("Alert"))
            }
        }
    }

    @Test("an app, its permissions and its advice", arguments: numbers)
    func app(numbers: [Int]) throws {
        var sample = AppCommandTests.report
        sample.capabilities.videoWidth = 1
        sample.capabilities.videoHeight = 1
        sample.capabilities.maximumVideoKilobits = 1
        let (report, changed) = try Self.extreme(sample, numbers)
        #expect(changed > 30)
        for width in [40, 100] {
            let text = AppText(width: width, now: Samples.now, localTime: .utc).render(report)
            #expect(text.contains("Relay Test App"))
            #expect(!PermissionText(width: width).render(report).isEmpty)
            let advice = AdviceText(width: width, now: Samples.now, localTime: .utc)
            #expect(advice.advice(report.advice).contains("putfile_crc"))
        }
    }
}
