import RelayCore
package import Traces

/// How recordings are made: the section `record` of the configuration.
package struct RecordingPolicy: Sendable, Equatable {
    /// The folder of the files; nil if the machine has no place for persistent files.
    package var folder: String?
    package var streams = TraceStreams.all
    /// Parameters whose values are overwritten.
    package var masked: [String] = []
    /// What happens to traffic that is faster than the disk.
    package var whenBehind = WhenBehind.wait
    /// Bytes buffered between the relay and the disk.
    package var queueBytes = 64 << 20
    /// A file of this size is followed by the next; 0 for one file of any size.
    package var fileBytes = 1 << 30
    /// A file of this age is followed by the next; 0 for one file of any age.
    package var fileTime = Duration.zero
    /// Number of files kept of one recording; the oldest are removed. 0 keeps all.
    package var files = 8
    /// Bytes of memory for the latest traffic; 0 for none.
    package var lastBytes = 0
    /// Events at which that traffic is saved to a file.
    package var saveOn: [SaveTrigger] = []

    package init() {}

    /// - Parameter state: The state directory; nil if there is none.
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

    /// How a live client gets its frames.
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
