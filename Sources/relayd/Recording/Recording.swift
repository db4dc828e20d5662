import ControlAPI
import Glibc
import RelayCore
import Synchronization
import Traces

/// One recording: reads its queue of the tap, and writes to a file or a ring of files. `Recorder`
/// chooses where it runs; writing may block.
final class Recording: Sendable {
    /// Its progress, for the status.
    struct Progress: Sendable {
        var name: String
        var path: String
        var files = 1
        var frames = 0
        /// Bytes written, of all files.
        var bytes = 0
        var missedFrames = 0
    }

    let startedAt: Timestamp
    let queue: TapQueue
    let disk: DiskWatch
    /// The policy it applies until it ends.
    let policy: RecordingPolicy
    private let folder: RecordingFolder
    private let state: Mutex<Progress>
    private let header: TraceHeader
    /// The reason to end, once somebody has given one.
    private let reason = Mutex("")

    /// Bytes taken from the queue at once.
    private static let bytesAtOnce = 4 << 20
    /// Bytes written at once. More is no faster (Documentation/performance.md), and would delay the
    /// start of a ring's next file.
    private static let bytesPerWrite = 256 << 10
    /// Interval of checks that the file still exists.
    private static let pauseBetweenLooks = Duration.seconds(1)

    /// - Parameter diskLimit: Time after which a disk is reported as stalled.
    init(
        _ name: String, _ policy: RecordingPolicy, in folder: RecordingFolder,
        _ header: TraceHeader, startedAt: Timestamp, diskLimit: Duration = DiskWatch.limit
    ) {
        self.policy = policy
        self.folder = folder
        self.header = header
        self.startedAt = startedAt
        queue = TapQueue(maximumBytes: policy.queueBytes)
        disk = DiskWatch(folder.path, queue, policy.whenBehind, limit: diskLimit)
        state = Mutex(
            Progress(name: name, path: folder.path + "/" + Self.file(name, 1, policy)))
    }

    var progress: Progress { state.withLock { $0 } }

    /// Sets the reason for its end. The end of the queue ends it.
    func willEnd(because words: String) { reason.withLock { $0 = words } }

    /// Whether it takes nothing more, and only writes what it has taken.
    var isEnding: Bool { reason.withLock { !$0.isEmpty } }

    /// The file name; files of a ring are numbered.
    private static func file(_ name: String, _ number: Int, _ policy: RecordingPolicy) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return name + (policy.isRing && number > 1 ? "-\(padded)" : "") + RecordingFolder.suffix
    }

    /// Like `open`, but with a name that no file in the folder has; creates the folder if needed.
    func openFreely() throws(RecordingFailure) -> RecordingFolder.NewFile {
        try folder.make()
        let name = folder.freeName(progress.name)
        let path = folder.path + "/" + Self.file(name, 1, policy)
        state.withLock { ($0.name, $0.path) = (name, path) }
        return try open()
    }

    /// Opens the first file and writes its beginning. Called before anything is taken from the tap, so that
    /// the caller learns of any problem, such as a full disk.
    ///
    /// - Returns: The file to pass to `run`; otherwise nobody closes it.
    func open() throws(RecordingFailure) -> RecordingFolder.NewFile {
        var file = try folder.create(Self.file(progress.name, 1, policy))
        var encoder = TraceEncoder(header, operatingSystem: SystemName.current)
        var blocks = TraceBlocks()
        encoder.begin(started: "\(startedAt)", at: .now(), into: &blocks)
        try file.begin(with: blocks)
        let count = file.bytes
        state.withLock { $0.bytes = count }
        return file
    }

    /// The run of the recording, into the file that was opened for it.
    func run(into file: RecordingFolder.NewFile) -> Run {
        Run(RecordingFile(file, limit: policy.fileLimit), self)
    }

    /// The recording while it runs.
    struct Run: ~Copyable {
        private let recording: Recording
        private var file: RecordingFile
        private var encoder: TraceEncoder
        private var blocks = TraceBlocks()
        private var number = 1
        private var opened = ContinuousClock.now
        /// Paths of its files, the oldest first.
        private var paths: [String]
        /// When the file's existence was last checked.
        private var looked = ContinuousClock.now

        fileprivate init(_ file: consuming RecordingFile, _ recording: Recording) {
            paths = [file.path]
            self.file = file
            self.recording = recording
            encoder = TraceEncoder(
                recording.header, operatingSystem: SystemName.current,
                isSeveral: recording.policy.isRing)
        }

        /// Runs until the queue ends.
        ///
        /// - Throws: `RecordingFailure` if a file cannot be written (what was written stays readable), or has
        ///   been removed.
        mutating func run() async throws(RecordingFailure) {
            try begin()
            let patience: Duration? =
                recording.policy.fileTime > .zero ? .seconds(1) : nil
            while let items = await recording.queue.nextBatch(
                within: patience, atMost: Recording.bytesAtOnce)
            {
                for item in items {
                    encoder.append(item, at: .now(), into: &blocks)
                    guard blocks.count >= Recording.bytesPerWrite else { continue }
                    try write()
                    try goOnIfDue()
                }
                try write()
                try goOnIfDue()
            }
            let reason = recording.reason.withLock { $0 }
            try end(because: reason.isEmpty ? "relayd stopped" : reason)
        }

        private mutating func begin() throws(RecordingFailure) {
            encoder.begin(started: "\(Timestamp.now)", at: .now(), into: &blocks)
            // The first file already has its beginning, written by `open`.
            if number == 1, file.bytes > 0 { blocks.clear() }
            try write()
        }

        private mutating func end(because reason: String) throws(RecordingFailure) {
            encoder.end(because: reason, at: .now(), into: &blocks)
            try write()
            try look()
        }

        /// Fails if the file has been removed: nobody could find such a recording.
        private mutating func look() throws(RecordingFailure) {
            looked = .now
            if file.isRemoved { throw .removed(file.path) }
        }

        private mutating func goOnIfDue() throws(RecordingFailure) {
            let age = ContinuousClock.now - opened
            if recording.policy.isNextDue(bytes: file.bytes, age: age) { try goOn() }
        }

        /// Continues with the next file of the ring; the oldest makes room for it.
        private mutating func goOn() throws(RecordingFailure) {
            try end(because: "the next file follows")
            number += 1
            try openNext()
            opened = .now
            looked = .now
            try begin()
            let kept = recording.policy.files
            if kept > 0, paths.count > kept { remove(paths.removeFirst()) }
            let (path, files) = (file.path, number)
            recording.state.withLock {
                $0.path = path
                $0.files = files
            }
        }

        /// A hanging disk may hang here, too.
        private mutating func openNext() throws(RecordingFailure) {
            recording.disk.writeBegins()
            defer { recording.disk.writeEnds() }
            let next = try recording.folder.create(
                Recording.file(recording.progress.name, number, recording.policy))
            paths.append(next.path)
            file = RecordingFile(next, limit: recording.policy.fileLimit)
        }

        private func remove(_ path: String) {
            recording.disk.writeBegins()
            defer { recording.disk.writeEnds() }
            unlink(path)
        }

        private mutating func write() throws(RecordingFailure) {
            guard blocks.count > 0 else { return }
            let count = blocks.count
            try file.append(blocks, watchedBy: recording.disk)
            blocks.clear()
            let taken = encoder.takeNews()
            recording.state.withLock {
                $0.bytes += count
                $0.frames += taken.frames
                $0.missedFrames += taken.missedFrames
            }
            if ContinuousClock.now - looked >= Recording.pauseBetweenLooks { try look() }
        }
    }
}
