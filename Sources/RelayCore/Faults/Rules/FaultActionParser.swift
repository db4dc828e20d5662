// Reads what a fault rule does: `delay 2s jitter 500ms probability 30% count 5 from 10s until 1m`.

import DidYouMean
import MessageFilters
import NIOCore
import SDLProtocol

/// Why a fault rule was not understood, and where.
package struct FaultRuleError: Error, Hashable, Sendable {
    package enum Part: String, Hashable, Sendable {
        case filter
        case action
    }

    package var part: Part
    /// Unicode scalars from the start of that part.
    package var range: Range<Int>
    package var message: String

    package init(_ part: Part, _ range: Range<Int>, _ message: String) {
        self.part = part
        self.range = range
        self.message = message
    }
}

/// The part of a rule after its filter.
///
///     action := kind option*
///     kind   := delay TIME [jitter TIME] | drop | answer CODE ["words"] | nak ["words"] | corrupt
///             | duplicate | reorder | truncate | disconnect | hold [TIME] | rate BYTES/s
///     option := probability P | count N | from TIME | until TIME
struct FaultActionParser {
    struct Outcome: Hashable {
        var action: FaultAction
        var probability = 1.0
        var count: UInt64?
        var from: TimeAmount?
        var until: TimeAmount?
    }

    private struct Word {
        var text: String
        var range: Range<Int>
        var isQuoted: Bool
    }

    static let kinds = [
        "delay", "drop", "answer", "nak", "corrupt", "duplicate", "reorder", "truncate",
        "disconnect", "hold", "rate",
    ]
    static let options = ["probability", "count", "from", "until"]

    private let words: [Word]
    private let end: Int
    private var at = 0

    init(_ text: String) throws(FaultRuleError) {
        (words, end) = try Self.split(text)
    }

    mutating func whole() throws(FaultRuleError) -> Outcome {
        var outcome = Outcome(action: try kind())
        var seen: Set<String> = []
        while at < words.count {
            let word = words[at]
            guard !word.isQuoted, Self.options.contains(word.text) else {
                throw unknown(word, Self.options, "expected the end, or one of")
            }
            guard seen.insert(word.text).inserted else {
                throw error(word.range, "\(word.text) stands here twice")
            }
            at += 1
            switch word.text {
            case "probability": outcome.probability = try probability()
            case "count": outcome.count = try count()
            case "from": outcome.from = try time(upTo: FaultLimits.longestWindow)
            default: outcome.until = try time(upTo: FaultLimits.longestWindow)
            }
        }
        if let from = outcome.from, let until = outcome.until, until <= from {
            throw error(0..<end, "until has to be later than from")
        }
        return outcome
    }

    private mutating func kind() throws(FaultRuleError) -> FaultAction {
        guard let word = next() else {
            throw error(end..<end, "expected \(Self.list(Self.kinds))")
        }
        switch word.text {
        case "delay":
            let delay = try time(upTo: FaultLimits.longestHold)
            let jitter = take("jitter") ? try time(upTo: FaultLimits.longestHold) : .zero
            guard delay + jitter <= FaultLimits.longestHold else {
                throw error(word.range, "delay and jitter are \(Self.longest) together at most")
            }
            return .delay(delay, jitter: jitter)
        case "drop": return .drop
        case "answer": return try answer()
        case "nak": return .nak(reason: quoted())
        case "corrupt": return .corrupt
        case "duplicate": return .duplicate
        case "reorder": return .reorder
        case "truncate": return .truncate
        case "disconnect": return .disconnect
        case "hold":
            guard at < words.count, !Self.options.contains(words[at].text) else {
                return .hold(nil)
            }
            return .hold(try time(upTo: FaultLimits.longestHold))
        case "rate": return .rate(bytesPerSecond: try rate())
        default: throw unknown(word, Self.kinds, "expected")
        }
    }

    private mutating func answer() throws(FaultRuleError) -> FaultAction {
        let codes = RPCCatalogue.builtIn.enumeration("Result")?.elements.map(\.name) ?? []
        guard let word = next() else {
            throw error(end..<end, "expected a result code such as REJECTED")
        }
        let code = word.text.uppercased()
        guard codes.contains(code) else {
            let hint = Spelling.nearest(code, in: codes).map { "; did you mean \($0)?" }
            throw error(
                word.range,
                "no result code is called '\(word.text)'\(hint ?? "; expected one such as REJECTED")"
            )
        }
        return .answer(code: code, info: quoted())
    }

    // MARK: Values

    private mutating func probability() throws(FaultRuleError) -> Double {
        let word = try value("a probability such as 30% or 0.3")
        let isPercent = word.text.hasSuffix("%")
        guard let number = FilterNumber(isPercent ? String(word.text.dropLast()) : word.text),
            number.value > 0, number.value <= (isPercent ? 100 : 1)
        else {
            throw error(
                word.range,
                "probability is '\(word.text)'; expected more than 0 and at most 100% or 1")
        }
        return isPercent ? number.value / 100 : number.value
    }

