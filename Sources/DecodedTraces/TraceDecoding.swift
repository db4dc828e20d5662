import RelayCore
import SDLProtocol
package import SDLTraffic
package import Traces

/// Decodes entries of a trace as relayd decodes live traffic: the same messages with the same numbers,
/// counted from 1, by the recording's own clock.
///
/// Memory does not grow with the trace, whatever it contains: see `TrafficDecoder` for the bounds on sessions
/// and requests, and `maximumApps` for apps.
package struct TraceDecoding {
    private var decoder: TrafficDecoder
    private var now: WallTime?
    /// When to check next what has become due.
    private var nextLook = Int64.min
    private var began: WallTime?
    /// Whether the trace has records of the ends of audio and video services.
    private var tellsServiceEnds = true
    /// The apps that have not left.
    private var apps: Set<AppID> = []
    /// Frames of apps beyond `maximumApps`, which are not decoded.
    package private(set) var leftOutFrames = 0
    private var leftOutBytes = 0

    /// Apps at the same time; relayd itself has places for 300 unless configured otherwise. Frames of further
    /// apps are not decoded, and reported as missed at the end.
    package static let maximumApps = 1024
    /// Nanoseconds of the recording between two checks of what is due: delays are reported with this
    /// precision.
    private static let look: Int64 = 50_000_000
    /// Maximum deadlines between two frames; more would mean that the clock makes no sense.
    private static let maximumDue = 4096

    /// - Parameter isValidating: Whether RPCs are compared with the specification.
    package init(isValidating: Bool = true) {
        decoder = TrafficDecoder(validator: isValidating ? .builtIn : nil)
    }

    /// Appends the entry's messages, after everything that has become due before it.
    package mutating func receive(_ entry: TraceEntry, into entries: inout [TrafficEntry]) {
        if case .record(let record) = entry.content {
            switch record {
            case .trace(let header):
                if began == nil { began = entry.time }
                tellsServiceEnds = header.events.contains(TraceHeader.serviceEnds)
                return
            case .linkOpened, .appConnected:
                // The connections existed before: answers may belong to requests that were not recorded.
                if let began, entry.time < began { decoder.beginsInTheMiddle(at: began) }
            default: break
            }
        }
        advance(to: entry.time, into: &entries)
        guard let item = entry.item, admit(entry) else { return }
        if !tellsServiceEnds, let end = Self.serviceEnd(entry) {
            decoder.receive(end, into: &entries)
        }
        decoder.receive(item, into: &entries)
        if case .record(.appLeft(let app, _)) = entry.content { apps.remove(app) }
    }

    /// The end of an audio or video service, derived from the frame that confirms it: older traces have no
    /// record of it. Everything else relies on the router's report.
    private static func serviceEnd(_ entry: TraceEntry) -> TapItem? {
        guard let tapped = entry.frame, let app = tapped.app,
            tapped.frame.controlType == .endServiceACK, tapped.frame.service.isStream,
            tapped.isControlToRelay || tapped.fate.isPeers || tapped.fate == .byRelay
        else { return nil }
        let end = SessionEvent.serviceEnded(
            tapped.frame.service, session: tapped.frame.sessionID)
        return .session(end, app, time: entry.time)
    }

    /// At the end of the trace, appends what was counted and not reported yet.
    package mutating func finish(into entries: inout [TrafficEntry]) {
        if leftOutFrames > 0 {
            decoder.receive(.missed(frames: leftOutFrames, bytes: leftOutBytes), into: &entries)
            (leftOutFrames, leftOutBytes) = (0, 0)
        }
        decoder.finish(into: &entries)
    }

    /// Admits a new app, or counts the frames of an app beyond the maximum as left out.
    ///
    /// - Returns: Whether to decode the entry.
    private mutating func admit(_ entry: TraceEntry) -> Bool {
        guard let app = entry.app, !apps.contains(app) else { return true }
        guard apps.count >= Self.maximumApps else {
            apps.insert(app)
            return true
        }
        if case .frame(let tapped, _, _) = entry.content {
            leftOutFrames += 1
            leftOutBytes =
                leftOutBytes.addingReportingOverflow(tapped.frame.payloadBytes)
                .partialValue
        }
        return false
    }

    private mutating func advance(to time: WallTime, into entries: inout [TrafficEntry]) {
        guard time.nanoseconds >= nextLook || time < now ?? time else { return }
        now = time
        nextLook = time.nanoseconds.addingReportingOverflow(Self.look).partialValue
        var last = Int64.min
        for _ in 0..<Self.maximumDue {
            guard let due = decoder.nextDeadline, due < time, due.nanoseconds > last else { return }
            last = due.nanoseconds
            decoder.advance(to: due, into: &entries)
        }
    }
}
