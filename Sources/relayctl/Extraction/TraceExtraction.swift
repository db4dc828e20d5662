import ControlAPI
import DecodedTraces
import Media
import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// Writes what the collector finds in a trace into a folder, for `relayctl trace extract`.
struct TraceExtraction: ~Copyable {
    private var folder: ExtractionFolder
    private var collector: MediaCollector
    private var decoding = TraceDecoding(isValidating: false)
    private var decoded: [TrafficEntry] = []
    private var files: [MediaID: ExtractedFile] = [:]
    private(set) var report: ExtractionReport

    /// More files than this make a folder unwieldy; further ones are only counted.
    private static let maximumFiles = 10_000
    /// Maximum number of items reported per kind.
    private static let maximumLeft = 1000

    init(to path: String, _ collector: MediaCollector) throws(TraceFailure) {
        folder = try ExtractionFolder(path)
        self.collector = collector
        report = ExtractionReport(folder: path)
    }

    mutating func receive(_ entry: TraceEntry) throws(TraceFailure) {
        if case .record(.trace(let header)) = entry.content {
            collector.isBulkMasked = header.masked.contains { Names.areSame($0, "bulk") }
        }
        decoding.receive(entry, into: &decoded)
        takeDecoded()
        if case .frame(let tapped, let omitted, _) = entry.content {
            collector.receive(tapped, omitted: omitted)
        }
        try write()
    }

    mutating func finish() throws(TraceFailure) {
        decoding.finish(into: &decoded)
        takeDecoded()
        collector.finish()
        try write()
    }

    private mutating func takeDecoded() {
        for entry in decoded { collector.receive(entry) }
        decoded.removeAll(keepingCapacity: true)
    }

    private mutating func write() throws(TraceFailure) {
        for event in collector.takeEvents() {
            switch event {
            case .began(let id, _):
                guard report.files.count + files.count < Self.maximumFiles else {
                    report.more = Units.sum([report.more, 1])
                    continue
                }
                files[id] = try folder.make()
            case .entry: break
            case .bytes(let id, let bytes, let place): try files[id]?.write(bytes, at: place)
            case .ended(let id, let item, let summary): try end(id, item, summary)
            }
        }
    }

    private mutating func end(
        _ id: MediaID?, _ item: MediaItem, _ summary: MediaSummary
    ) throws(TraceFailure) {
        var told = ExtractionReport.Item(item, summary)
        guard let id else {
            if report.left.count < Self.maximumLeft { report.left.append(told) }
            return
        }
        guard let file = files.removeValue(forKey: id) else { return }
        do throws(TraceFailure) {
            told.file = try folder.keep(file, as: item.fileName)
        } catch {
            folder.drop(file)
            throw error
        }
        report.files.append(told)
    }

    deinit {
        for file in files.values { folder.drop(file) }
    }
}

extension ExtractionReport.Item {
    fileprivate init(_ item: MediaItem, _ summary: MediaSummary) {
        self.init(
            kind: item.kind.rawValue, app: item.appName, title: item.title, format: item.format,
            bytes: summary.bytes, seconds: Double(summary.duration / 1_000_000) / 1000,
            pictures: summary.pictures, keyPictures: summary.keyPictures,
            crc: summary.isChecksumRight.map { $0 ? "ok" : "wrong" },
            problems: summary.problems.map { .init(code: $0.code, text: "\($0)") })
    }
}
