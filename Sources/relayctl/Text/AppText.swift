import ControlAPI

/// Everything known about an app as text, in sections; empty sections are left out.
///
/// A pure function of the report, a width and a moment. `Commands/App.swift` prints it.
struct AppText: TextPage {
    let layout: TextLayout

    /// Maximum number of rows per section; --json has all.
    private static let maximumRows = 20

    func render(_ report: AppReport) -> String {
        var lines = head(report)
        lines += section("Advice", report.advice.prefix(5).reversed().flatMap(advice))
        lines += section("Registration", registration(report.registration))
        lines += section("HMI", hmi(report.hmi))
        lines += section("Services", services(report.services))
        lines += section("Without answer", pending(report.pending))
        lines += section("Permissions", permissions(report))
        lines += section("Capabilities", capabilities(report.capabilities))
        lines += section("Files", files(report.files))
        lines += section("Menu", menu(report.menu))
        lines += section("Subscriptions", subscriptions(report.subscriptions))
        return lines.map { $0 + "\n" }.joined()
    }

    // MARK: - Who

    private func head(_ report: AppReport) -> [String] {
        let app = report.app
        let name = app.appName.map(SafeText.clean) ?? "(no name)"
        let versions = [
            app.protocolVersion.map { "protocol \(SafeText.clean($0))" },
            report.registration?.version.map { "RPC \(SafeText.clean($0))" },
        ]
        let sessions = app.sessions.map(String.init).joined(separator: ",")
        let details =
            [
                "#\(app.id)", app.appID.map { "ID \(SafeText.clean($0))" },
                SafeText.clean(app.state.words),
                sessions.isEmpty ? nil : "session \(sessions)",
            ] + versions + [
                SafeText.clean(app.peer),
                "connected \(localTime.text(app.connectedAt, now: now))",
                "\(Units.count(report.requests, "request")), \(report.failures) failed",
            ]
        var lines = Paragraph.flow(
            details.compactMap { $0 }, used: name.columns + 2, width: width, indent: 2)
        lines[0] = style(.bold, name) + "  " + lines[0]
        if let problem = app.lastProblem {
            lines += words("last problem: " + problem, indent: 2).map { style(.yellow, $0) }
        }
        return lines
    }

    private func advice(_ advice: AdviceReport) -> [String] {
        AdviceText(layout: layout).lines(advice, withApp: false, indent: 2)
    }

    private func registration(_ registration: RegistrationReport?) -> [String] {
        guard let registration else { return [] }
        let asked = [
            registration.requestedVersion.map { "RPC \($0)" },
            registration.hmiTypes.joined(separator: " "),
            registration.isMedia == true ? "media" : nil,
            registration.languageDesired,
            registration.vrSynonyms.isEmpty
                ? nil : "called \(registration.vrSynonyms.joined(separator: ", "))",
            registration.wantsResumption ? "resumes an earlier session" : nil,
        ]
        let answered = [
            registration.resultCode, registration.version.map { "RPC \($0)" },
            registration.language, registration.info.map { "\"\($0)\"" },
        ]
        return row("asked", [localTime.text(registration.requestedAt, now: now)] + asked)
            + row(
                "answered",
                registration.answeredAt == nil ? ["not yet"] : answered)
    }

    // MARK: - Now

    private func hmi(_ history: [HMIStatusReport]) -> [String] {
        cut(history, most: 6) { status in
            let words = [status.level, status.audio, status.video, status.context]
            return "  " + localTime.text(status.at, now: now) + "  "
                + words.compactMap { $0.map(SafeText.clean) }.joined(separator: "  ")
        }
    }

    private func services(_ services: [ServiceReport]) -> [String] {
        services.flatMap { service -> [String] in
            row(
                service.service,
                [
                    "session \(service.session)",
                    "since \(localTime.text(service.since, now: now))",
                    service.isProtected ? "protected" : nil, service.format,
                    service.picturesPerSecond.map { "\($0) pictures/s" },
                    service.bitsPerSecond.map(Self.rate),
                    service.frames.map { "\(Units.count($0, "frame"))" },
                    service.bytes.map(Units.bytes), service.mtu.map { "mtu \($0)" },
                ])
        }
    }

    private static func rate(_ bits: Int) -> String {
        bits < 1_000_000
            ? "\(bits / 1000) kbit/s" : "\(bits / 1_000_000).\(bits / 100_000 % 10) Mbit/s"
    }

    private func pending(_ pending: [PendingReport]) -> [String] {
        cut(pending) { request in
            let id = request.correlationID.map { " #\($0)" } ?? ""
            let age = Units.duration(seconds: now.seconds(since: request.at))
            let side = request.from == "app" ? "of the app" : "of the head unit"
            return "  \(SafeText.clean(request.rpc))\(id) \(side), for \(age)"
        }
    }

