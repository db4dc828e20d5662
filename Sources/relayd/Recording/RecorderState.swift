import ControlAPI
import NIOCore

/// The state of a `Recorder`: its one recording, and `record.always`. Protected by its lock.
struct RecorderState {
    /// The state of a recording that has no file yet and does not see the traffic.
    struct Beginning {
        let since = ContinuousClock.now
        /// Succeeds when it has begun; fails with an `APIError`.
        let begun: EventLoopFuture<Void>
        /// Why it should end as soon as it has begun.
        var unwanted: String?
    }

    var recording: Recording?
    /// The task of the recording, from its first access to the disk to its last frame.
    var task: Task<Void, Never>?
    /// Set while the recording is about to begin.
    var beginning: Beginning?
    /// How the latest one ended.
    var latest: RecordReport.Finished?
    /// Number of current live clients (`live`).
    var watchers = 0
    /// The configured policy.
    var policy: RecordingPolicy
    var isAlways = false
    /// The recording was started by `record.always`.
    var isAutomatic = false
    /// `record.always` should start a recording when the current one is over.
    var isAlwaysDue = false
    var patience = AlwaysPatience()
    /// Why `record.always` is not recording, until it does again.
    var problem: String?
    /// The scheduled retry.
    var retry: Scheduled<Void>?
    /// relayd stops.
    var isOver = false

    /// Cancels all retries.
    mutating func giveUp() {
        retry?.cancel()
        (retry, problem, patience) = (nil, nil, AlwaysPatience())
        if !isAlways { isAlwaysDue = false }
    }

    /// The recording that has its file.
    var begun: Recording? { beginning == nil ? recording : nil }

    /// Compares a recording that `record.always` is about to begin with the configuration: if it is
    /// outdated, it ends as soon as it has begun, and another one follows.
    mutating func compareBeginning() {
        guard isAlways, isAutomatic, beginning != nil, let recording else { return }
        let isOld = recording.policy != policy
        beginning?.unwanted = isOld ? "a reload has changed record" : nil
        isAlwaysDue = isOld
    }

    /// Called when somebody ends the recording.
    ///
    /// - Returns: Whether it is only about to begin, and so ends as soon as it has begun.
    mutating func stopBeginning() -> Bool {
        guard beginning != nil else { return false }
        beginning?.unwanted = "stopped"
        if isAutomatic {
            giveUp()
            (isAutomatic, isAlwaysDue) = (false, false)
        }
        return true
    }

    /// Called when the recording is over, or could not begin.
    ///
    /// - Returns: Whether it was started by `record.always`, and whether `record.always` should
    ///   start the next one.
    mutating func end() -> (wasAutomatic: Bool, isAlwaysDue: Bool) {
        defer {
            (recording, task, beginning) = (nil, nil, nil)
            (isAutomatic, isAlwaysDue) = (false, false)
        }
        return (isAutomatic, isAlwaysDue && !isOver)
    }
}
