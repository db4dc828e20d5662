// What the hub sends on the link by itself, and how much: checks of the model that need no account of
// who has which session.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

extension HubModel {
    func hasNewGrant(of session: UInt8, after life: Int) -> Bool {
        said.contains { said in
            said.sent.frame.controlType == .startServiceACK && said.sent.life != life
                && said.sent.frame.sessionID == session
        }
    }

    /// A standstill of the link for 3 s, and some time for the frames that had to wait.
    static let longestStandstill: TimeAmount = .seconds(6)

    /// Whether the StartService may still go out: of two equal ones, the other may be the one on the link.
    func mayStillGo(_ start: Start) -> Bool {
        !start.isOnLink
            || starts.contains {
                $0.app != start.app && $0.frame == start.frame && !$0.isOnLink
            }
    }

    /// Whether the hub has been given the head unit's end of this life, and so may have heard it.
    func hasHeardEnd(of life: Int) -> Bool {
        said.contains {
            $0.sent.life == life && $0.sent.frame.controlType == .endService
                && $0.sent.frame.service == .rpc
        }
    }

    /// The last frame that looks the same and came before any unused grant.
    func lastBeforeGrant(_ frame: Frame) -> CircularBuffer<Said>.Index? {
        let grant = said.firstIndex { $0.sent.frame.controlType == .startServiceACK }
        return said.indices.last { place in
            guard said[place].sent.frame == frame else { return false }
            guard let grant else { return true }
            return place < grant
        }
    }

    /// Checks that the frame that ends a session goes out after everything said in it before.
    mutating func checkNothingIsLeft(
        of app: App, before count: Int, _ end: Frame, _ lane: Lane
    ) {
        // An app that others close loses its held-back frames.
        guard !app.mayBeClosed, !endedByHeadUnit.contains(lane.life), !isLossy else { return }
        // The last words of an app that left are dropped when the rate delays them for too long.
        if let leftAt = app.leftAt, leftAt + SDLApp.lastWordsPatience <= now { return }
        // The hub may already have heard that the head unit has ended the session.
        guard !hasHeardEnd(of: lane.life) else { return }
        for (other, frames) in app.lanes where other.life == lane.life {
            // Frames that the app sent after its own EndService are dropped.
            let first = app.order[other]?.firstIndex { !app.behindEnd.contains($0) }
            guard let first, let order = app.order[other]?[first], order < count,
                frames[first] != end
            else { continue }
            let frame = frames[first]
            fail(.overtaken, "\(end) goes before \(frame) of app \(app.number)")
        }
    }

    /// The link has taken everything: checks that all frames of apps with an open session have gone out.
    mutating func checkAllHasGoneOut() {
        for app in apps.values where app.isConnected && !app.mayBeClosed && isLinkUp {
            for (lane, frames) in app.lanes where !frames.isEmpty {
                guard !ended.contains(lane.life), lives[Int(lane.session)] == lane.life else {
                    continue
                }
                fail(.lostUp, "\(frames.count) frames of app \(app.number), first \(frames[0])")
            }
        }
    }

    /// Checks that nothing that hurts the head unit goes on the link. The link's own framing finds message
    /// ID 0 and malformed headers.
    mutating func checkHarmless(_ frame: Frame) {
        if frame.sessionID == 0 { fail(.harm, "on the link on session 0: \(frame)") }
        if frame.hurtsHeadUnit { fail(.harm, "on the link, and hurts the head unit: \(frame)") }
    }

    mutating func countSent(_ frame: Frame) {
        if !frame.service.isStream { sent[frame.sessionID, default: 0] += 1 }
    }

    /// Counts as sdl_core does if it gets frames when they are written.
    mutating func countRate(_ frame: Frame) {
        guard !frame.service.isStream else { return }
        var times = written[frame.sessionID] ?? []
        while let first = times.first, first + .seconds(1) <= now { times.removeFirst() }
        times.append(now)
        written[frame.sessionID] = times
        guard times.count > mostFrames else { return }
        fail(.flood, "\(times.count) frames of a session in a second, with \(frame)")
    }

    /// An app got an answer to another app's request.
    mutating func stray(_ sent: SDLCoreModel.Sent, _ number: AppNumber) {
        strays += 1
        // An answer to its own may reach an app in its next session: the head unit gave the message up by itself.
        guard sent.isAboutHalf, ownerOfLife[sent.cause] != number, !loneFrames.explain(sent) else {
            return
        }
        fail(
            .stray,
            "app \(number) got the answer to a half message of life \(sent.cause): \(sent.frame)")
    }

    /// Checks an Unregister that the hub sends in an app's place.
    mutating func checkUnregister(_ frame: Frame, _ life: Int) {
        guard let request = frame.request,
            request.functionID == FunctionID.unregisterAppInterface.rawValue
        else { return }
        stop?.unanswered.insert(life)
        guard unregistered.contains(life) else { return }
        fail(.repeated, "the app has unregistered itself, and is unregistered again: \(frame)")
    }
}

extension Frame {
    /// The RPC header of a request in a single frame.
    var request: RPCHeader? {
        guard type == .single, version > 1, service == .rpc, let header = RPCHeader(payload),
            header.type == .request
        else { return nil }
        return header
    }

    /// Whether the head unit answers a goodbye of relayd's, perhaps in the number's next session.
    var answersRelay: Bool {
        guard type == .single, version > 1, service == .rpc, let header = RPCHeader(payload) else {
            return false
        }
        return header.type == .response
            && header.correlationID == SessionRouter<SDLApp>.farewellCorrelationID
    }

    /// Whether this is the head unit's answer to UnregisterAppInterface.
    func isUnregistered(ofSuccess: Bool) -> Bool {
        guard type == .single, version > 1, service == .rpc, let header = RPCHeader(payload),
            header.type == .response,
            header.functionID == FunctionID.unregisterAppInterface.rawValue
        else { return false }
        return !ofSuccess || resultCode == "SUCCESS"
    }

    /// sdl_core never reads the connection again after a message of 0 bytes, reserves as much memory as
    /// is announced, counts message ID 0 as malformed, and closes the connection for a flood of data on
    /// session 0.
    var hurtsHeadUnit: Bool {
        if let announced = Announcement(self) {
            return announced.bytes == 0 || announced.bytes > RelayConfiguration().messageBytes
        }
        return type != .control && (messageID == 0 || sessionID == 0)
    }

    /// sdl_core grants protocol 5 to apps that name it or send a v5 header.
    var asksForV5: Bool { version >= 5 || payloadBytes > 0 }
}
