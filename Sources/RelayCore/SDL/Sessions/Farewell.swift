import NIOCore
import SDLProtocol

/// The goodbye of one session, from the moment its end is decided to the head unit's answer.
///
/// In running order: the app's last frames go out, its half messages are ended, the app is
/// unregistered if it is to go for good, the session's turn comes, and EndService is sent.
///
/// Pure: `SessionRouter` sends the frames and reports the answers. The order follows measurements with
/// sdl_core 8.2.0: it answers requests sent in one go with an end only after it has carried out the
/// end, with message ID 0 or in the next app's session, and it calls an app that did not wait for the
/// answer to Unregister unexpectedly disconnected.
struct Farewell<App: Hashable>: Hashable {
    enum Step: Hashable {
        /// The head unit has ended the session; its app may answer by itself.
        case awaitingApp
        /// Frames of the session still wait for the link.
        case draining
        /// Half messages were ended, and the head unit has not answered all of them.
        case endingMessages
        /// UnregisterAppInterface was sent.
        case unregistering
        /// The head unit holds a half message that cannot be ended; no app may have the session number
        /// until the head unit has forgotten the message.
        case holding
        /// Only EndService is left, which may have to wait for others.
        case waitingTurn
        /// EndService was sent.
        case ending
    }

    var step: Step
    /// The app whose session it is, or was.
    var app: App?
    /// The head unit is to forget the app for good. Not so for an app that vanished, unless it left an
    /// encrypted half message: the head unit keeps what the app needs to resume, as it does after a
    /// crash without a relay.
    var unregisters = false
    /// Nobody waited for the grant. The half messages are those of the app that had the number before.
    var isUnclaimed = false
    /// EndService waits until all other goodbyes of a stopping relay have come this far.
    var isOfStop = false
    /// The head unit has ended the session by itself, so it may grant the number at once.
    var answersHeadUnit = false
    /// The app's own EndService, to be sent in place of relayd's, or its answer to that of the head
    /// unit. sdl_core looks only at the hash of either: each ends whichever session has the number
    /// then.
    var ownEnd: Frame?
    /// EndService has been written to the link.
    var isEndWritten = false
    /// The number of ended half messages whose answers have not come.
    var answersDue = 0
    /// See `Step.holding`.
    var mustHold = false
    /// When the step is over without an answer; nil until its frames have been written.
    var deadline: NIODeadline?

    /// How long to wait for the answer to what a step sent.
    static func patience(in step: Step, _ configuration: RelayConfiguration) -> TimeAmount? {
        switch step {
        case .endingMessages: configuration.messageEndTimeout
        case .unregistering: configuration.unregisterTimeout
        case .ending: configuration.endServiceTimeout
        case .awaitingApp, .draining, .holding, .waitingTurn: nil
        }
    }

    /// Whether the frame is what the present step sends. The head unit's time to answer begins when
    /// that frame has been written, and with no other: a heartbeat's answer overtakes it on a busy
    /// link, and is sent again for as long as the head unit has not heard the end.
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

    /// Whether the app has acknowledged the head unit's EndService. After `ending` has begun, only an
    /// acknowledgement with the hash counts: nothing is to be sent after it, and nobody replies to it.
    var isAcknowledged: Bool { ownEnd?.isEndServiceACK ?? false }

    /// Whether the other goodbyes of a stop need not wait for this one any more.
    var isReadyToEnd: Bool { step == .waitingTurn || step == .ending }
}

extension Frame {
    fileprivate var isEndServiceACK: Bool { controlType == .endServiceACK }
}
