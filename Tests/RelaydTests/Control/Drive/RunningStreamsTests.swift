import SDLProtocol
import Testing

@testable import relayd

@Suite("The streams that relayd sends in the place of apps")
struct RunningStreamsTests {
    private let running = RunningStreams()
    private let video = RunningStreams.Key(app: 1, service: .video)

    @Test("of two of one app and service, each is stopped, whichever ends first")
    func two() {
        // In two sessions of the app, or after the head unit has ended the first.
        let first = running.begin(video) {}
        let second = running.begin(video) {}
        running.end(video, first)
        #expect(running.stop(video))
        #expect(second.isSet && !first.isSet)
        running.end(video, second)
        #expect(!running.stop(video))
    }

    @Test(
        "when driving is turned off, all of them are stopped, and nothing of other services before")
    func all() {
        let stops = [
            running.begin(video) {}, running.begin(video) {},
            running.begin(.init(app: 1, service: .audio)) {},
        ]
        #expect(running.stop(.init(app: 1, service: .audio)))
        #expect(stops.map(\.isSet) == [false, false, true])
        running.stopAll()
        #expect(stops.map(\.isSet) == [true, true, true])
    }
}
