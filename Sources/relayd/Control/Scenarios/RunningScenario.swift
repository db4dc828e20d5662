import ControlAPI
import Scenarios
import Synchronization

/// The scenario that relayd runs. One at a time: two would mistake each other's messages for their
/// own.
final class RunningScenario: Sendable {
    private struct State {
        var place: UInt64?
        var name = ""
        var stop: (@Sendable (_ reason: String) -> Void)?
        /// Why somebody has ended it.
        var reason: String?
        var lastPlace: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The name of the running scenario; nil if there is none.
    var name: String? { state.withLock { $0.place == nil ? nil : $0.name } }

    /// The right to run a scenario, which is free again when it is given back or released.
    final class Place: Sendable {
        private let number: UInt64
        private let running: RunningScenario

        fileprivate init(_ number: UInt64, _ running: RunningScenario) {
            (self.number, self.running) = (number, running)
        }

        /// Sets the function that ends the scenario; called at once if somebody has ended it
        /// already.
        func stops(with stop: @escaping @Sendable (_ reason: String) -> Void) {
            let reason = running.state.withLock { state -> String? in
                guard state.place == number else { return nil }
                state.stop = stop
                return state.reason
            }
            if let reason { stop(reason) }
        }

        func giveBack() {
            running.state.withLock { state in
                if state.place == number { (state.place, state.stop) = (nil, nil) }
            }
        }

        deinit { giveBack() }
    }

    /// - Throws: `APIError` that names the running scenario.
    func begin(_ name: String) throws(APIError) -> Place {
        let (number, other) = state.withLock { state -> (UInt64, String?) in
            guard state.place == nil else { return (0, state.name) }
            state.lastPlace += 1
            (state.place, state.name, state.reason) = (state.lastPlace, name, nil)
            return (state.lastPlace, nil)
        }
        if let other {
            throw APIError(
                .conflict,
                "the scenario \"\(other)\" is running or being ended, and there is one at a time; "
                    + "DELETE \(Routes.scenarioRun) ends it")
        }
        return Place(number, self)
    }

    /// - Returns: The name of the scenario that was told to end; nil if there was none.
    func stop(_ reason: String) -> String? {
        let (name, stop) = state.withLock { state in
            state.reason = reason
            return (state.place == nil ? nil : state.name, state.stop)
        }
        stop?(reason)
        return name
    }
}
