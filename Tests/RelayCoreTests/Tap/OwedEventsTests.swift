import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What a full queue owes is told once, and in an order that makes sense")
struct OwedEventsTests {
    private let time = WallTime(nanoseconds: 1)
    private let radio = AppID(rawValue: 1)
    private let map = AppID(rawValue: 2)

    private func connected(_ app: AppID) -> TapItem {
        .appConnected(app, peer: "127.0.0.1:5000", time: time)
    }

    private func closed(_ app: AppID) -> TapItem { .appClosed(app, reason: "left", time: time) }

    private func ended(_ session: UInt8, _ app: AppID) -> TapItem {
        .session(.ended(session), app, time: time)
    }

    private func sent(_ app: AppID) -> TapItem { .session(.startSent, app, time: time) }

    /// The events that are told of these.
    private func told(_ events: TapItem...) -> [String] {
        var owed = OwedEvents()
        for event in events { owed.note(event) }
        let told = owed.take().map(words)
        #expect(owed.isEmpty && owed.take().isEmpty)
        return told
    }

    private func words(_ event: TapItem) -> String {
        switch event {
        case .appConnected(let app, _, _): "\(app) came"
        case .appClosed(let app, _, _): "\(app) left"
        case .session(.startSent, let app, _): "\(app) asked"
        case .session(.serviceEnded(let service, let session), let app, _):
            "\(service.name) of session \(session) of \(app) ended"
        case .session(let event, let app, _):
            "session \(event.session.map { "\($0)" } ?? "-") of \(app) ended"
        case .linkOpened(let number, _, _): "link \(number) opened"
        case .linkClosed: "link closed"
        case .noted(let note, _): note.text
        case .frames, .bytes, .missed, .noticed: "\(event)"
        }
    }

    @Test("a number that two apps have had ends for both")
    func sameNumber() {
        #expect(
            told(ended(5, radio), ended(5, map), ended(4, map), ended(5, radio)) == [
                "session 5 of \(radio) ended", "session 4 of \(map) ended",
                "session 5 of \(map) ended",
            ])
    }

    @Test("the sessions of an app that has left ended with it")
    func left() {
        #expect(
            told(ended(5, radio), ended(6, map), closed(radio)) == [
                "\(radio) left", "session 6 of \(map) ended",
            ])
    }

    @Test("of an app whose arrival is still owed nobody has seen a session")
    func unseen() {
        #expect(told(connected(radio), ended(5, radio)) == ["\(radio) came"])
        #expect(told(connected(radio), ended(5, radio), closed(radio)) == [])
    }

    @Test("a service ends before its session does")
    func services() {
        let video = TapItem.session(.serviceEnded(.video, session: 5), radio, time: time)
        #expect(
            told(ended(5, radio), video, video) == [
                "video of session 5 of \(radio) ended", "session 5 of \(radio) ended",
            ])
        #expect(told(video, closed(radio)) == ["\(radio) left"])
    }

    @Test("that a StartService was sent is told once for each app, and not of one that has left")
    func starts() {
        #expect(told(sent(map), sent(radio), sent(map)) == ["\(radio) asked", "\(map) asked"])
        #expect(told(sent(map), closed(map)) == ["\(map) left"])
        #expect(told(connected(radio), sent(radio)) == ["\(radio) came"])
    }

    @Test("with the link all sessions end, and those of the next one are told behind it")
    func links() {
        let close = TapItem.linkClosed(reason: "unplugged", time: time)
        let open = TapItem.linkOpened(number: 2, address: "sim:", time: time)
        #expect(told(ended(5, radio), close) == ["link closed"])
        #expect(
            told(ended(5, radio), close, open, connected(map)) == [
                "link closed", "link 2 opened", "\(map) came",
            ])
    }

    @Test("what somebody noted comes last, and of many notes the latest")
    func notes() {
        func note(_ text: String) -> TapItem { .noted(.mark(text), time: time) }
        #expect(told(note("here"), connected(map)) == ["\(map) came", "here"])
        var owed = OwedEvents()
        for number in 1...100 { owed.note(note("\(number)")) }
        #expect(owed.take().map(words) == (37...100).map(String.init))
    }
}
