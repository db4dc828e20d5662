package import ControlAPI

/// The relayd that a scenario runs against: what a run needs of it, in the terms of the control API.
/// `ScenarioPerformer` calls it, one request after the other. relayctl implements it with the control
/// socket, relayd with its own handlers.
package protocol ScenarioBench: Sendable {
    /// The connected apps.
    func apps() async throws(ScenarioBenchError) -> [AppStatus]
    /// The voice commands and menu entries that the app has added.
    func commands(of app: Int) async throws(ScenarioBenchError) -> [CommandReport]
    /// Sends the RPC to the app in place of the head unit.
    func inject(_ request: DriveRequest, to app: Int) async throws(ScenarioBenchError)
    /// Sends the RPC to the head unit in place of the app; returns its answer, or at once if the task is cancelled.
    func send(
        _ request: DriveRequest, as app: Int
    ) async throws(ScenarioBenchError) -> DriveReport
    /// Returns the numbers of the rules once they are in force.
    func addFaults(_ request: FaultRequest) async throws(ScenarioBenchError) -> [Int]
    /// Removes a rule; one that no longer exists counts as removed.
    func removeFault(_ rule: Int) async throws(ScenarioBenchError)
    func disconnect(_ app: Int) async throws(ScenarioBenchError)
    /// Returns the app's number once it is registered. If the task is cancelled, it throws at once, and the app
    /// is gone.
    func register(_ app: OwnAppRequest) async throws(ScenarioBenchError) -> Int?
    /// Makes the app leave; it may have left by itself.
    func leave(_ name: String) async
    /// Returns when the sample app has connected; what it then does shows up in the messages.
    func startSample(_ name: String, appID: String) async throws(ScenarioBenchError)
    /// Makes all sample apps leave.
    func endSamples() async
}

/// Why the bench did not do what it was asked, in words for people.
package enum ScenarioBenchError: Error, Sendable, Equatable {
    /// The request failed, and with it the step: no such app, no answer.
    case refused(String)
    /// It cannot be done here: relayd is gone, driving is off, a parameter is wrong.
    case unusable(String)

    /// Makes the error from relayd's answer.
    package init(_ code: APIError.Code?, _ message: String) {
        switch code {
        case .notFound, .ambiguous, .conflict, .noAnswer: self = .refused(message)
        default: self = .unusable(message)
        }
    }
}
