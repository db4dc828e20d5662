// Makes the entries of `TrafficDecoder`, with their origin, time, content and number.

import RelayCore
import SDLProtocol

extension TrafficDecoder {
    mutating func dropped(_ tapped: TappedFrame, reason: DropReason) -> TrafficEntry {
        let frame = tapped.frame
        var dropped = DroppedEntry(reason: reason, frame: frame)
        if frame.type == .single, frame.service.carriesRPC, !frame.isEncrypted {
            dropped.rpc = try? RPCMessage(Message(single: frame))
        }
        return entry(.dropped(dropped), tapped, bytes: frame.payloadBytes, frames: 1)
    }

    mutating func entry(
        _ type: ControlFrameType, _ tapped: TappedFrame
    ) -> TrafficEntry {
        let frame = tapped.frame
        let content = ControlEntry(
            type: type, version: frame.version, isProtected: frame.isEncrypted,
            payload: ControlPayload(frame))
        return entry(.control(content), tapped, bytes: frame.payloadBytes, frames: 1)
    }

    mutating func entry(
        _ content: TrafficEntry.Content, _ tapped: TappedFrame, bytes: Int, frames: Int
    ) -> TrafficEntry {
        let session = tapped.frame.sessionID
        var entry = entry(
            content, app: tapped.app ?? sessions.app(session), session: session,
            service: tapped.frame.service, direction: tapped.direction, bytes: bytes,
            frames: frames)
        entry.fate = tapped.fate
        return entry
    }

    mutating func entry(
        _ key: StreamKey, _ app: AppID?, _ summary: StreamSummary
    ) -> TrafficEntry {
        entry(
            .stream(summary), app: app ?? sessions.app(key.sessionID), session: key.sessionID,
            service: key.service, direction: key.direction, bytes: summary.bytes,
            frames: summary.frames)
    }

    mutating func event(_ event: EventEntry, app: AppID? = nil) -> TrafficEntry {
        entry(
            .event(event), app: app, session: nil, service: nil, direction: nil, bytes: 0,
            frames: 0)
    }

    /// An entry that is not shown, and so has the number of the one before.
    mutating func told(_ event: SessionEvent, of app: AppID) -> TrafficEntry {
        var entry = entry(
            .event(.session(event)), app: app, session: event.session, service: event.service,
            direction: nil, bytes: 0, frames: 0)
        lastNumber -= 1
        entry.number = lastNumber
        return entry
    }

    mutating func entry(
        _ content: TrafficEntry.Content, app: AppID?, session: UInt8?, service: ServiceType?,
        direction: Direction?, bytes: Int, frames: Int
    ) -> TrafficEntry {
        lastNumber += 1
        let identity = sessions.identity(app: app, session: session)
        var entry = TrafficEntry(
            number: lastNumber, time: now, app: app, appName: identity?.name,
            registeredAppID: identity?.appID, sessionID: session, service: service,
            direction: direction, bytes: bytes, frames: frames, fate: .forwarded,
            content: content)
        if !largeFrames.isEmpty, let session, let service, let direction {
            entry.largeFrame = largeFrames.removeValue(
                forKey: StreamKey(sessionID: session, service: service, direction: direction))
        }
        return entry
    }
}
