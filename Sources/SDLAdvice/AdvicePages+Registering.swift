// Pages about the registration of apps, its beginning and its end. See `AdviceCode`.

extension AdvicePage {
    static let duplicateAppName = AdvicePage(
        title: "two apps with one name",
        cause: """
            Another app on this head unit has the same appName or one of the same VR synonyms, so \
            the head unit answers DUPLICATE_NAME.
            """,
        remedy: """
            Give one of the two apps another appName and other vrSynonyms, or stop the other app.
            """,
        details: """
            Names are compared per device, without regard to case; to the head unit, all apps \
            behind relayd are one device. If no other app behind relayd has the name, an earlier \
            run is probably still registered: relayd ends the session of an app that left, but a \
            head unit may need some seconds. If it takes longer, `relayctl reopen` frees the \
            name: it closes the link and opens it again, and ends the sessions of all apps.
            """)

    static let duplicateAppID = AdvicePage(
        title: "two apps with one app ID",
        cause: """
            Another app on this head unit is registered with the same appID, so the head unit \
            answers APPLICATION_REGISTERED_ALREADY, or DISALLOWED when the ID has capital letters.
            """,
        remedy: """
            Give one of the two apps another appID, or stop the other app.
            """,
        details: """
            To the head unit, all apps behind relayd are one device, on which an appID can \
            register once. If no other app behind relayd has the ID, an earlier run of the same \
            app is probably still registered. relayd ends the session of an app that was killed, \
            so try again after some seconds. If it takes longer, `relayctl reopen` frees the \
            name: it closes the link and opens it again, and ends the sessions of all apps. \
            sdl_core 8.2 answers DISALLOWED instead of APPLICATION_REGISTERED_ALREADY for IDs \
            with capital letters.
            """)

    static let registeredTwice = AdvicePage(
        title: "RegisterAppInterface sent twice",
        cause: """
            The app is already registered in this session, and registers again.
            """,
        remedy: """
            Register once per session; change languages with ChangeRegistration.
            """,
        details: """
            The head unit answers APPLICATION_REGISTERED_ALREADY and the first registration \
            stays. To register again, send UnregisterAppInterface and wait for its success \
            first.
            """)

    static let registrationRefused = AdvicePage(
        title: "the head unit refused the registration",
        cause: """
            RegisterAppInterface failed. The result code and, if there is one, the info text say \
            why.
            """,
        remedy: """
            For DISALLOWED, have the appID added to the head unit's policies. For \
            TOO_MANY_APPLICATIONS stop another app.
            """,
        details: """
            DISALLOWED: the appID is not in the policy table, or is revoked; a production head \
            unit knows only released apps. For an appID with capital letters, sdl_core 8.2 also \
            says DISALLOWED while an earlier run is registered: `relayctl reopen` frees it. \
            UNSUPPORTED_VERSION: check syncMsgVersion. TOO_MANY_APPLICATIONS: a limit of the \
            head unit.
            """)

    static let notRegistered = AdvicePage(
        title: "a request before the registration",
        cause: """
            The app sent a request while it was not registered, so the head unit answered \
            APPLICATION_NOT_REGISTERED.
            """,
        remedy: """
            Send RegisterAppInterface first and wait for its success.
            """,
        details: """
            SUCCESS, WARNINGS, WRONG_LANGUAGE and RESUME_FAILED all mean registered. After \
            OnAppInterfaceUnregistered, the app is no longer registered, although its session \
            may still be open.
            """)

    static let unregistered = AdvicePage(
        title: "the head unit unregistered the app",
        cause: """
            The head unit sent OnAppInterfaceUnregistered for a reason on the app's side.
            """,
        remedy: """
            Look up the reason that the advice names below.
            """,
        details: """
            TOO_MANY_REQUESTS: more than 1000 frames in a second on the session. \
            REQUEST_WHILE_IN_NONE_HMI_LEVEL: more than 100 requests at once while in NONE. After \
            either of them, the app may register again at once. PROTOCOL_VIOLATION: streaming \
            without a running service, or no EndServiceACK within 1 s. APP_UNAUTHORIZED: \
            policies revoked the app. LANGUAGE_CHANGE: register again with the new language. \
            DRIVER_DISTRACTION_VIOLATION, UNSUPPORTED_HMI_RESOURCE, RESOURCE_CONSTRAINT: the \
            head unit's own rules. After some of these, libraries reconnect again and again; \
            relayd's log shows the loop.
            """)
}
