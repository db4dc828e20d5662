import ControlAPI
import Logging
import Media
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic
import Synchronization

/// The progress of the media taps, for the status.
struct MediaProgress: Sendable {
    /// Files that were begun, and bytes written to them.
    var files = 0
    var bytes = 0
    /// Files that are being written.
    var open = 0
    /// Frames that passed without being seen.
    var missedFrames = 0
    /// Why the last write failed; nil once a write succeeds again.
    var problem: String?
}

/// Extracts media from the items of its queue, and passes them to a folder and to players. Runs on a
/// thread of its own, because writing blocks; while the disk hangs it misses frames, and nobody waits.
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
    /// Media whose file could not be written further, and whether a part of each exists.
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
        // Responses may belong to requests that passed before.
        decoder.beginsInTheMiddle(at: .now())
    }

    // MARK: Traffic

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

    /// Decodes all frames but audio and video, in the order in which they passed.
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

    /// Called at the end of the traffic.
    mutating func finish() {
        decoder.finish(into: &entries)
        for entry in entries { collector.receive(entry) }
        collector.finish()
        carryOut()
    }

    // MARK: Results

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
            // The written part stays, and is complete up to its end; an empty file is of no use.
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
            // The reason was logged when the failure began.
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

    /// Logs the failure once, until a write has succeeded again.
    private func tell(_ failure: MediaFailure) {
        let isNews = progress.withLock { progress in
            defer { progress.problem = failure.description }
            return progress.problem == nil
        }
        if isNews { logger.error("\(failure)") }
    }
}
