package import ControlAPI

/// What a scenario asks whoever runs it to do; each is answered with a `ScenarioReply`.
package enum ScenarioAction: Sendable, Equatable {
    /// Have the app be there; answered with its number.
    case start(Scenario.App)
    /// Say this to the app in the head unit's place: an RPC, or a short form with its words.
    case inject(ScenarioTarget, words: String, parameters: AnyJSON?)
    /// Answer a request of an app that was not passed on.
    case respond(app: Int, rpc: String, correlationID: Int, parameters: AnyJSON)
    /// Send this to the head unit in the app's place.
    case send(ScenarioTarget, rpc: String, parameters: AnyJSON?, patience: Duration)
    case addFault(filter: String, action: String)
    case addLinkFault(String)
    case removeFault(Int)
    case disconnect(ScenarioTarget)
}

/// An app, as it can be found.
package struct ScenarioTarget: Sendable, Equatable {
    package var role: String
    /// Number of its connection, when a message has told it.
    package var connection: Int?
    /// Name or app ID, or a part of it; "*" for any.
    package var pattern: String
}

package enum ScenarioReply: Sendable, Equatable {
    case done
    /// The number of the app's connection, when it is known.
    case started(Int?)
    /// The RPC that was said last.
    case said(rpc: String)
    case answered(success: Bool, resultCode: String, parameters: AnyJSON)
    case faultAdded(Int?)
    /// It was not done, which is a failure of the step: no such app, no answer.
    case refused(String)
    /// It cannot be done here: relayd is gone, driving is off, a parameter is wrong.
    case unusable(String)
}

/// An action with the number that its reply has to name.
package struct ScenarioRequest: Sendable, Equatable {
    package var id: Int
    package var action: ScenarioAction
}
