package import ControlAPI

/// The relayd that a scenario is run against: what a run needs of it, in the words of the control API.
/// `ScenarioPerformer` asks it, one thing after the other. relayctl does these things by the control socket,
/// relayd with its own handlers.
package protocol ScenarioBench: Sendable {
    /// Those that are there.
    func apps() async throws(ScenarioBenchError) -> [AppStatus]
    /// The voice commands and menu entries that the app has added.
    func commands(of app: Int) async throws(ScenarioBenchError) -> [CommandReport]
    /// Says it to the app in the head unit's place.
    func inject(_ request: DriveRequest, to app: Int) async throws(ScenarioBenchError)
    /// Sends it to the head unit in the app's place; returns with its answer, or at once when the task is cancelled.
    func send(
        _ request: DriveRequest, as app: Int
    ) async throws(ScenarioBenchError) -> DriveReport
    /// Returns the numbers of the rules when they are in force.
    func addFaults(_ request: FaultRequest) async throws(ScenarioBenchError) -> [Int]
    /// One that is not there any more is as good as removed.
    func removeFault(_ rule: Int) async throws(ScenarioBenchError)
    func disconnect(_ app: Int) async throws(ScenarioBenchError)
    /// Returns the app's number when it is registered. In a task that is cancelled it throws at once, and the app
    /// is gone.
    func register(_ app: OwnAppRequest) async throws(ScenarioBenchError) -> Int?
    /// It may have left by itself.
    func leave(_ name: String) async
    /// Returns when the sample app has connected; what it does then is in the messages.
    func startSample(_ name: String, appID: String) async throws(ScenarioBenchError)
    /// Has all of them leave.
    func endSamples() async
}

/// Why the bench has not done what it was asked for, in words for people.
package enum ScenarioBenchError: Error, Sendable, Equatable {
    /// Which is a failure of the step: no such app, no answer.
    case refused(String)
    /// It cannot be done here: relayd is gone, driving is off, a parameter is wrong.
    case unusable(String)

    /// Of what relayd has answered.
    package init(_ code: APIError.Code?, _ message: String) {
        switch code {
        case .notFound, .ambiguous, .conflict, .noAnswer: self = .refused(message)
        default: self = .unusable(message)
        }
    }
}
