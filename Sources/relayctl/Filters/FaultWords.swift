// Fault rules on the command line and in files. They are parsed here, so that a mistake is shown before
// relayd is asked. Used by `relayctl fault`.

import ArgumentParser
import ControlAPI
import MessageFilters
import RelayCore

enum FaultWords {
    /// For completion.
    static let actions = [
        "delay", "drop", "answer", "nak", "corrupt", "duplicate", "reorder", "truncate",
        "disconnect", "hold", "rate", "probability", "count", "from", "until", "jitter", "unplug",
        "freeze", "slow", "half-open",
    ]

    /// Joins words of the command line, adding the quotes that the shell has removed.
    static func text(_ words: [String]) -> String {
        words.map { word in
            guard word.isEmpty || word.contains(where: { $0.isWhitespace || $0 == "\"" }) else {
                return word
            }
            // A single argument may be the whole action.
            return words.count > 1 ? word.inQuotes : word
        }.joined(separator: " ")
    }

    /// The rule as it is sent to relayd, with saved filters filled in.
    ///
    /// - Throws: `ValidationError` that shows the mistake.
    static func rule(_ filter: String, _ action: String) throws -> FaultRuleRequest {
        let expression = try FilterArgument.filter([filter])
        do throws(FaultRuleError) {
            _ = try FaultRule(filter: expression.description, action: action, isHeadUnitReal: false)
        } catch {
            let filter = error.part == .filter ? expression.description : filter
            throw ValidationError(pointing(at: error, filter: filter, action: action))
        }
        let usesSaved = filter.contains("@")
        return FaultRuleRequest(
            filter: usesSaved ? expression.description : filter, action: action)
    }

    /// The error message, the faulty part of the rule, and a line that marks the mistake.
    static func pointing(at error: FaultRuleError, filter: String, action: String) -> String {
        FilterArgument.pointing(
            at: FilterError(error.range, error.message),
            in: error.part == .filter ? filter : action)
    }
}

/// A file of fault rules.
enum FaultFile {
    /// Largest size in bytes; relayd accepts no more in one request.
    static let largest = 16 << 10

    static func rules(at path: String) throws -> [FaultRuleRequest] {
        let bytes: [UInt8]
        do {
            bytes = try FileBytes.read(path, limit: largest)
        } catch {
            throw ValidationError("\(SafeText.clean(path)): \(SafeText.clean("\(error)"))")
        }
        return try rules(in: String(decoding: bytes, as: UTF8.self), of: path)
    }

    static func rules(in text: String, of path: String) throws -> [FaultRuleRequest] {
        var rules: [FaultRuleRequest] = []
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let line = line.trimmed
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let place = "\(SafeText.clean(path)):\(index + 1): "
            guard let arrow = line.range(ofLast: " -> ") else {
                throw ValidationError(
                    place + "expected FILTER -> ACTION, such as rpc:PutFile -> delay 2s")
            }
            do {
                rules.append(
                    try FaultWords.rule(
                        String(line[..<arrow.lowerBound].trimmed),
                        String(line[arrow.upperBound...].trimmed)))
            } catch let error as ValidationError {
                throw ValidationError(place + error.message)
            }
        }
        guard !rules.isEmpty else {
            throw ValidationError("\(SafeText.clean(path)): there is no rule in it")
        }
        return rules
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }

    /// The last range of `words`.
    fileprivate func range(ofLast words: String) -> Range<Index>? {
        ranges(of: words).last
    }
}
