import ControlAPI
import SDLAdvice

/// Advice and its pages as text. Printed by `ExplainCommand` and `AdviceCommand`, and at
/// the end of `AppText`.
struct AdviceText: TextPage {
    let layout: TextLayout

    /// Wider lines of prose are hard to read.
    private static let maximumProse = 88

    // MARK: - Pages

    /// Lists all codes with their titles.
    func list() -> String {
        let codes = AdviceCode.allCases
        let column = (codes.map(\.rawValue.columns).max() ?? 0) + 2
        return codes.map { code in
            style(.bold, code.rawValue.padded(to: column))
                + code.page.title.shortened(to: width - column) + "\n"
        }.joined()
    }

    /// Everything about one code.
    func page(_ code: AdviceCode) -> String {
        let page = code.page
        let sections = [("", page.cause), ("What to do", page.remedy), ("More", page.details)]
        var lines = [style(.bold, code.rawValue) + "  " + page.title]
        for (title, text) in sections {
            lines.append("")
            if !title.isEmpty { lines.append(style(.bold, title)) }
            lines += prose(text, indent: 2)
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func prose(_ text: String, indent: Int) -> [String] {
        var lines = Paragraph.words(
            text, used: indent, width: min(width, Self.maximumProse), indent: indent)
        lines[0] = String(repeating: " ", count: indent) + lines[0]
        return lines
    }

    // MARK: - Advice

    func advice(_ list: [AdviceReport]) -> String {
        guard !list.isEmpty else { return "no advice\n" }
        return list.flatMap { lines($0, withApp: true) }.map { $0 + "\n" }.joined()
    }

    /// A piece of advice: what, when, how often, and what to do.
    func lines(_ advice: AdviceReport, withApp: Bool, indent: Int = 0) -> [String] {
        let margin = String(repeating: " ", count: indent)
        let time = localTime.text(advice.lastAt, now: now)
        let times = advice.count > 1 ? " (\(advice.count)×)" : ""
        let app = advice.appName.map(SafeText.clean) ?? advice.app.map { "#\($0)" }
        let subject = withApp ? app.map { "\($0): " } ?? "" : ""
        let kind = advice.severity == AdviceReport.info ? "info: " : ""
        let fault = advice.fault.map { "; fault: \(Self.side($0))" } ?? ""
        let head = "\(time)\(times)  \(kind)\(subject)\(Self.clean(advice.text))\(fault)"
        var lines = Paragraph.words(head, used: indent, width: width, indent: indent + 2)
        lines[0] = margin + lines[0]
        if kind.isEmpty { lines = lines.map { style(.yellow, $0) } }
        let remedy = "→ \(Self.clean(advice.remedy))  (\(SafeText.clean(advice.code)))"
        var more = Paragraph.words(remedy, used: indent + 2, width: width, indent: indent + 4)
        more[0] = margin + "  " + more[0]
        return lines + more
    }

    /// The side at fault, in words.
    private static func side(_ word: String) -> String {
        FaultSide(rawValue: word)?.name ?? SafeText.clean(word)
    }

    /// Cleans word by word, because a sentence may be longer than a name.
    private static func clean(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false)
            .map { SafeText.clean(String($0)) }.joined(separator: " ")
    }
}
