import ControlAPI
import Synchronization
import Testing

@testable import relayd

/// The names of the stopped scenarios, in order.
private final class Stopped: Sendable {
    private let all = Mutex<[String]>([])

    var names: [String] { all.withLock { $0 } }

    func add(_ name: String) { all.withLock { $0.append(name) } }
}

@Suite("The place of the scenario that runs") struct RunningScenarioTests {
    private let running = RunningScenario()
    private let stopped = Stopped()

    private func stop(_ name: String) -> @Sendable (String) -> Void {
        { [stopped] reason in stopped.add("\(name): \(reason)") }
    }

    @Test("there is one, and who comes second hears its name")
    func one() throws {
        let place = try running.begin("first")
        let error = #expect(throws: APIError.self) { try running.begin("second") }
        #expect(error?.error.code == .conflict)
        #expect(error?.error.message.contains("\"first\" is running") == true)
        #expect(running.name == "first")
        place.giveBack()
        #expect(running.name == nil)
        let next = try running.begin("second")
        // Given back a second time, as by a request that ends late: the place no longer belongs to it.
        place.giveBack()
        #expect(running.name == "second")
        withExtendedLifetime(next) {}
    }

    @Test("a place that nobody has any more is free: its client left before it could begin")
    func dropped() throws {
        do {
            let place = try running.begin("first")
            #expect(running.name == "first")
            withExtendedLifetime(place) {}
        }
        #expect(running.name == nil)
    }

    @Test("it is stopped by whoever asks, also before it can be; nobody stops the next one so")
    func stopping() throws {
        #expect(running.stop("enough") == nil)
        let place = try running.begin("first")
        #expect(running.stop("enough") == "first")
        place.stops(with: stop("first"))
        #expect(stopped.names == ["first: enough"])
        place.giveBack()
        let next = try running.begin("second")
        place.stops(with: stop("too late"))
        next.stops(with: stop("second"))
        #expect(stopped.names == ["first: enough"])
        #expect(running.stop("enough") == "second")
        #expect(stopped.names == ["first: enough", "second: enough"])
    }
}
