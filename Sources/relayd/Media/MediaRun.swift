import ControlAPI
import Logging
import Media
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic
import Synchronization

/// What is known of the media taps, for status.
struct MediaProgress: Sendable {
    /// Files that were begun, and what was written into them.
    var files = 0
    var bytes = 0
    /// Those that are being written.
    var open = 0
    /// Frames that passed and were not seen.
    var missedFrames = 0
    /// Why something was not written last; nil once something is again.
    var problem: String?
}

/// Takes media out of what its queue brings, and gives it to a folder and to players. Runs on a thread of
/// its own, because writing blocks; while the disk hangs it misses frames, and nobody waits.
struct MediaRun: ~Copyable {
    private let policy: MediaPolicy
    private let progress: MediaTaps.Progress
    private let port: VideoPort?
    private let logger: Logger
    private var folder: MediaFolder?
    private var decoder = TrafficDecoder(validator: nil)
    private var collector: MediaCollector
    private var entries: [TrafficEntry] = []
    private var files: [MediaID: MediaFile] = [:]
    /// Those of which the disk took no more, and whether a part of them is there.
    private var failed: [MediaID: Bool] = [:]
    private var videos: Set<MediaID> = []

    init(
        _ policy: MediaPolicy, _ port: VideoPort?, progress: MediaTaps.Progress, logger: Logger
    ) {
        self.policy = policy
        self.port = port
        self.progress = progress
        self.logger = logger
        if !policy.saved.isEmpty, let path = policy.folder {
            var folder = MediaFolder(
                path, bytes: policy.folderBytes, files: policy.folderFiles)
            folder.survey()
            self.folder = folder
        }
        collector = MediaCollector(policy.kinds)
        collector.isLive = true
        // Answers may belong to requests that passed before.
        decoder.beginsInTheMiddle(at: .now())
    }

    // MARK: What passed

    mutating func receive(_ items: [TapItem]) {
        for item in items {
            switch item {
            case .frames(let frames): receive(frames)
            case .missed(let count, _):
                progress.withLock { $0.missedFrames += count }
                decode(item)
            default: decode(item)
            }
        }
    }

    /// Decodes all but audio and video, in the order in which they passed.
    private mutating func receive(_ frames: [TappedFrame]) {
        var messages: [TappedFrame] = []
        for frame in frames {
            guard frame.frame.service.isStream else {
                messages.append(frame)
                continue
            }
            if !messages.isEmpty { decode(.frames(messages)) }
            messages = []
            if frame.frame.type == .control { decode(.frames([frame])) }
            collector.receive(frame)
            carryOut()
        }
        if !messages.isEmpty { decode(.frames(messages)) }
    }

    private mutating func decode(_ item: TapItem) {
        decoder.receive(item, into: &entries)
        for entry in entries { collector.receive(entry) }
        entries.removeAll(keepingCapacity: true)
        carryOut()
    }

    /// Nothing follows.
    mutating func finish() {
        decoder.finish(into: &entries)
        for entry in entries { collector.receive(entry) }
        collector.finish()
        carryOut()
    }

    // MARK: What becomes of it

    private mutating func carryOut() {
        for event in collector.takeEvents() {
            switch event {
            case .began(let id, let item): begin(id, item)
            case .entry(let id, let bytes): if videos.contains(id) { port?.entry(id, bytes) }
            case .bytes(let id, let bytes, let place):
                write(id, bytes, at: place)
                if videos.contains(id) { port?.picture(id, bytes) }
            case .ended(let id, let item, let summary): end(id, item, summary)
            }
        }
    }

    private mutating func begin(_ id: MediaID, _ item: MediaItem) {
        if item.kind == .video {
            videos.insert(id)
            port?.began(id)
        }
        guard policy.saved.contains(item.kind) else { return }
        do throws(MediaFailure) {
            guard folder != nil else { throw MediaTaps.noFolder }
            let file = try folder?.create(item.fileName, at: "\(Timestamp(item.began))")
            files[id] = file
            progress.withLock {
                $0.files += 1
                $0.open += 1
            }
        } catch {
            failed[id] = false
            tell(error)
        }
    }

    private mutating func write(_ id: MediaID, _ bytes: ByteBuffer, at place: Int) {
        guard let file = files[id] else { return }
        do throws(MediaFailure) {
            try folder?.write(bytes, at: place, to: file)
            progress.withLock {
                $0.bytes += bytes.readableBytes
                $0.problem = nil
            }
        } catch {
            // What is there stays, and is whole up to its end; a file of nothing helps nobody.
            files[id] = nil
            let isEmpty = file.bytes == 0
            failed[id] = !isEmpty
            if isEmpty { folder?.remove(file) }
            progress.withLock {
                $0.open -= 1
                if isEmpty { $0.files -= 1 }
            }
            tell(error)
        }
    }

    private mutating func end(_ id: MediaID?, _ item: MediaItem, _ summary: MediaSummary) {
        if let id, videos.remove(id) != nil { port?.ended(id) }
        let file = id.flatMap { files.removeValue(forKey: $0) }
        if file != nil { progress.withLock { $0.open -= 1 } }
        guard policy.saved.contains(item.kind) else { return }
        if let isPartlyThere = id.flatMap({ failed.removeValue(forKey: $0) }) {
            // Why has been said when it began.
            let words = isPartlyThere ? "not written to its end" : "not written"
            return logger.warning("\(item.fileName): \(words)")
        }
        var words: [String] = []
        if let file {
            words.append("\(file.path): \(Quantity.text(bytes: summary.bytes))")
            if file.isRemoved { words.append("removed while it was being written") }
        } else {
            let owner = PrintableText.string(item.appName ?? "an app")
            words.append("\(item.kind.rawValue) from \(owner) was not written")
        }
        if let isRight = summary.isChecksumRight { words.append("crc \(isRight ? "ok" : "wrong")") }
        words += summary.problems.map { "\($0)" }
        logger.info("\(words.joined(separator: "; "))")
    }

    /// Once until something else is to be said, or something has been written again.
    private func tell(_ failure: MediaFailure) {
        let isNews = progress.withLock { progress in
            defer { progress.problem = failure.description }
            return progress.problem == nil
        }
        if isNews { logger.error("\(failure)") }
    }
}
