// Pages about connections: who is at the other end, and whether bytes move. See `AdviceCode`.

extension AdvicePage {
    static let wrongPort = AdvicePage(
        title: "another protocol on the app port",
        cause: """
            The first bytes of the connection are HTTP, a WebSocket request, TLS, SSH or OpenXC, \
            not an SDL frame. relayd closes such a connection; other apps are not disturbed.
            """,
        remedy: """
            Connect the app by plain TCP to relayd's app port. `relayctl status` shows the address.
            """,
        details: """
            SDL over TCP starts with a StartService frame: the bytes 10 07 01 00 (or 50 07 01 00) \
            and no TLS around them. App libraries have several transports: choose TCP, not \
            WebSocket (the JavaScript library has both). Ports are mixed up most often with those \
            of sdl_core's HMI (8087) and of web servers for policies. relayd's dashboard is HTTP on a \
            port of its own: `relayctl dashboard` prints its address.
            """)

    static let notSDL = AdvicePage(
        title: "bytes from an app that are no SDL frame",
        cause: """
            A frame header of the app is impossible: a version, type, service or size that no \
            protocol version has. relayd closes that app's connection.
            """,
        remedy: """
            Look at the position and the bytes that relayd logged, and at what the app sent right \
            before them.
            """,
        details: """
            TCP loses no bytes, so this is a fault of the program: a length that does not match \
            the payload, a frame written by two threads at once, or text printed into the wrong \
            stream. relayd does not pass such bytes on, because a head unit that receives more \
            than ten malformed messages a second ends every session of the link (sdl_core, \
            MalformedFrequencyCount).
            """)

    static let wrongDevice = AdvicePage(
        title: "what is at the accessory's address is no SDL head unit",
        cause: """
            The bytes that come from the accessory are no SDL frames. When they look like \
            something known (OpenXC, HTTP, …) the advice says so.
            """,
        remedy: """
            Check relayd's accessory address, and on a serial line its speed. `relayctl status` \
            shows both.
            """,
        details: """
            A few skipped bytes when a serial line opens are normal: the head unit was in the \
            middle of a frame. Bytes that never become frames are another device (an OpenXC \
            vehicle interface also is a serial port), another port of the head unit (sdl_core \
            listens for apps on 12345, its HMI's WebSocket is 8087), or a wrong speed.
            """)

    static let appStalled = AdvicePage(
        title: "the app stopped in the middle of a frame",
        cause: """
            The app began a frame and sent nothing of the rest for 10 s. The head unit has seen \
            nothing of it: relayd passes on whole frames only.
            """,
        remedy: """
            Look at the app's side: a debugger that holds it, a thread that waits for a lock, or a \
            length in the header larger than what is written.
            """,
        details: """
            A stall names the side that stopped: here it is the app, and neither the link nor the \
            head unit has a part in it. If the app goes on later, so does the frame. A header that \
            announces more bytes than follow looks the same, because the next frame is then \
            swallowed as payload.
            """)

    static let headUnitStalled = AdvicePage(
        title: "the head unit stopped in the middle of a frame",
        cause: """
            The head unit began a frame and sent nothing of the rest for 10 s. relayd drops the \
            unfinished frame and looks for the next one.
            """,
        remedy: """
            Look at the line: cable, adapter, speed, flow control; then at the head unit's own log.
            """,
        details: """
            On a serial line lost bytes look like this, because the frame's length then counts \
            bytes that never come: check speed and RTS/CTS. On TCP no bytes are lost, so the head \
            unit itself stopped.
            """)

    static let appNotReading = AdvicePage(
        title: "the app does not read",
        cause: """
            So many bytes wait for the app that relayd's limit is reached; relayd closes its \
            connection, so that the other apps of the link do not wait for it.
            """,
        remedy: """
            Find what keeps the app from reading its socket: a breakpoint, or work done on the \
            thread that reads.
            """,
        details: """
            The limit is `apps.queue_limit` in relayd's configuration. For an app that is stopped \
            in a debugger for minutes it may be raised. relayd holds the link for a moment first \
            (`apps.stall_grace`), which is enough for an app that is merely busy.
            """)

    static let headUnitNotReading = AdvicePage(
        title: "the head unit does not take bytes",
        cause: """
            Frames wait for the link, but for 10 s the head unit has taken nothing. Apps are not \
            read meanwhile, so they wait too.
            """,
        remedy: """
            Look at the head unit and the cable; the apps are not to blame.
            """,
        details: """
            On a serial line hardware flow control may be held by the other side (RTS/CTS), or the \
            head unit's program hangs while the line stays open. Unplugging or restarting the head \
            unit frees the link; relayd reconnects by itself.
            """)
}
