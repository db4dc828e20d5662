import ControlAPI
import NIOCore
import RelayCore
import Synchronization

/// Watches the disk of one recording from a different thread than the writing one, which may hang in the
/// kernel.
final class DiskWatch: Sendable {
    private struct State {
        var patience: DiskPatience
        /// The start of the stall in wall-clock time.
        var since: Timestamp?
        var isHolding = false
        var task: RepeatedTask?
    }

    /// The folder of the recording.
    private let folder: String
    private let queue: TapQueue
    private let whenBehind: RecordingPolicy.WhenBehind
    private let state: Mutex<State>

    /// Time without progress after which relayd reports a stall: longer than an SD card takes for its
    /// internal cleanup, shorter than people wait before they look for the fault elsewhere.
    static let limit = Duration.seconds(2)

    init(
        _ folder: String, _ queue: TapQueue, _ whenBehind: RecordingPolicy.WhenBehind,
        limit: Duration = limit
    ) {
        self.folder = folder
        self.queue = queue
        self.whenBehind = whenBehind
        state = Mutex(State(patience: DiskPatience(limit: limit)))
    }

    func writeBegins() {
        let now = ContinuousClock.now
        state.withLock { $0.patience.writeBegins(at: now) }
    }

    func writeEnds() { state.withLock { $0.patience.writeEnds() } }

    /// The current stall of the disk, if it has been reported.
    var stall: DiskStall? {
        state.withLock { state in
            state.since.map {
                DiskStall(directory: folder, since: $0, trafficWaits: state.isHolding)
            }
        }
    }

    /// Checks the disk until `stop`.
    ///
    /// - Parameter say: Receives the reports, on `loop`.
    func start(on loop: any EventLoop, say: @escaping @Sendable (DiskPatience.News, String) -> Void)
    {
        let limit = state.withLock { $0.patience.limit }
        let pause = TimeAmount(limit / 4)
        let task = loop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { _ in
            self.look(say)
        }
        state.withLock { $0.task = task }
    }

    func stop() {
        let task = state.withLock { state in
            state.since = nil
            return state.task.take()
        }
        task?.cancel()
    }

    private func look(_ say: (DiskPatience.News, String) -> Void) {
        let isHolding = whenBehind == .wait && queue.isFull
        let now = ContinuousClock.now
        let news = state.withLock { state in
            guard state.task != nil else { return nil as DiskPatience.News? }
            let news = state.patience.look(at: now, isHolding: isHolding)
            switch news {
            case .takesNothing(let time, let isHolding):
                state.since = state.since ?? Timestamp.now.earlier(by: time)
                state.isHolding = isHolding
            case .goesOn: state.since = nil
            case nil: break
            }
            return news
        }
        if let news { say(news, words(news)) }
    }

    private func words(_ news: DiskPatience.News) -> String {
        let queued = Quantity.text(bytes: queue.maximumBytes)
        switch news {
        case .takesNothing(let time, isHolding: true):
            return "the disk of \(folder) has accepted no data for \(time.components.seconds) s: "
                + "the traffic waits (record.when_behind)"
        case .takesNothing(let time, isHolding: false):
            let next = whenBehind == .wait ? "the traffic waits" : "the recording has gaps"
            return "the disk of \(folder) has accepted no data for \(time.components.seconds) s; "
                + "when \(queued) wait for it, \(next) (record.queue, record.when_behind)"
        case .goesOn(let time):
            return "the disk of \(folder) accepts the recording again, "
                + "after \(time.components.seconds) s"
        }
    }
}

extension Timestamp {
    fileprivate func earlier(by time: Duration) -> Timestamp {
        let (seconds, attoseconds) = time.components
        return Timestamp(
            millisecondsSince1970: millisecondsSince1970 - seconds * 1000
                - attoseconds / 1_000_000_000_000_000)
    }
}