    private mutating func count() throws(FaultRuleError) -> UInt64 {
        let word = try value("a number of messages")
        guard let count = UInt64(word.text), (1...1_000_000_000).contains(count) else {
            throw error(
                word.range, "count is '\(word.text)'; expected a number from 1 to 1000000000")
        }
        return count
    }

    private mutating func time(upTo longest: TimeAmount) throws(FaultRuleError) -> TimeAmount {
        let word = try value("a time such as 500ms or 2s")
        guard let number = FilterNumber(milliseconds: word.text),
            number.value <= Double(longest.nanoseconds) / 1e6, number.value >= 0
        else {
            throw error(
                word.range,
                "'\(word.text)' is no time up to \(FaultAction.text(longest)); expected one such as "
                    + "500ms or 2s")
        }
        return .microseconds(Int64((number.value * 1000).rounded()))
    }

    private mutating func rate() throws(FaultRuleError) -> Int {
        let word = try value("a rate such as 20KB/s")
        let units = [
            ("KiB/s", 1024.0), ("MiB/s", 1_048_576), ("KB/s", 1000), ("kB/s", 1000), ("MB/s", 1e6),
            ("B/s", 1),
        ]
        let range = Double(FaultLimits.slowestRate)...Double(FaultLimits.fastestRate)
        guard let unit = units.first(where: { word.text.hasSuffix($0.0) }),
            let number = FilterNumber(String(word.text.dropLast(unit.0.count))),
            range.contains(number.value * unit.1)
        else {
            throw error(
                word.range,
                "'\(word.text)' is no rate; expected one from \(FaultLimits.slowestRate)B/s to "
                    + "1000MB/s, such as 20KB/s")
        }
        return Int(number.value * unit.1)
    }

    private static var longest: String { FaultAction.text(FaultLimits.longestHold) }

    // MARK: Words

    private mutating func next() -> Word? {
        guard at < words.count else { return nil }
        defer { at += 1 }
        return words[at]
    }

    private mutating func value(_ expected: String) throws(FaultRuleError) -> Word {
        guard let word = next() else { throw error(end..<end, "expected \(expected)") }
        return word
    }

    private mutating func take(_ word: String) -> Bool {
        guard at < words.count, !words[at].isQuoted, words[at].text == word else { return false }
        at += 1
        return true
    }

    /// Words in quotes, or one word without quotes that is no option.
    private mutating func quoted() -> String? {
        guard at < words.count, words[at].isQuoted || !Self.options.contains(words[at].text)
        else { return nil }
        at += 1
        return words[at - 1].text
    }

    private func error(_ range: Range<Int>, _ message: String) -> FaultRuleError {
        FaultRuleError(.action, range, message)
    }

    private func unknown(_ word: Word, _ known: [String], _ expected: String) -> FaultRuleError {
        let hint = Spelling.nearest(word.text, in: known).map { "; did you mean \($0)?" }
        return error(
            word.range, "found '\(word.text)'\(hint ?? "; \(expected) \(Self.list(known))")")
    }

    private static func list(_ words: [String]) -> String {
        words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    }

    /// Splits a text into words, and quoted words without their quotes; within quotes, a backslash escapes
    /// the character after it.
    private static func split(_ text: String) throws(FaultRuleError) -> ([Word], Int) {
        let letters = Array(text.unicodeScalars.prefix(FaultLimits.actionLength + 1))
        guard letters.count <= FaultLimits.actionLength else {
            throw FaultRuleError(
                .action, FaultLimits.actionLength..<FaultLimits.actionLength + 1,
                "what a rule does may have \(FaultLimits.actionLength) characters, this has more")
        }
        var words: [Word] = []
        var at = 0
        while at < letters.count {
            if letters[at].properties.isWhitespace {
                at += 1
                continue
            }
            let start = at
            var scalars = String.UnicodeScalarView()
            if letters[at] == "\"" {
                at += 1
                while at < letters.count, letters[at] != "\"" {
                    if letters[at] == "\\", at + 1 < letters.count { at += 1 }
                    scalars.append(letters[at])
                    at += 1
                }
                guard at < letters.count else {
                    throw FaultRuleError(
                        .action, start..<start + 1, "this quote is never closed")
                }
                at += 1
                words.append(Word(text: String(scalars), range: start..<at, isQuoted: true))
            } else {
                while at < letters.count, !letters[at].properties.isWhitespace {
                    scalars.append(letters[at])
                    at += 1
                }
                words.append(Word(text: String(scalars), range: start..<at, isQuoted: false))
            }
        }
        return (words, letters.count)
    }
}
