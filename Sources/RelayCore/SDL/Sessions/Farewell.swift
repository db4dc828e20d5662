import NIOCore
import SDLProtocol

/// The goodbye of one session, from the moment its end is decided to the head unit's answer.
///
/// In running order: what the app said last goes out, its half messages are ended, the app is
/// unregistered if it is to go for good, its turn comes, and EndService is said.
///
/// Pure: `SessionRouter` says the words and tells what came back. The order is what was measured with
/// sdl_core 8.2.0: it answers what it is told in one go with an end that it has already carried out,
/// with message ID 0 or in the next app's session, and calls an app that did not wait for the answer
/// to Unregister unexpectedly disconnected.
struct Farewell<App: Hashable>: Hashable {
    enum Step: Hashable {
        /// The head unit has ended the session; its app may answer by itself.
        case awaitingApp
        /// Frames of the session still wait for the link.
        case draining
        /// Half messages were ended, and the head unit has not answered all of them.
        case endingMessages
        /// UnregisterAppInterface was said.
        case unregistering
        /// The head unit holds a half message that cannot be ended; nobody may have the number
        /// until it has forgotten it.
        case holding
        /// Only EndService is left, which may have to wait for others.
        case waitingTurn
        /// EndService was said.
        case ending
    }

    var step: Step
    /// Whose session it is, or was.
    var app: App?
    /// The app is to be forgotten for good. One that vanished is not: the head unit keeps what it
    /// needs to resume, as it does after a crash without a relay.
    var unregisters = false
    /// Nobody waited for the grant. The half messages are those of the app that had the number before.
    var isUnclaimed = false
    /// EndService waits until all other goodbyes of a stopping relay have come as far.
    var isOfStop = false
    /// The head unit has ended the session by itself, so it may grant the number at once.
    var answersHeadUnit = false
    /// The app's own EndService, to be said in the place of relayd's, or its answer to that of the
    /// head unit. sdl_core looks only at the hash of either: each ends whoever has the number then.
    var ownEnd: Frame?
    /// EndService has been written to the link.
    var isEndWritten = false
    /// Half messages were ended whose answers have not come.
    var answersDue = 0
    /// See `Step.holding`.
    var mustHold = false
    /// When the step is over without an answer; nil until its words have been written.
    var deadline: NIODeadline?

    /// How long to wait for the answer to what was said in a step.
    static func patience(in step: Step, _ configuration: RelayConfiguration) -> TimeAmount? {
        switch step {
        case .endingMessages: configuration.messageEndTimeout
        case .unregistering: configuration.unregisterTimeout
        case .ending: configuration.endServiceTimeout
        case .awaitingApp, .draining, .holding, .waitingTurn: nil
        }
    }

    /// Whether the frame is what is said in the present step. The head unit's time to answer begins
    /// when that has been written, and with nothing else: the answer to a heartbeat overtakes it on a
    /// busy link, and comes again for as long as the head unit has not heard the end.
    func isSaid(by frame: Frame) -> Bool {
        switch step {
        case .endingMessages: frame.type == .consecutive
        case .unregistering: frame.type == .single
        case .ending:
            frame.service == .rpc
                && (frame.controlType == .endService || isAcknowledged && frame.isEndServiceACK)
        case .awaitingApp, .draining, .holding, .waitingTurn: false
        }
    }

    /// The app has answered the head unit's EndService with the hash: nothing is to be said behind it,
    /// and nobody answers.
    var isAcknowledged: Bool { ownEnd?.isEndServiceACK ?? false }

    /// The others of a stop need not wait for it any more.
    var isReadyToEnd: Bool { step == .waitingTurn || step == .ending }
}

extension Frame {
    fileprivate var isEndServiceACK: Bool { controlType == .endServiceACK }
}
