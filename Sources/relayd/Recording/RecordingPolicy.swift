import RelayCore
package import Traces

/// How recordings are made: the section `record` of the configuration.
package struct RecordingPolicy: Sendable, Equatable {
    /// Where files are; nil where the machine has no place for what outlives relayd.
    package var folder: String?
    package var streams = TraceStreams.all
    /// Parameters whose values are overwritten.
    package var masked: [String] = []
    /// What becomes of traffic that comes faster than the disk takes it.
    package var whenBehind = WhenBehind.wait
    /// Bytes between the relay and the disk.
    package var queueBytes = 64 << 20
    /// A file that has become so large is followed by the next; 0 for one file however large.
    package var fileBytes = 1 << 30
    /// A file that is so old is followed by the next; 0 for one file however long.
    package var fileTime = Duration.zero
    /// Files that are kept of one recording; the oldest are removed. 0 keeps all.
    package var files = 8
    /// Bytes of memory for the latest traffic; 0 for none.
    package var lastBytes = 0
    /// What has it written into a file.
    package var saveOn: [SaveTrigger] = []

    package init() {}

    /// - Parameter state: The directory for what outlives relayd; nil where there is none.
    package init(_ config: Config.Record, state: String?) {
        folder =
            switch config.directory {
            case "": nil
            case "auto": RecordingFolder.own(in: state)?.path
            default: config.directory
            }
        streams = config.streams
        masked = config.mask
        whenBehind = config.whenBehind
        queueBytes = config.queue
        fileBytes = config.fileSize
        fileTime = Duration(config.fileTime)
        files = config.files
        lastBytes = config.last
        saveOn = config.saveOn
    }

    package enum WhenBehind: String, Sendable, CaseIterable {
        /// The traffic waits: nothing is missing.
        case wait
        /// The recording has gaps, with the number of frames in each.
        case miss
    }

    /// How a recording gets its frames from the tap.
    var tapPolicy: TapPolicy {
        TapPolicy(
            payload: streams == .all ? .everything : .exceptStreams, delay: .milliseconds(20),
            streamDelay: .milliseconds(50), overflow: whenBehind == .wait ? .wait : .miss)
    }

    /// How somebody who looks on gets them.
    var livePolicy: TapPolicy {
        var policy = tapPolicy
        policy.overflow = .miss
        return policy
    }

    /// Whether there may be a next file.
    var isRing: Bool { fileBytes > 0 || fileTime > .zero }

    /// Bytes after which a file is followed by the next.
    var fileLimit: Int { fileBytes > 0 ? fileBytes : .max }

    /// Whether the next file is due.
    func isNextDue(bytes: Int, age: Duration) -> Bool {
        fileBytes > 0 && bytes >= fileBytes || fileTime > .zero && age >= fileTime
    }
}
