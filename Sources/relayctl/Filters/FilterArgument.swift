// A filter on the command line: read here, so that a mistake is pointed at before relayd is asked.
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
    /// Refuses what is no filter, whatever is saved.
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

    /// Words of the command line, together one filter.
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

    /// One to be saved: it must be whole by itself.
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

    /// What relayd is sent is longer than what was typed: it has the saved filters and the options in it.
    ///
    /// - Throws: `ValidationError` that says which limit of relayd's is in the way.
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

    /// What the value of an option asks.
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

    /// What several options ask together; values of one option are alternatives.
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

    /// What somebody typed into `top`; what is saved may be named in it.
    ///
    /// - Throws: `FilterError`; `FilterArgument.pointing` shows where.
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

    /// The words, the filter, and a line that marks where.
    static func pointing(at error: FilterError, in text: String) -> String {
        let letters = Array(text.unicodeScalars)
        let range = error.range.clamped(to: 0..<letters.count)
        func shown(_ range: Range<Int>) -> String {
            SafeText.clean(String(String.UnicodeScalarView(letters[range])))
        }
        // What stands around the mistake and fits a line.
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
