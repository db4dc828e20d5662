import DecodedTraces
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces

@Suite("When an audio or video service is over, a trace says, or in an older one its frames")
struct ServiceEndTests {
    private static let app = AppID(rawValue: 1)
    private static let start = WallTime(nanoseconds: 1_795_257_067_000_000_000)

    private static func frame(
        _ frame: Frame, _ direction: Direction = .fromApp, fate: FrameFate = .forwarded
    ) -> TraceEntry {
        let tapped = TappedFrame(
            frame: frame, direction: direction, app: app, time: start, fate: fate,
            grant: frame == .startServiceACK(session: 1) ? .opens : nil)
        return TraceEntry(time: start, content: .frame(tapped, omitted: 0, isMasked: false))
    }

    private static func record(_ record: TraceRecord) -> TraceEntry {
        TraceEntry(time: start, content: .record(record))
    }

    /// Whether the totals say that video has ended, after each entry of a conversation.
    private static func ends(_ events: [String], _ conversation: [TraceEntry]) -> [Bool] {
        var header = TraceHeader(program: "relayd", accessory: "tcp:", started: "")
        header.events = events
        var decoding = TraceDecoding(isValidating: false)
        var entries: [TrafficEntry] = []
        for entry in [
            record(.trace(header)), record(.linkOpened(number: 1, address: "tcp:")),
            record(.appConnected(app, peer: "p")), frame(.startService()),
            frame(.startServiceACK(session: 1), .fromAccessory),
            frame(.control(.startService, service: .video, session: 1)),
            frame(.control(.startServiceACK, service: .video, session: 1), .fromAccessory),
            frame(.data(session: 1, service: .video, bytes: 100)),
        ] {
            decoding.receive(entry, into: &entries)
        }
        return conversation.map { entry in
            decoding.receive(entry, into: &entries)
            return entries.contains {
                if case .stream(let summary) = $0.content { summary.isFinal } else { false }
            }
        }
    }

    private static let end = frame(.control(.endService, service: .video, session: 1))
    private static let refusal = frame(
        .control(.endServiceNAK, service: .video, session: 1), .fromAccessory)
    private static let answer = frame(
        .control(.endServiceACK, service: .video, session: 1), .fromAccessory)

    @Test("a trace that tells it is taken at its word") func told() {
        let ended = TraceRecord.serviceEnded(Self.app, session: 1, .video)
        #expect(
            Self.ends([TraceHeader.serviceEnds], [Self.end, Self.answer, Self.record(ended)])
                == [false, false, true])
    }

    @Test("in an older one it is over with the EndServiceACK of either side") func derived() {
        #expect(
            Self.ends([], [Self.end, Self.refusal, Self.end, Self.answer])
                == [false, false, false, true])
        let dropped = Self.frame(
            .control(.endServiceACK, service: .video, session: 1), .fromAccessory,
            fate: .dropped(.lateWords(1)))
        let own = Self.frame(.control(.endServiceACK, service: .video, session: 1))
        #expect(Self.ends([], [dropped, own]) == [false, true])
    }
}
