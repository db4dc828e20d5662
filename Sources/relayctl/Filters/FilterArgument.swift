// A filter on the command line. It is parsed here, so that a mistake is shown before relayd is asked.
// Used by `tail`, `log`, `filter` and `top`.

import ArgumentParser
import ControlAPI
import MessageFilters
import SDLProtocol

/// The filter of `tail` and `log`, as words of the command line.
struct FilterWords: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Only what this filter accepts, such as 'app:radio rpc:On* !ok'. Default: all.",
            valueName: "filter"),
        completion: Completions.filter)
    var words: [String] = []

    init() {}
}

enum FilterArgument {
    /// Refuses words that are not a filter, whatever filters are saved.
    ///
    /// - Throws: `ValidationError` that shows the filter with the mistake marked.
    static func check(_ words: [String]) throws {
        guard !words.isEmpty else { return }
        let text = words.joined(separator: " ")
        guard !text.allSatisfy(\.isWhitespace) else {
            throw ValidationError(
                "the filter is empty; expected one such as 'app:radio !ok', or none")
        }
        _ = try filter(text) { _ in "ok" }
    }

    /// Words of the command line, which together make one filter.
    ///
    /// - Throws: `ValidationError` that shows the filter with the mistake marked.
    static func filter(_ words: [String]) throws -> FilterExpression {
        try check(words)
        let text = words.joined(separator: " ")
        if text.contains("@") {
            do throws(SavedFilters.Problem) {
                _ = try SavedFilters().all()
            } catch {
                throw ValidationError(SafeText.clean("\(error)"))
            }
        }
        return try filter(text, saved: saved)
    }

    /// A filter to be saved, which must be complete by itself.
    static func toBeSaved(_ words: [String]) throws -> String {
        let text = words.joined(separator: " ").split(whereSeparator: \.isNewline)
            .joined(separator: " ")
        guard !text.allSatisfy(\.isWhitespace) else {
            throw ValidationError("the filter is empty; expected one such as 'app:radio !ok'")
        }
        do throws(FilterError) {
            var known = names(nil)
            known.withoutSaved = FilterNames.notInsideAnother
            _ = try FilterExpression(text, names: known)
        } catch {
            throw ValidationError(pointing(at: error, in: text))
        }
        return text
    }

    /// Checks the filter as it is sent to relayd, which is longer than what was typed: it includes the
    /// saved filters and the options.
    ///
    /// - Throws: `ValidationError` that names the limit of relayd that is exceeded.
    static func checkRelaydTakes(_ filter: FilterExpression) throws {
        let text = filter.description
        do throws(FilterError) {
            _ = try FilterExpression(text, names: names(nil))
        } catch {
            throw ValidationError(
                "with its options and saved filters: \(SafeText.clean(error.message))")
        }
        var query = MessageQuery()
        query.add(.filter, text)
        let bytes = query.path("").utf8.count
        guard bytes <= MessageQuery.longestFilter else {
            throw ValidationError(
                """
                the filter is too long for relayd: percent-encoded it has \(bytes) bytes, at most \
                \(MessageQuery.longestFilter) are taken
                """)
        }
    }

    /// The filter for the value of an option.
    ///
    /// - Throws: `ValidationError` that names the option.
    static func filter(_ key: String, _ value: String, of option: String) throws -> FilterExpression
    {
        do throws(FilterError) {
            return try FilterExpression(key, value, names: names(nil))
        } catch {
            throw ValidationError("\(option): \(SafeText.clean(error.message))")
        }
    }

    /// Combines the filters of several options; values of one option are alternatives.
    static func all(_ filters: [FilterExpression]) -> FilterExpression {
        filters.reduce(.everything) { $0.and($1) }
    }

    private static func filter(
        _ text: String, saved: (@Sendable (String) -> String?)?
    ) throws -> FilterExpression {
        do throws(FilterError) {
            return try FilterExpression(text, names: names(saved))
        } catch {
            throw ValidationError(pointing(at: error, in: text))
        }
    }

    /// The filter typed into `top`; it may name saved filters.
    ///
    /// - Throws: `FilterError`; `FilterArgument.pointing` shows the place.
    static func filter(typed text: String) throws(FilterError) -> FilterExpression {
        guard !text.allSatisfy(\.isWhitespace) else { return .everything }
        return try FilterExpression(text, names: names(saved))
    }

    private static func names(_ saved: (@Sendable (String) -> String?)?) -> FilterNames {
        FilterNames(functions: FunctionID.all.map(\.name), saved: saved)
    }

    @Sendable private static func saved(_ name: String) -> String? {
        (try? SavedFilters().text(of: name)) ?? nil
    }

    /// The error message, the filter, and a line that marks the mistake.
    static func pointing(at error: FilterError, in text: String) -> String {
        let letters = Array(text.unicodeScalars)
        let range = error.range.clamped(to: 0..<letters.count)
        func shown(_ range: Range<Int>) -> String {
            SafeText.clean(String(String.UnicodeScalarView(letters[range])))
        }
        // The surroundings of the mistake that fit on a line.
        let start = max(0, range.lowerBound - around)
        let end = min(letters.count, range.upperBound + around)
        let front = (start > 0 ? "…" : "") + shown(start..<range.lowerBound)
        let part = shown(range)
        let back = shown(range.upperBound..<end) + (end < letters.count ? "…" : "")
        let marks = String(repeating: "^", count: max(1, part.columns))
        return """
            \(SafeText.clean(error.message))
              \(front)\(part)\(back)
              \(String(repeating: " ", count: front.columns))\(marks)
            """
    }

    private static let around = 32
}
