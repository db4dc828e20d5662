// Pages about connections: who is at the other end, and whether bytes move. See `AdviceCode`.

extension AdvicePage {
    static let wrongPort = AdvicePage(
        title: "another protocol on the app port",
        cause: """
            The first bytes of the connection are HTTP, a WebSocket request, TLS, SSH or OpenXC, \
            not an SDL frame. relayd closes such a connection; other apps are not affected.
            """,
        remedy: """
            Connect the app to relayd's app port by plain TCP. `relayctl status` shows the \
            address.
            """,
        details: """
            SDL over TCP starts with a StartService frame: the bytes 10 07 01 00 (or 50 07 01 \
            00) and no TLS around them. App libraries have several transports: choose TCP, not \
            WebSocket (the JavaScript library has both). The ports that are most often confused \
            with it are those of sdl_core's HMI (8087) and of web servers for policies. relayd's \
            dashboard is HTTP on a port of its own: `relayctl dashboard` prints its address.
            """)

    static let notSDL = AdvicePage(
        title: "bytes from an app that are not SDL",
        cause: """
            The app sent an impossible frame header: a version, type, service or size that no \
            protocol version has. relayd closes that app's connection.
            """,
        remedy: """
            Look at the position and the bytes that relayd logged, and at what the app sent right \
            before them.
            """,
        details: """
            TCP loses no bytes, so this is a fault in the program: a length that does not match \
            the payload, a frame written by two threads at once, or text printed into the wrong \
            stream. relayd does not pass such bytes on, because a head unit that receives more \
            than ten malformed messages a second ends every session of the link (sdl_core, \
            MalformedFrequencyCount).
            """)

    static let wrongDevice = AdvicePage(
        title: "the device at the head unit's address does not speak SDL",
        cause: """
            The bytes that come from the device are not SDL frames. If they look like something \
            known (OpenXC, HTTP, …), the advice says so.
            """,
        remedy: """
            Check the head unit's address in relayd's configuration and, on a serial line, its \
            speed. `relayctl status` shows both.
            """,
        details: """
            A few skipped bytes when a serial line opens are normal: the head unit was in the \
            middle of a frame. Bytes that never become frames are another device (an OpenXC \
            vehicle interface is a serial port, too), another port of the head unit (sdl_core \
            listens for apps on 12345, its HMI's WebSocket is 8087), or a wrong speed.
            """)

    static let appStalled = AdvicePage(
        title: "the app stopped in the middle of a frame",
        cause: """
            The app began a frame and did not send the rest for 10 s. The head unit has not seen \
            any of it, because relayd passes on whole frames only.
            """,
        remedy: """
            Look at the app's side: a debugger that holds it, a thread that waits for a lock, or a \
            length in the header larger than what is written.
            """,
        details: """
            It is the app that stopped; neither the link nor the head unit is involved. If the \
            app continues later, so does the frame. A header that announces more bytes than \
            follow looks the same, because the next frame is then swallowed as payload.
            """)

    static let headUnitStalled = AdvicePage(
        title: "the head unit stopped in the middle of a frame",
        cause: """
            The head unit began a frame and did not send the rest for 10 s. relayd drops the \
            unfinished frame and looks for the next one.
            """,
        remedy: """
            Look at the line: cable, adapter, speed, flow control; then at the head unit's own log.
            """,
        details: """
            On a serial line, lost bytes look like this, because the frame's length then counts \
            bytes that never come: check speed and RTS/CTS. On TCP no bytes are lost, so the \
            head unit itself stopped.
            """)

    static let appNotReading = AdvicePage(
        title: "the app does not read",
        cause: """
            The bytes that wait for the app have reached relayd's limit. relayd closes the app's \
            connection, so that the other apps do not have to wait for it.
            """,
        remedy: """
            Find what keeps the app from reading its socket: a breakpoint, or work done on the \
            thread that reads.
            """,
        details: """
            The limit is `apps.queue_limit` in relayd's configuration. You can raise it for an \
            app that stops in a debugger for minutes. Before that, relayd pauses the link for a \
            moment (`apps.stall_grace`), which is enough for an app that is merely busy.
            """)

    static let headUnitNotReading = AdvicePage(
        title: "the head unit does not take bytes",
        cause: """
            Frames wait for the link, but the head unit has read nothing for 10 s. Meanwhile \
            relayd does not read from the apps, so they wait, too.
            """,
        remedy: """
            Look at the head unit and the cable; the apps are not to blame.
            """,
        details: """
            On a serial line, the other side may be blocking by hardware flow control (RTS/CTS), \
            or the head unit's program hangs while the line stays open. Unplugging or restarting \
            the head unit frees the link; relayd reconnects by itself.
            """)
}
