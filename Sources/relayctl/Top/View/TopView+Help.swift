// What ? shows.

extension TopView {
    static let help = """
        /         filter the messages: app:radio rpc:On* !ok
                  ms>200 text:"Keep right"; empty shows all
        f         only what went wrong
        p, space  hold the list of messages, or let it go on
        ↑ ↓ j k   choose a message; the list is held
        PgUp PgDn Home End
                  the same in larger steps; End goes on
        Enter     open the chosen message, or the newest one
        a         all advice, with what helps
        Esc       back: from a page, a chosen message, a filter
        ^L        draw the screen anew
        q         quit

        →  from the app           ✓  the request was successful
        ←  from the head unit     ✗  it failed, and why
        ·  from relayd

        From app and To app are RPCs per second, Rate is
        requests or notifications per second, each of the last
        5 seconds. p50 and p95: 50 and 95 percent of the
        answers of the last minute took at most so long. Those
        that wait for a person (Alert, Speak, …) are not in
        the app's. Queue is what the app reads too slowly.
        Failed and Count are since relayd started.
        """
}
