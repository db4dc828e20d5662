// Messages of which the head unit has only the first frame, and the one answer to them that nobody can
// recognise and the model permits.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

/// Lone first frames that relayd ends in one go when each is 10 s old or more.
///
/// sdl_core gives up a message that has stood for 10 s when it gets any other frame; for one without an
/// RPC header, it answers whatever its memory held before. relayd ends such a message before the next
/// frame it writes. If several have reached this age while nothing at all was written, the end of the
/// first is that frame for the others: the answer to them cannot be told from an answer to the app that
/// has their session by then. relayd could end them earlier only with a timer, which would also end the
/// messages of apps that stand at a breakpoint alone with the head unit.
struct LoneFrames {
    private struct Message: Hashable {
        var session: UInt8
        var messageID: UInt32?
    }

    private var firstWritten: [Message: NIODeadline] = [:]
    private var ended: [Int] = []
    private var endedAt = NIODeadline.uptimeNanoseconds(0)
    /// Lives with a message that was ended together with others.
    private var lives: Set<Int> = []

    mutating func written(_ frame: Frame, of life: Int?, at now: NIODeadline) {
        let message = Message(session: frame.sessionID, messageID: frame.messageID)
        if frame.type == .first { firstWritten[message] = now }
        guard frame.type == .consecutive, let began = firstWritten[message] else { return }
        firstWritten[message] = nil
        guard let life, frame.info == 0, now - began >= SDLCoreHabits().halfTimeout,
            let header = RPCHeader(frame.payload),
            header.functionID == HalfMessages.Half.endingFunctionID
        else { return }
        if endedAt != now { ended = [] }
        endedAt = now
        ended.append(life)
        if ended.count > 1 { lives.formUnion(ended) }
    }

    /// Whether the answer may come from what memory held before, and is not the refusal of relayd's own end.
    func explain(_ answer: SDLCoreModel.Sent) -> Bool {
        lives.contains(answer.cause)
            && RPCHeader(answer.frame.payload)?.functionID != HalfMessages.Half.endingFunctionID
    }
}
