import DecodedTraces
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// Puts entries of several traces in order of time. Only the next entry of each trace is kept.
struct TraceMerge {
    /// One trace, and the position in it.
    private final class Input {
        let path: String
        private var files: TraceFiles
        private(set) var head: TraceEntry?
        /// Time for comparison, which never decreases: a file begins with entries from before it.
        private(set) var time = Int64.min

        init(_ path: String) throws(TraceFileError) {
            self.path = path
            files = TraceFiles([path], onEnd: TraceFailure.tellUnfinished)
            try advance()
        }

        func advance() throws(TraceFileError) {
            head = try files.nextEntry()
            time = max(time, head?.time.nanoseconds ?? .max)
        }
    }

    private let inputs: [Input]
    /// The input that reported each connected app, with the peer and the time.
    private var apps: [AppID: (input: Int, peer: String, time: WallTime)] = [:]
    private var link: (input: Int, number: Int, address: String)?
    /// Time up to which each input has been written.
    private var written: [Int: Int64] = [:]

    private static let maximumApps = 100_000

    init(_ paths: [String]) throws(TraceFileError) {
        var inputs: [Input] = []
        for path in paths { inputs.append(try Input(path)) }
        self.inputs = inputs
    }

    /// - Throws: `TraceFileError`, `TraceFailure`.
    mutating func write(to path: String) throws -> TraceEnd {
        let begins = inputs.compactMap { input -> (Int64, TraceHeader)? in
            guard case .record(.trace(let header)) = input.head?.content else { return nil }
            return (input.time, header)
        }
        guard let first = begins.min(by: { $0.0 < $1.0 }) else {
            throw TraceFailure("\(inputs[0].path) does not begin as a trace does")
        }
        var header = first.1
        if begins.contains(where: { $0.1.streams == .headers }) { header.streams = .headers }
        // Values masked in only some of the traces can still be read in the others.
        header.masked = header.masked.filter { name in
            begins.allSatisfy { $0.1.masked.contains(name) }
        }
        // Events that one of the traces does not report are read from its frames.
        header.events = header.events.filter { name in
            begins.allSatisfy { $0.1.events.contains(name) }
        }
        var output = try TraceOutput(
            path, header, deed: "merged", at: WallTime(nanoseconds: first.0))
        while let index = earliest(), let entry = inputs[index].head {
            for other in inputs.indices where other != index {
                if let head = inputs[other].head, head.isSame(as: entry) {
                    try inputs[other].advance()
                }
            }
            if try follow(entry, of: index) { try output.append(entry) }
            written[index] = inputs[index].time
            try inputs[index].advance()
        }
        return try output.finish(because: "merged")
    }

    private func earliest() -> Int? {
        var found: Int?
        for (index, input) in inputs.enumerated() where input.head != nil {
            if found.map({ input.time < inputs[$0].time }) ?? true { found = index }
        }
        return found
    }

    /// Keeps track of connected apps and the link.
    ///
    /// - Returns: Whether no other input has reported the entry yet.
    private mutating func follow(_ entry: TraceEntry, of index: Int) throws(TraceFailure) -> Bool {
        guard case .record(let record) = entry.content else {
            // Frames from before the start of one file may be in another.
            return entry.frame?.isEarlier != true
                || !written.contains { $0.key != index && $0.value >= entry.time.nanoseconds }
        }
        switch record {
        case .appConnected(let app, let peer):
            if let known = apps[app], known.input != index {
                if known.peer == peer, known.time == entry.time { return false }
                guard inputs[known.input].head == nil else {
                    throw differ("an app \(app) of its own", known.input, index)
                }
            }
            if apps.count < Self.maximumApps { apps[app] = (index, peer, entry.time) }
        case .appLeft(let app, _): apps[app] = nil
        case .linkOpened(let number, let address):
            if let link, link.input != index {
                if link.number == number, link.address == address { return false }
                guard inputs[link.input].head == nil else {
                    throw differ("a head unit of its own", link.input, index)
                }
            }
            link = (index, number, address)
        case .linkClosed: link = nil
        default: break
        }
        return true
    }

    private func differ(_ what: String, _ one: Int, _ other: Int) -> TraceFailure {
        TraceFailure(
            "\(inputs[one].path) and \(inputs[other].path) are of two relayds: each has \(what) at "
                + "the same time, and in one trace they could not be told apart")
    }
}

extension TraceEntry {
    /// Whether two recordings contain the same entry.
    fileprivate func isSame(as other: TraceEntry) -> Bool {
        guard time == other.time else { return false }
        switch (content, other.content) {
        case (.frame(let one, _, _), .frame(let two, _, _)):
            return one.app == two.app && one.direction == two.direction && one.fate == two.fate
                && one.frame == two.frame
        case (.bytes(let one), .bytes(let two)):
            return one.app == two.app && one.direction == two.direction
                && one.offset == two.offset && one.bytes == two.bytes
        case (.record(.gap), .record(.gap)): return false
        case (.record(let one), .record(let two)): return one == two
        default: return false
        }
    }
}
