// The help page.

extension TopView {
    static let help = """
        /         filter the messages: app:radio rpc:On* !ok
                  ms>200 text:"Keep right"; empty shows all
        f         only what went wrong
        p, space  pause the list of messages, or resume it
        ↑ ↓ j k   choose a message; this pauses the list
        PgUp PgDn Home End
                  the same in larger steps; End resumes
        Enter     open the chosen message, or the newest one
        a         all advice, and what to do about it
        Esc       leave a page, a chosen message, a filter
        ^L        redraw the screen
        q         quit

        →  from the app           ✓  the request was successful
        ←  from the head unit     ✗  it failed, and why
        ·  from relayd

        From app and To app are RPCs per second, Rate is
        requests or notifications per second, all averaged
        over the last 5 seconds. p50 and p95: 50 and 95
        percent of the answers of the last minute took at most
        this long. Those that wait for a person (Alert, Speak,
        …) are left out of the app's. Queue is what the app
        has not read yet. Failed and Count count from when
        relayd started.
        """
}
