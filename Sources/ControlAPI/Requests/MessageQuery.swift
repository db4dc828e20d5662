// Queries for the messages that relayd keeps.
//
// A message is the JSON object that relayd's JSON log writes, with its number as `n`. Numbers grow by
// one; the greatest number seen is the cursor to go on from (`after`).

/// Keys of the query of `Routes.messages` and `Routes.messageStream`. Several values of a repeatable key
/// are alternatives; different keys must all match.
package enum MessageQueryKey: String, CaseIterable, Sendable {
    /// Only messages with a greater number.
    case after
    /// With `after`: the instance that the number comes from. If relayd was restarted since, everything
    /// it keeps is new to the reader.
    case instance
    /// `Routes.messages`: maximum number; the newest ones, or with `after` the oldest ones.
    case limit
    /// `Routes.messageStream`: begin with this many past messages; without it and without `after` and
    /// `since`, only new ones are sent.
    case last
    /// `Routes.messageStream`: 0 to end with the newest message.
    case follow
    /// App name, app ID or connection ("#1"); repeatable.
    case app
    /// Function, including answers to it; with "!" in front: not this one. Repeatable.
    case function
    /// "request", "response", "notification", "control", …; repeatable.
    case type
    /// "control", "rpc", "audio", "video", "bulk"; repeatable.
    case service
    /// Lowest priority: "debug", "info", "warning", "error".
    case priority
    /// 1: only problems, that is, priority "warning" and above.
    case failed
    /// Only responses that took at least this many milliseconds.
    case slowerThan = "slower_than_ms"
    /// In the language of filters, such as "rpc:On* !ok"; the other keys must hold as well.
    case filter
    /// Nothing older: a time (RFC 3339, UTC) or a duration back from now ("-30s"). For a stream, the
    /// place to begin.
    case since
    /// "json": the fields of the JSON log; "text": only `n` and the line of the text log as `text`;
    /// "summary": most fields, and the rest in words; "both": all of these.
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

/// Builds a query for `relayctl`.
package struct MessageQuery: Sendable, Equatable {
    private var items: [(key: MessageQueryKey, value: String)] = []

    /// Maximum size in bytes of a percent-encoded filter with its key. It leaves room for the rest of the
    /// request, whose head may have 16 KiB.
    package static let longestFilter = 15_000

    package init() {}

    package mutating func add(_ key: MessageQueryKey, _ value: String) {
        items.append((key, value))
    }

    package mutating func add(contentsOf other: MessageQuery) {
        items += other.items
    }

    /// The route followed by this query.
    package func path(_ route: String) -> String {
        guard !items.isEmpty else { return route }
        let pairs = items.map { "\($0.key.rawValue)=\($0.value.percentEncoded(except: ".~"))" }
        return route + "?" + pairs.joined(separator: "&")
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.path("") == right.path("")
    }
}
