import Synchronization
import Testing

@testable import relayd

// The journal's rate: below journald's own limit whatever apps do, and gaps are reported.

@Suite("JournalBudget")
struct JournalBudgetTests {
    private static let start = ContinuousClock.now

    /// The verdicts on this many entries at one moment.
    private static func take(
        _ count: Int, _ priority: SyslogPriority = .info, after: Duration = .zero,
        from budget: inout JournalBudget
    ) -> [JournalBudget.Verdict] {
        (0..<count).map { _ in budget.take(priority, at: start + after) }
    }

    @Test("beyond the budget lines are left out, which is said once; warnings still pass")
    func burst() {
        var budget = JournalBudget()
        let ordinary = JournalBudget.entriesPerWindow - JournalBudget.reserve
        #expect(Self.take(ordinary, from: &budget).allSatisfy { $0 == .write })
        #expect(
            Self.take(3, from: &budget) == [.startLeavingOut, .leaveOut, .leaveOut])
        let warnings = Self.take(JournalBudget.reserve, .warning, from: &budget)
        #expect(warnings.allSatisfy { $0 == .write })
        #expect(Self.take(1, .error, from: &budget) == [.leaveOut])
        // The next window begins with the count of missing entries.
        #expect(
            Self.take(2, after: JournalBudget.window, from: &budget)
                == [.writeAfter(leftOut: 4), .write])
    }

    @Test("whenever journald's 30 s begin, they see fewer than its 10,000 entries")
    func belowJournald() {
        var budget = JournalBudget()
        var written: [Duration] = []
        // A flood for two minutes, 500 entries every 100 ms, a third of them warnings.
        for tick in 0..<1200 {
            let moment = Duration.milliseconds(tick * 100)
            for index in 0..<500 {
                switch budget.take(index % 3 == 0 ? .warning : .info, at: Self.start + moment) {
                case .write: written.append(moment)
                // Together with its notice.
                case .writeAfter: written += [moment, moment]
                case .startLeavingOut: written.append(moment)
                case .leaveOut: break
                }
            }
        }
        for second in stride(from: 0, to: 90, by: 1) {
            let begin = Duration.seconds(second)
            let seen = written.count { $0 >= begin && $0 < begin + .seconds(30) }
            #expect(seen < 10_000)
        }
    }

    @Test("the writer says in the journal where lines are left out, and how many")
    func notices() async {
        let received = Collected<JournalEntry>()
        let moment = Moment(Self.start)
        let writer = LineWriter(
            .journal(send: { received.add($0) }), now: { moment.now })
        writer.mark(["LINK": "sim:"])
        let fitting = JournalBudget.entriesPerWindow - JournalBudget.reserve
        for number in 0..<(fitting + 7) { writer.write("line \(number)") }
        moment.advance(by: JournalBudget.window)
        writer.write("later")
        await writer.flush(within: .seconds(30))
        let messages = received.values.map(\.message)
        #expect(messages.count == fitting + 3)
        #expect(messages[fitting].contains("the next ones are left out"))
        #expect(
            messages[fitting + 1]
                == "… 7 lines left out of the journal; relayctl tail shows them")
        #expect(messages.last == "later")
        #expect(writer.counters.missed == 7)
        #expect(received.values.allSatisfy { $0.fields["LINK"] == "sim:" })
    }
}

/// A clock that stands still until it is set.
private final class Moment: Sendable {
    private let instant: Mutex<ContinuousClock.Instant>

    init(_ instant: ContinuousClock.Instant) {
        self.instant = Mutex(instant)
    }

    var now: ContinuousClock.Instant { instant.withLock { $0 } }

    func advance(by duration: Duration) {
        instant.withLock { $0 += duration }
    }
}
