import ControlAPI
import NIOCore

/// What a `Recorder` knows of its one recording, and what becomes of `record.always`. Kept under its lock.
struct RecorderState {
    /// Of a recording that has no file, and sees nothing of what passes.
    struct Beginning {
        let since = ContinuousClock.now
        /// Kept when it has begun; fails with an `APIError`.
        let begun: EventLoopFuture<Void>
        /// Why it is to end as soon as it has begun.
        var unwanted: String?
    }

    var recording: Recording?
    /// Its life, from its first look at the disk to its last frame.
    var task: Task<Void, Never>?
    /// It is about to begin.
    var beginning: Beginning?
    /// How the latest one ended.
    var latest: RecordReport.Finished?
    /// Who looks on at this moment (`live`).
    var watchers = 0
    /// What the configuration says.
    var policy: RecordingPolicy
    var isAlways = false
    /// The recording is there because `record.always` says so.
    var isAutomatic = false
    /// `record.always` is to begin one when the recording is over that is in its place.
    var isAlwaysDue = false
    var patience = AlwaysPatience()
    /// Why `record.always` records nothing, until it does again.
    var problem: String?
    /// Tries it again after a while.
    var retry: Scheduled<Void>?
    /// relayd stops.
    var isOver = false

    /// Nothing is tried again.
    mutating func giveUp() {
        retry?.cancel()
        (retry, problem, patience) = (nil, nil, AlwaysPatience())
        if !isAlways { isAlwaysDue = false }
    }

    /// The recording that has its file.
    var begun: Recording? { beginning == nil ? recording : nil }

    /// What `record.always` is about to begin is no longer what the configuration says: the next one is.
    mutating func compareBeginning() {
        guard isAlways, isAutomatic, beginning != nil, let recording else { return }
        let isOld = recording.policy != policy
        beginning?.unwanted = isOld ? "a reload has changed record" : nil
        isAlwaysDue = isOld
    }

    /// Somebody ends the recording.
    ///
    /// - Returns: Whether it is about to begin, and ends as soon as it has begun.
    mutating func stopBeginning() -> Bool {
        guard beginning != nil else { return false }
        beginning?.unwanted = "stopped"
        if isAutomatic {
            giveUp()
            (isAutomatic, isAlwaysDue) = (false, false)
        }
        return true
    }

    /// The recording is over, or could not begin.
    ///
    /// - Returns: Whether it was there because `record.always` said so, and whether the next one is.
    mutating func end() -> (wasAutomatic: Bool, isAlwaysDue: Bool) {
        defer {
            (recording, task, beginning) = (nil, nil, nil)
            (isAutomatic, isAlwaysDue) = (false, false)
        }
        return (isAutomatic, isAlwaysDue && !isOver)
    }
}
