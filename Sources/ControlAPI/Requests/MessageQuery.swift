// What may be asked of the messages relayd keeps.
//
// A message is the JSON object that relayd's JSON log writes, with its number as `n`. Numbers grow
// by one; the greatest one seen is the cursor to go on from (`after`).

/// Keys of the query of `Routes.messages` and `Routes.messageStream`. Of several values of
/// a repeatable key one must match; different keys must all match.
package enum MessageQueryKey: String, CaseIterable, Sendable {
    /// Only messages with a greater number.
    case after
    /// With `after`: the instance the number is from. When relayd was restarted since, everything
    /// it keeps is new to the reader.
    case instance
    /// `Routes.messages`: at most so many; the newest ones, or with `after` the oldest ones.
    case limit
    /// `Routes.messageStream`: begin with so many of the past; without it and without `after` and
    /// `since` only what comes is sent.
    case last
    /// `Routes.messageStream`: 0 to end with the newest message.
    case follow
    /// App name, app ID or connection ("#1"); repeatable.
    case app
    /// Function, also of what answers it; with "!" in front: not this one. Repeatable.
    case function
    /// "request", "response", "notification", "control", …; repeatable.
    case type
    /// "control", "rpc", "audio", "video", "bulk"; repeatable.
    case service
    /// Lowest priority: "debug", "info", "warning", "error".
    case priority
    /// 1: only what went wrong, which is priority "warning" and above.
    case failed
    /// Only responses that took at least so many milliseconds.
    case slowerThan = "slower_than_ms"
    /// In the language of filters, such as "rpc:On* !ok"; the other keys must hold as well.
    case filter
    /// Nothing older: a time (RFC 3339, UTC) or a duration back from now ("-30s"). For a stream it
    /// chooses where to begin.
    case since
    /// "json": the fields of the JSON log; "text": only `n` and the line of the text log as `text`;
    /// "summary": most fields, and in words what they leave out; "both": all of these.
    case format
    /// 1: ANSI colours in `text` and `summary`.
    case color

    package var isRepeatable: Bool {
        switch self {
        case .app, .function, .type, .service: true
        default: false
        }
    }
}

/// A query in the making, for `relayctl`.
package struct MessageQuery: Sendable, Equatable {
    private var items: [(key: MessageQueryKey, value: String)] = []

    /// Bytes of a percent-encoded filter with its key that leave room for the rest of the request: its
    /// head may have 16 KiB.
    package static let longestFilter = 15_000

    package init() {}

    package mutating func add(_ key: MessageQueryKey, _ value: String) {
        items.append((key, value))
    }

    package mutating func add(contentsOf other: MessageQuery) {
        items += other.items
    }

    /// The route with this query behind it.
    package func path(_ route: String) -> String {
        guard !items.isEmpty else { return route }
        let pairs = items.map { "\($0.key.rawValue)=\($0.value.percentEncoded(except: ".~"))" }
        return route + "?" + pairs.joined(separator: "&")
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.path("") == right.path("")
    }
}
