// Pages about requests and their answers. See `AdviceCode`.

extension AdvicePage {
    static let disallowed = AdvicePage(
        title: "DISALLOWED",
        cause: """
            The head unit's policies do not allow this RPC to this app now: not at all, not with \
            these parameters, or the user has refused it.
            """,
        remedy: """
            Run `relayctl permissions APP RPC` to see which condition is not met. Policies are \
            changed on the head unit or by its maker, not in the app.
            """,
        details: """
            In OnPermissionsChange, the head unit says what it allows: for each RPC the HMI \
            levels, those that the user has refused, and the parameters (for vehicle data, the \
            items). An RPC that it does not name is not allowed: the functional group with this \
            RPC must be added to the app's policy entry.
            """)

    static let requestInNone = AdvicePage(
        title: "a request in HMI level NONE",
        cause: """
            The app is in NONE, which means that the user has not activated it, and the head unit \
            answered DISALLOWED because the RPC is not allowed there.
            """,
        remedy: """
            Wait for OnHMIStatus with FULL before sending it. In NONE, only upload files and ask \
            for capabilities.
            """,
        details: """
            Every app starts in NONE after its registration. Which RPCs are allowed there is in \
            OnPermissionsChange: usually ListFiles, PutFile, SetAppIcon, SystemRequest and \
            GetSystemCapability. sdl_core also allows only 5 PutFile requests in NONE, and \
            unregisters an app that sends more than 100 requests at once there.
            """)

    static let encryptionNeeded = AdvicePage(
        title: "ENCRYPTION_NEEDED",
        cause: """
            The head unit's policies allow this RPC only in a protected service.
            """,
        remedy: """
            Start the RPC service with encryption before you send it; the app needs a security \
            manager.
            """,
        details: """
            OnPermissionsChange marks such RPCs with requireEncryption (RPC specification 6.0). \
            Head units on a bench usually need no encryption: check whether this one has the \
            right policies.
            """)

    static let invalidData = AdvicePage(
        title: "INVALID_DATA",
        cause: """
            In the head unit's view, the request's parameters do not match the RPC \
            specification.
            """,
        remedy: """
            Correct the parameter that the advice names.
            """,
        details: """
            Head units rarely say which parameter is wrong. relayd compares the request with the \
            RPC specification and names what differs: missing, misspelt, of another type, too \
            long, out of range, an unknown enumeration value, or newer than the version that \
            both sides agreed on. If nothing differs, the head unit objects to something that \
            the specification does not express: an image that was not uploaded, an ID that does \
            not exist, text that is only white space, PutFile without bulk data. A \
            GenericResponse with INVALID_DATA means that the head unit does not know the \
            function at all.
            """)

    static let requestUnanswered = AdvicePage(
        title: "no answer to a request",
        cause: """
            A request has had no response for 10 s or, if it names a time of its own (Alert, \
            PerformInteraction, PerformAudioPassThru, …), for that time and another 10 s.
            """,
        remedy: """
            Look at the side that should have answered; the advice names it.
            """,
        details: """
            sdl_core answers for an HMI that does not react within 10 s, so longer silence means \
            that the head unit itself hangs or lost the request; a request in a broken \
            multi-frame message is dropped silently. The iOS and JavaScript libraries wait for \
            the answer to their first ListFiles before they report the app as ready. The app \
            must answer requests of the head unit (app services).
            """)

    static let correlationIDReused = AdvicePage(
        title: "a correlation ID used twice at once",
        cause: """
            The app sent a request with the correlation ID of another request that still waits.
            """,
        remedy: """
            Count correlation IDs upwards and use each one once per session.
            """,
        details: """
            The answers then cannot be told apart. sdl_core refuses the second request with \
            INVALID_ID. IDs are positive 32-bit numbers; you may start again from 1 once the \
            earlier requests are answered.
            """)

    static let answerUnasked = AdvicePage(
        title: "an answer that nobody asked for",
        cause: """
            A response arrived whose correlation ID belongs to no waiting request: there was none, \
            or it was answered before.
            """,
        remedy: """
            Check whether the sender answers twice, or changes the correlation ID.
            """,
        details: """
            Libraries drop such a response silently, and the request that it was meant for times \
            out. sdl_core keeps half a message for 10 s after its sender has gone and then \
            answers it in that session, even if the session belongs to another app by then. \
            relayd ends such a message before the session is used again, and drops the answer. \
            If an answer belongs to an app that left, the advice says so.
            """)

    static let notAnRPC = AdvicePage(
        title: "a message that is not an RPC",
        cause: """
            A message of the RPC service cannot be read: its header is too short or announces more \
            JSON than there is, or the JSON is malformed.
            """,
        remedy: """
            Look at the first bytes in relayd's log: 12 bytes of header, then JSON in UTF-8.
            """,
        details: """
            The header is RPC type and function ID (4 bytes), correlation ID (4), JSON size (4), \
            big-endian; what follows the JSON is bulk data. A size counted in characters instead \
            of bytes breaks as soon as a text is not plain ASCII. sdl_core answers INVALID_DATA or \
            nothing.
            """)

    static let noneRequestRate = AdvicePage(
        title: "nearing the request limit of HMI level NONE",
        cause: """
            The app sends so many requests at once in NONE that the head unit may unregister it. \
            The limit of sdl_core 8.2 is 100 within 10 ms.
            """,
        remedy: """
            Send fewer requests before the app is activated: wait for OnHMIStatus with FULL.
            """,
        details: """
            Above the limit the head unit sends OnAppInterfaceUnregistered with \
            REQUEST_WHILE_IN_NONE_HMI_LEVEL (AppHMILevelNoneTimeScaleMaxRequests); the app may \
            register again. sdl_core's configuration says 10 s, but version 8.2 counts 10 ms: \
            bursts of 100 were accepted, and 150 in one write never were. Another head unit may \
            really count 10 s.
            """)

    static let requestRate = AdvicePage(
        title: "too many requests without an answer",
        cause: """
            The head unit refused a request with TOO_MANY_PENDING_REQUESTS: it has not yet \
            answered those before it. sdl_core has room for 5000 from all apps together.
            """,
        remedy: """
            Send fewer requests: wait for the answer before the next one, and leave out what has \
            not changed.
            """,
        details: """
            The limit is PendingRequestsAmount in sdl_core's configuration. Requests of other \
            apps count, too, so another app may be the cause: `relayctl stats` shows who sends \
            most. The limit of requests per time (AppTimeScaleMaxRequests) had no effect in \
            tests: 14,222 Show requests in 75 s all succeeded. What ends a session is the number \
            of frames per second.
            """)

    static let frameRate = AdvicePage(
        title: "nearing the frame limit",
        cause: """
            The app sends so many frames a second that the head unit will soon end its session. \
            The limit of sdl_core is 1000 per session, not counting audio and video.
            """,
        remedy: """
            Send fewer frames: use large frames for files, and send no faster than answers come.
            """,
        details: """
            sdl_core counts frames per session (FrequencyCount, FrequencyTime), including \
            heartbeats and the parts of large messages: 900 a second are accepted, and the \
            1001st ends the session with TOO_MANY_REQUESTS. relayd slows the app down at \
            `apps.frames_per_second` (950 by default), so that it is not thrown out. Without \
            relayd, it would be.
            """)
}
