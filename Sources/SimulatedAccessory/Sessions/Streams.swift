// Audio and video services: accepted, counted, discarded.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    /// StartService of audio or video, which needs v3 and a navigation or projection app that the user sees or
    /// hears.
    mutating func startStream(_ frame: Frame) {
        guard let session = sessions[frame.sessionID] else {
            counters.unexpectedFrames += 1
            return
        }
        guard frame.version >= 3 else {
            refuse(frame, reason: "\(frame.service.name) needs protocol version 3 or later")
            return
        }
        // In this case sdl_core does not answer at all.
        guard let app = session.app else { return }
        if let reason = reasonAgainstStreaming(of: app), !configuration.isLenient {
            refuse(frame, reason: reason)
            return
        }
        guard !frame.isEncrypted else {
            refuse(frame, reason: "this head unit does not encrypt")
            return
        }
        guard !session.streams.contains(frame.service) else {
            refuse(frame, reason: "service \(frame.service.name) is already running")
            return
        }
        let wish = ControlPayload(frame).document ?? BSONDocument()
        if frame.service == .video, let key = unknownVideoFormat(wish) {
            refuse(frame, rejecting: key, reason: "\(key) is not supported")
            return
        }
        sessions[frame.sessionID]?.streams.insert(frame.service)
        acknowledge(frame, payload: streamGrant(frame, wish: wish, version: session.version))
    }

    private func reasonAgainstStreaming(of app: RegisteredApp) -> String? {
        if !app.kind.streamsVideo {
            return "only apps of type NAVIGATION or PROJECTION may stream"
        }
        return app.hmiLevel.isVisible
            ? nil : "streaming needs HMI level FULL or LIMITED, this is \(app.hmiLevel.rawValue)"
    }

    private func unknownVideoFormat(_ wish: BSONDocument) -> String? {
        let known = [
            ControlKey.videoProtocol: ["RAW", "RTP", "RTSP", "RTMP", "WEBM"],
            ControlKey.videoCodec: ["H264", "H265", "Theora", "VP8", "VP9"],
        ]
        return known.keys.sorted().first { key in
            guard let value = wish.string(key) else { return wish[key] != nil }
            return known[key]?.contains(value) != true
        }
    }

    /// v5 names the MTU and repeats the requested parameters; earlier versions have no payload.
    private func streamGrant(_ frame: Frame, wish: BSONDocument, version: UInt8) -> ByteBuffer {
        guard version >= 5 else { return ByteBuffer() }
        var document: BSONDocument = [ControlKey.mtu: .int64(configuration.mtu)]
        if frame.service == .video {
            for key in [
                ControlKey.height, ControlKey.width, ControlKey.videoProtocol,
                ControlKey.videoCodec,
            ] {
                document[key] = wish[key]
            }
        }
        return document.bytes
    }

    /// Audio or video data.
    mutating func receiveStreamData(_ frame: Frame) {
        guard sessions[frame.sessionID]?.streams.contains(frame.service) == true else {
            counters.unexpectedFrames += 1
            return
        }
        // A first frame only announces bytes and carries none.
        let bytes = frame.type == .first ? 0 : UInt64(frame.payloadBytes)
        if frame.service == .audio {
            counters.audio.frames += 1
            counters.audio.bytes += bytes
        } else {
            counters.video.frames += 1
            counters.video.bytes += bytes
        }
    }
}
