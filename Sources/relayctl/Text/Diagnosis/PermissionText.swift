import ControlAPI

/// The answer to "may I send this now?" as text. `PermissionsCommand` prints it.
struct PermissionText: TextPage {
    let layout: TextLayout

    func render(_ answer: PermissionAnswer) -> String {
        let app = answer.appName.map(SafeText.clean) ?? "#\(answer.app)"
        let look: Style.Look =
            switch answer.answer {
            case .yes: .green
            case .no: .red
            default: .yellow
            }
        let word = SafeText.clean(answer.answer.rawValue)
        let sentence = "\(SafeText.clean(answer.rpc)) of \(app): \(SafeText.clean(answer.reason))"
        var lines = Paragraph.words(sentence, used: word.columns + 2, width: width, indent: 2)
        lines[0] = style(look, word) + "  " + lines[0]
        if let remedy = answer.remedy {
            var more = Paragraph.words(
                "→ " + SafeText.clean(remedy), used: 2, width: width, indent: 4)
            more[0] = "  " + more[0]
            lines += more
        }
        if let permission = answer.permission { lines += details(permission) }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Every RPC the head unit named, with the levels it is allowed in and whether the app may use it now.
    func render(_ report: AppReport) -> String {
        let app = report.app.appName.map(SafeText.clean) ?? "#\(report.app.id)"
        guard !report.permissions.isEmpty else {
            return "the head unit has not said what \(app) may do (OnPermissionsChange)\n"
        }
        func words(_ levels: [String]) -> String {
            levels.map(SafeText.clean).joined(separator: " ")
        }
        let table = Table([
            .init("RPC", report.permissions.map { SafeText.clean($0.rpc) }),
            .init("Now", report.permissions.map { SafeText.clean($0.answer.rawValue) }),
            .init("Allowed in", report.permissions.map { words($0.allowed) }),
            .init("Refused by the user in", report.permissions.map { words($0.userDisallowed) }),
        ]).fitted(
            to: width,
            [
                .dropIfAll("Refused by the user in", ""), .drop("Refused by the user in"),
                .shorten("RPC", to: 16), .drop("Allowed in"),
            ])
        let count = report.permissions.count { $0.answer == .yes }
        let head =
            "\(app) may use \(count) of \(report.permissions.count) RPCs \(place(report.hmi))"
        return ([head] + table.lines(style)).map { $0 + "\n" }.joined()
    }

    private func place(_ hmi: [HMIStatusReport]) -> String {
        guard let newest = hmi.first else { return "before its first OnHMIStatus" }
        // The same rule as in relayd: without a level, an app is in NONE.
        return newest.level.map { "in \(SafeText.clean($0))" }
            ?? "in NONE: its newest OnHMIStatus names no known level"
    }

    private func details(_ permission: PermissionReport) -> [String] {
        let rows = [
            ("allowed in", permission.allowed),
            ("refused by the user in", permission.userDisallowed),
            ("allowed parameters", permission.allowedParameters),
            ("parameters refused by the user", permission.userDisallowedParameters),
        ]
        return rows.flatMap { label, words -> [String] in
            guard !words.isEmpty else { return [] }
            let head = "  \(label): "
            var lines = Paragraph.flow(
                words.map(SafeText.clean), used: head.columns, width: width, indent: 4, gap: " ")
            lines[0] = head + lines[0]
            return lines
        }
    }
}