    private func permissions(_ report: AppReport) -> [String] {
        guard !report.permissions.isEmpty else { return [] }
        let level = report.hmi.first?.level ?? "NONE"
        let denied = report.permissions.filter { $0.answer == .no }
        let count = report.permissions.count { $0.answer == .yes }
        var lines = row(
            "allowed", ["\(count) of \(report.permissions.count) RPCs in \(SafeText.clean(level))"])
        if !denied.isEmpty { lines += row("not now", denied.map(\.rpc), gap: " ") }
        return lines
    }

    private func capabilities(_ known: CapabilityReport) -> [String] {
        func size(_ width: Int?, _ height: Int?) -> String? {
            guard let width, let height else { return nil }
            return "\(width)×\(height)"
        }
        return row(
            "display",
            [
                known.displayName, size(known.displayWidth, known.displayHeight),
                known.textFields.map { Units.count($0, "text field") },
                known.imageFields.map { Units.count($0, "image field") },
                known.templates.map { Units.count($0, "template") },
                known.buttons.map { Units.count($0, "button") },
                known.graphic == false ? "no graphics" : nil,
            ])
            + row(
                "video",
                [
                    size(known.videoWidth, known.videoHeight),
                    known.maximumVideoKilobits.map { "up to \($0) kbit/s" },
                    known.videoFormats.joined(separator: " "),
                ])
            + row("reported", known.reported, gap: " ")
    }

    // MARK: - On the head unit

    private func files(_ files: FilesReport) -> [String] {
        let space = files.spaceAvailable.map { "\(Units.bytes($0)) free" }
        guard !files.files.isEmpty || space != nil else { return [] }
        let listed = files.isListed ? nil : "the app has not sent ListFiles: there may be more"
        let summary = [Units.count(files.files.count, "file"), space, listed]
        return row("", summary)
            + cut(files.files) { file in
                let parts = file.totalBytes.flatMap { total in
                    total > file.bytes ?? 0 ? "of \(Units.bytes(total))" : nil
                }
                return "  "
                    + [
                        file.name, file.type, file.bytes.map(Units.bytes), parts,
                        file.isPersistent == true ? "persistent" : nil,
                    ].compactMap { $0.map(SafeText.clean) }.joined(separator: "  ")
            }
    }

    private func menu(_ menu: MenuReport) -> [String] {
        cut(menu.subMenus) { "  sub menu \($0.id)  \(SafeText.clean($0.name))" }
            + cut(menu.commands) { command in
                let words = [
                    command.name, command.parent.map { "in \($0)" },
                    command.spoken.isEmpty
                        ? nil : "spoken \(command.spoken.joined(separator: ", "))",
                ]
                return "  command \(command.id)  "
                    + words.compactMap { $0.map(SafeText.clean) }.joined(separator: "  ")
            }
            + cut(menu.choiceSets) { "  choice set \($0.id)  \(Units.count($0.choices, "choice"))" }
    }

    private func subscriptions(_ known: SubscriptionsReport) -> [String] {
        let buttons = known.buttons + (known.wayPoints ? ["way points"] : [])
        return row("told of", buttons, gap: " ")
            + cut(known.vehicleData) { datum in
                let value = datum.value.map { "= " + SafeText.clean($0) } ?? "no value yet"
                let time = datum.at.map { " (\(localTime.text($0, now: now)))" } ?? ""
                let kind = datum.isSubscribed ? "" : "  only read"
                return "  \(SafeText.clean(datum.name)) \(value)\(time)\(kind)"
            }
    }

    // MARK: - Pieces

    private func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : ["", style(.bold, title)] + lines.map { $0.shortened(to: width) }
    }

    /// A label with its details; empty when there are none.
    private func row(_ label: String, _ details: [String?], gap: String = "  ") -> [String] {
        let parts = details.compactMap { $0.map(SafeText.clean) }.filter { !$0.isEmpty }
        guard !parts.isEmpty else { return [] }
        let head = label.isEmpty ? "  " : "  " + label.padded(to: 10)
        var lines = Paragraph.flow(
            parts, used: head.columns, width: width, indent: head.columns, gap: gap)
        lines[0] = head + lines[0]
        return lines
    }

    private func cut<Item>(
        _ items: [Item], most: Int = AppText.maximumRows, _ line: (Item) -> String
    ) -> [String] {
        let more = items.count - most
        return items.prefix(most).map(line)
            + (more > 0 ? ["  … and \(more) more (--json has all)"] : [])
    }

    private func words(_ text: String, indent: Int) -> [String] {
        var lines = Paragraph.words(
            SafeText.clean(text), used: indent, width: width, indent: indent + 2)
        lines[0] = String(repeating: " ", count: indent) + lines[0]
        return lines
    }
}
