// What the hub says on the link by itself, and how much: checks of the model that need no account of
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

    /// The hub has been given the head unit's end of this life, and may have heard it.
    func hasHeardEnd(of life: Int) -> Bool {
        said.contains {
            $0.sent.life == life && $0.sent.frame.controlType == .endService
                && $0.sent.frame.service == .rpc
        }
    }

    /// The last one that looks the same and came before any grant that was not used.
    func lastBeforeGrant(_ frame: Frame) -> CircularBuffer<Said>.Index? {
        let grant = said.firstIndex { $0.sent.frame.controlType == .startServiceACK }
        return said.indices.last { place in
            guard said[place].sent.frame == frame else { return false }
            guard let grant else { return true }
            return place < grant
        }
    }

    /// As sdl_core counts, where it gets frames when they are written.
    mutating func countRate(_ frame: Frame) {
        guard !frame.service.isStream else { return }
        var times = written[frame.sessionID] ?? []
        while let first = times.first, first + .seconds(1) <= now { times.removeFirst() }
        times.append(now)
        written[frame.sessionID] = times
        guard times.count > mostFrames else { return }
        fail(.flood, "\(times.count) frames of a session in a second, with \(frame)")
    }

    /// Not the app's own.
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

    /// The head unit answers UnregisterAppInterface.
    func isUnregistered(ofSuccess: Bool) -> Bool {
        guard type == .single, version > 1, service == .rpc, let header = RPCHeader(payload),
            header.type == .response,
            header.functionID == FunctionID.unregisterAppInterface.rawValue
        else { return false }
        return !ofSuccess || resultCode == "SUCCESS"
    }

    /// sdl_core grants protocol 5 to those who name it, or have a v5 header.
    var asksForV5: Bool { version >= 5 || payloadBytes > 0 }
}
