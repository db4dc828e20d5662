// Pages about sessions and services: StartService, its ACK, EndService, heartbeats. See
// `AdviceCode`.

extension AdvicePage {
    static let startUnanswered = AdvicePage(
        title: "no answer to StartService",
        cause: """
            The app asked for a session or a service and got neither an ACK nor a NAK for 10 s. \
            App libraries give up at about this time.
            """,
        remedy: """
            For a session: check whether the head unit is busy or waits for the user. For audio \
            or video: register the app first.
            """,
        details: """
            sdl_core does not answer StartService for audio (0x0A) or video (0x0B) at all while \
            the app is not registered. Sessions are granted one at a time, so an app may wait \
            for the one before it; real head units have taken 14 s. relayd refuses the app \
            itself after `sessions.start_service_timeout`. Log and advice name the side at \
            fault: app, relayd (it lost or dropped what may have been the answer) or head unit.
            """)

    static let startRefused = AdvicePage(
        title: "the head unit refused StartService",
        cause: """
            The head unit answered StartService with a NAK. For audio and video, the reason is \
            usually the app's type or its HMI level.
            """,
        remedy: """
            For video and audio, register with appHMIType NAVIGATION or PROJECTION and start in \
            FULL or LIMITED. For a session, read the reason in the NAK.
            """,
        details: """
            sdl_core refuses a stream when the app's type is neither NAVIGATION nor PROJECTION, \
            when its HMI level does not allow streaming, when the service is already running, or \
            when codec, protocol or size are not what it supports (rejectedParams names them). \
            It refuses a session when none of its 255 IDs is free or the protocol version is \
            below 5.0.0; that NAK has a version 1 header and carries no reason. A head unit \
            without encryption refuses a service with encryption, also without a reason; relayd \
            then says this as a guess. Log and advice name the side at fault: app, relayd or \
            head unit.
            """)

    static let ackMissingKeys = AdvicePage(
        title: "StartServiceACK without hashId or mtu",
        cause: """
            The head unit's version 5 StartServiceACK lacks a key that app libraries rely on.
            """,
        remedy: """
            Make the head unit send hashId (int32) and mtu (int64) in every StartServiceACK of \
            the RPC service.
            """,
        details: """
            Without hashId the Java library ends the session at once, and no library can send a \
            proper EndService, so the session stays open on the head unit until the link closes. Without \
            mtu, libraries fall back to their defaults, which differ: 131072 payload bytes \
            (Java), 131024 for the whole frame (iOS).
            """)

    static let ackWrongType = AdvicePage(
        title: "StartServiceACK with a wrong type or an impossible value",
        cause: """
            A key of the head unit's StartServiceACK has another type than in the protocol, \
            hashId is −1, or mtu is so small that no frame fits.
            """,
        remedy: """
            Make the head unit send hashId as int32, mtu as int64 and in bytes, versions and \
            names as strings.
            """,
        details: """
            Types are strict on every side: the C library (sdl_core, iOS) treats a value of the \
            wrong type as absent, the Java library throws an exception. −1 is what the C library \
            returns for "absent", so a hash of −1 is lost as well. An mtu of 12 or less is smaller than \
            a frame's header: relayd ignores it, libraries may not.
            """)

    static let ackTooLarge = AdvicePage(
        title: "StartServiceACK larger than iOS accepts",
        cause: """
            The payload of the StartServiceACK is larger than 1011 bytes.
            """,
        remedy: """
            Make the head unit send fewer or shorter texts (make, model, software version).
            """,
        details: """
            Until the iOS library has read the StartServiceACK, it accepts frames of at most \
            1024 bytes, including the 12-byte header; a larger ACK is discarded and the app \
            never gets a session. Android and JavaScript do not mind.
            """)

    static let mtuExceeded = AdvicePage(
        title: "a frame larger than the mtu",
        cause: """
            A frame carries more payload bytes than the mtu in the StartServiceACK allows.
            """,
        remedy: """
            Cut messages into frames whose payload is at most mtu − 12 bytes.
            """,
        details: """
            The receiver treats such a frame as malformed. sdl_core then looks for the next \
            frame byte by byte, and ends all sessions of the link if this happens more than ten \
            times a second. Since version 5, the limit is the mtu of the ACK, for each service; \
            do not use a constant.
            """)

