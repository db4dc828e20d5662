// Fuzz target: filters of messages.

import MessageFilters
import RelayTesting
import SDLProtocol
import SDLTraffic

extension FuzzTarget {
    static let filter = FuzzTarget(
        name: "filter",
        about: "filters of messages as people write them, asked about a few messages",
        promise:
            "what is read is written and read as the same and shows the same; a mistake lies in "
            + "the text",
        maximumBytes: 1024,
        words: {
            [
                "app:", "rpc:", "kind:", "service:", "from:", "result:", "ok", "priority:", "ms>",
                "bytes<=", "n:", "corr!=", "session:", "text:", "param.", "param.gps.speed>=",
                "[0]", " | ", " or ", " and ", " not ", "(", ")", "!", "\"", "\\\"", "*", "?", "@",
                "Show", "GetVehicleData", "request", "warning", "1.5s", "#1",
            ]
        },
        run: { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let names = FilterNames(functions: FunctionID.all.map(\.name)) { name in
                name == "a" ? "app:music !ok" : nil
            }
            let filter: FilterExpression
            do throws(FilterError) {
                filter = try FilterExpression(text, names: names)
            } catch {
                let length = text.unicodeScalars.count
                try ensure(
                    error.range.upperBound <= length && !error.message.isEmpty,
                    "\(error.range) of \(length)")
                return
            }
            let written = filter.description
            // The expansion of a saved filter may be longer than a filter may be.
            guard written.unicodeScalars.count <= 2000 else { return }
            let again: FilterExpression
            do throws(FilterError) {
                again = try FilterExpression(written, names: names)
            } catch {
                throw BrokenPromise("\(written.debugDescription) is not read: \(error.message)")
            }
            try ensure(again == filter, "becomes \(written.debugDescription)")
            try ensure(shown(again) == shown(filter), "shows something else")
        })

    private static let story = {
        var feed = TrafficFeed()
        feed.tellStory()
        return feed.ring
    }()

    private static func shown(_ expression: FilterExpression) -> [UInt64] {
        var filter = MessageFilter.everything
        filter.expression = expression
        return story.messages(after: 0, matching: filter, limit: .max).entries.map(\.number)
    }
}
