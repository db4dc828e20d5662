package import ControlAPI

/// What a scenario asks its runner to do; each action is answered with a `ScenarioReply`.
package enum ScenarioAction: Sendable, Equatable {
    /// Start the app; answered with its number.
    case start(Scenario.App)
    /// Send this to the app in place of the head unit: an RPC, or a short form with its words.
    case inject(ScenarioTarget, words: String, parameters: AnyJSON?)
    /// Answer a request of an app that was not passed on.
    case respond(app: Int, rpc: String, correlationID: Int, parameters: AnyJSON)
    /// Send this to the head unit in place of the app.
    case send(ScenarioTarget, rpc: String, parameters: AnyJSON?, patience: Duration)
    case addFault(filter: String, action: String)
    case addLinkFault(String)
    case removeFault(Int)
    case disconnect(ScenarioTarget)
}

/// How to find an app.
package struct ScenarioTarget: Sendable, Equatable {
    package var role: String
    /// Number of its connection, if a message has shown it.
    package var connection: Int?
    /// Name or app ID, or a part of it; "*" for any.
    package var pattern: String
}

package enum ScenarioReply: Sendable, Equatable {
    case done
    /// The number of the app's connection, if known.
    case started(Int?)
    /// The last RPC that was sent.
    case said(rpc: String)
    case answered(success: Bool, resultCode: String, parameters: AnyJSON)
    case faultAdded(Int?)
    /// It was not done, and the step fails: no such app, no answer.
    case refused(String)
    /// It cannot be done here: relayd is gone, driving is off, a parameter is wrong.
    case unusable(String)
}

/// An action, with the number its reply has to carry.
package struct ScenarioRequest: Sendable, Equatable {
    package var id: Int
    package var action: ScenarioAction
}