    static let mtuNear = AdvicePage(
        title: "a frame that fits the mtu in one reading only",
        cause: """
            A frame's payload is larger than mtu − 12 bytes. It fits if mtu counts the payload, \
            and is too large if mtu counts the whole frame.
            """,
        remedy: """
            With sdl_core, there is nothing to do. With a head unit that drops such frames, send \
            at most mtu − 12 payload bytes: that suits every head unit.
            """,
        details: """
            What mtu counts is not agreed. The protocol specification and the iOS library count \
            the whole frame; sdl_core, the Java and the JavaScript library count the payload, \
            and fill it in every large upload. Nothing is broken, so this is only information, \
            given once per link. It may fail with another head unit or, if the head unit sends \
            such frames, with an iOS app.
            """)

    static let endWithoutHash = AdvicePage(
        title: "EndService without the session's hash",
        cause: """
            The app ends its session without the hash ID that the StartServiceACK gave it.
            """,
        remedy: """
            Keep the hash ID of the StartServiceACK and send it in EndService: int32 hashId in \
            version 5, four bytes in versions 2 to 4.
            """,
        details: """
            The hash proves that whoever ends a session also started it. Without it the head \
            unit may answer EndServiceNAK and keep session and registration. The app's next run \
            is then already registered (APPLICATION_REGISTERED_ALREADY, DUPLICATE_NAME), until \
            `relayctl reopen`. The iOS library does this with protocol versions below 5. In \
            version 5, sdl_core accepts a hashId of 0 without checking it; other head units may \
            not. When the app leaves, relayd ends the session with the right hash.
            """)

    static let endWrongHash = AdvicePage(
        title: "EndService with another hash",
        cause: """
            The app ends its session with a hash ID that the head unit did not give for it.
            """,
        remedy: """
            Send the hash ID of this session's StartServiceACK; a second service's ACK has none.
            """,
        details: """
            The head unit answers EndServiceNAK with hashId among the rejected parameters, and \
            the session continues. Typical reasons: the hash of an earlier session, a hash \
            overwritten by the ACK of a protected service (which carries 0), or the wrong byte \
            order.
            """)

    static let heartbeatUnanswered = AdvicePage(
        title: "the app does not answer heartbeats",
        cause: """
            The head unit sent heartbeats on the app's session and got no HeartbeatACK.
            """,
        remedy: """
            Answer every Heartbeat with a HeartbeatACK of the same session.
            """,
        details: """
            sdl_core supervises a session once the app itself has sent a heartbeat: after 7 s \
            without a frame it sends one, after another 7 s it ends the session. An app that is \
            stopped in a debugger looks the same. relayd answers for an app that is still \
            connected, unless `sessions.heartbeats` is pass.
            """)

    static let heartbeatsAnswered = AdvicePage(
        title: "relayd answers heartbeats for the app",
        cause: """
            The app is connected but has not answered a heartbeat of the head unit for some \
            seconds. An app at a breakpoint behaves like this.
            """,
        remedy: """
            Nothing, if the app is stopped in a debugger. Otherwise, find out what keeps it from \
            reading.
            """,
        details: """
            sdl_core ends a session whose app does not answer within 7 s. relayd answers for the \
            app, so that the session is still there when the app continues. With \
            `sessions.heartbeats: pass` it does not, and the head unit ends the session, as a \
            car would.
            """)

    static let foreignSession = AdvicePage(
        title: "frames on a session that is not the app's",
        cause: """
            The app sends frames with a session ID that belongs to another app or to nobody. \
            relayd drops them, or closes the app (`apps.foreign_frames`).
            """,
        remedy: """
            Use the session ID of the StartServiceACK, byte 3 of its header, in every frame.
            """,
        details: """
            The ID is the head unit's choice and differs from run to run. Typical reasons: an ID \
            kept from an earlier connection, or frames sent after EndService.
            """)

    static let secondaryTransport = AdvicePage(
        title: "a second transport around relayd",
        cause: """
            The head unit offers, or the app asks for, a second transport for audio and video. \
            What travels over it does not pass through relayd.
            """,
        remedy: """
            Nothing, as long as relayd removes the offers; everything then stays on the link.
            """,
        details: """
            From protocol 5.1 on a head unit may name a TCP address in TransportEventUpdate, and \
            transports in the StartServiceACK. relayd removes both, because an app behind relayd \
            often cannot reach that address and its streams would be missing from the log. With \
            `sessions.secondary_transports: pass` they are passed on.
            """)
}
