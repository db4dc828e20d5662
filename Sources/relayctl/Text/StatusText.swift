import ControlAPI

/// A status as text: four lines from head unit to apps, a table, and the problems.
///
/// A pure function of the snapshot, a width and a moment, so that tests can compare whole screens.
/// `Commands/Status.swift` prints it; `top` shows some of its lines.
struct StatusText: TextPage {
    let layout: TextLayout

    /// Column where states start: the longest label and a gap.
    private static let stateColumn = 13
    /// Column where details start: "listening" and a gap.
    private static let detailColumn = 24

    /// The whole text, with a line end after each line.
    func render(_ status: StatusSnapshot) -> String {
        var lines = accessory(status.accessory)
        lines += link(status.link, status.accessory)
        lines += server(status.server, status.accessory.spoken)
        if let url = status.relayd.dashboardURL {
            lines += line(
                "Dashboard", "served", .green, [SafeText.clean(url), "relayctl dashboard --open"])
        }
        lines += apps(status)
        lines += notes(status)
        lines += table(status.apps, status.accessory.spoken)
        lines += departures(status.recentDepartures, status.accessory.spoken)
        return lines.map { $0 + "\n" }.joined()
    }

    func render(_ list: AppList) -> String {
        let spoken = list.protocol ?? .sdl
        let rows = table(list.apps, spoken).dropFirst()
        let apps = rows.isEmpty ? ["no \(spoken.client) is connected"] : Array(rows)
        return (apps + departures(list.recentDepartures, spoken)).map { $0 + "\n" }.joined()
    }

    // MARK: - The four lines

    func accessory(_ accessory: AccessoryStatus) -> [String] {
        let isSimulated = accessory.kind == "sim"
        let simulated = isSimulated ? "simulated \(accessory.spoken.accessory)" : nil
        let name = (accessory.name ?? simulated).map { "(\(SafeText.clean($0)))" }
        let address = SafeText.clean(accessory.address)
        let together = [address, name ?? ""].joined(separator: name == nil ? "" : " ")
        let device =
            together.columns <= width - Self.detailColumn ? [together] : [address, name ?? ""]
        let age = Units.duration(seconds: now.seconds(since: accessory.since))
        let look: Style.Look =
            switch accessory.state {
            case .open: .green
            case .opening, .listening, .waiting: .yellow
            default: .red
            }
        var lines = line(
            accessory.spoken == .openxc ? "Vehicle" : "Head unit", accessory.state.words, look,
            device + ["since \(localTime.text(accessory.since, now: now)) (\(age))"])
        if accessory.state != .open, let reason = accessory.reason {
            let tries = accessory.attempts > 1 ? " (tried \(accessory.attempts) times)" : ""
            lines += explanation(reason.message + tries, look: look, remedy: reason.remedy)
        }
        for call in accessory.hanging ?? [] {
            lines += explanation("\(SafeText.clean(call)) hangs in its driver", look: .yellow)
        }
        if let device = accessory.device { lines += words(device, indent: Self.stateColumn) }
        if let hint = accessory.hint { lines += explanation(hint, look: .yellow) }
        if let off = accessory.saidOff {
            let age = accessory.saidOffAt.map { Units.duration(seconds: now.seconds(since: $0)) }
            lines += explanation(
                "the head unit said \(off) \(age ?? "some time") ago and has answered nothing since",
                look: .red,
                remedy: "switch it on; if it is on, relayctl reopen connects to it again")
        }
        if let at = accessory.garbageAt, now.seconds(since: at) < AdviceReport.secondsCurrent {
            lines += explanation(
                "\(Units.bytes(accessory.garbageBytes)) that belong to no "
                    + (accessory.spoken == .openxc ? "message" : "SDL frame") + " were skipped, "
                    + "the last at \(localTime.text(at, now: now))", look: .yellow)
        }
        let (lostIn, lostOut) = (accessory.lostBytesIn ?? 0, accessory.lostBytesOut ?? 0)
        let isNews = accessory.lostAt.map { now.seconds(since: $0) < AdviceReport.secondsCurrent }
        if lostIn > 0 || lostOut > 0, isNews ?? true {
            lines += words(
                "lost when its links ended: \(Units.bytes(lostOut)) "
                    + "for the \(accessory.spoken.accessory), \(Units.bytes(lostIn)) from it",
                indent: Self.stateColumn)
        }
        return lines
    }

    private func link(_ link: LinkStatus, _ accessory: AccessoryStatus) -> [String] {
        let state =
            switch link.state {
            case .sessions: Units.count(link.sessions, "session")
            case .noAccessory: "no \(accessory.spoken.accessory)"
            case .idle where accessory.spoken == .openxc: "open"
            default: link.state.words
            }
        let look: Style.Look? =
            switch link.state {
            case .sessions: .green
            case .noAccessory: .red
            case .startingSession: .yellow
            default: nil
            }
        var details: [String] = []
        if let version = link.protocolVersion {
            details.append("protocol \(SafeText.clean(version))")
        }
        if link.startServiceQueue > 0 {
            details.append(
                "\(Units.count(link.startServiceQueue, "StartService")) waiting for an answer")
        }
        if link.sessionsInFarewell > 0 { details.append("\(link.sessionsInFarewell) ending") }
        if accessory.bytesIn > 0 || accessory.bytesOut > 0 {
            details.append("from it \(Self.frames(accessory.framesIn, accessory.bytesIn))")
            details.append("to it \(Self.frames(accessory.framesOut, accessory.bytesOut))")
        }
        var lines = line("Link", state, look, details)
        if link.paused {
            lines += explanation(
                "\(accessory.spoken.client)s are held back: "
                    + "the \(accessory.spoken.accessory) takes bytes too slowly", look: .yellow)
        }
        return lines
    }

    func server(_ server: ServerStatus, _ spoken: AccessoryProtocol = .sdl) -> [String] {
        var details = server.endpoints.map(SafeText.clean)
        if server.inherited == true { details.append("(systemd's socket)") }
        if server.refusedCount > 0 { details.append("(\(server.refusedCount) refused)") }
        let look: Style.Look =
            switch server.state {
            case .listening: .green
            case .off: .yellow
            default: .red
            }
        var lines = line(
            spoken == .openxc ? "Client port" : "App port", server.state.words, look, details)
        if let reason = server.reason { lines += explanation(reason, look: look) }
        return lines
    }

    func apps(_ status: StatusSnapshot) -> [String] {
        guard status.accessory.spoken == .sdl else {
            return line(
                "Clients", status.apps.isEmpty ? "none" : "\(status.apps.count) connected",
                status.apps.isEmpty ? nil : .green, ["relayctl vi shows what the vehicle says"])
        }
        guard !status.apps.isEmpty else {
            let endpoint = status.server.endpoints.first.map(SafeText.clean)
            let advice = status.server.state == .listening ? endpoint : nil
            return line("Apps", "none", nil, [advice.map { "point your app at \($0)" } ?? ""])
        }
        let registered = status.apps.count(where: { $0.state == .registered })
        return line(
            "Apps", "\(status.apps.count) connected, \(registered) registered",
            registered > 0 ? .green : nil, [])
    }

    /// Notes; empty when there is nothing to report.
    private func notes(_ status: StatusSnapshot) -> [String] {
        var lines: [String] = []
        if let refused = status.relayd.refusedConfiguration {
            lines += line("Config", "refused", .yellow, ["the previous one stays in force"])
            lines += explanation(
                refused, look: .yellow, remedy: "correct the file, then: relayctl reload")
        }
        if let stall = status.diskStall {
            lines += line("Recording", "stuck", stall.trafficWaits ? .red : .yellow, [])
            lines += explanation(
                "the disk of \(SafeText.line(stall.directory)) \(RecordText.stall(stall))",
                look: stall.trafficWaits ? .red : .yellow,
                remedy: "free the disk, or set record.when_behind to miss: then traffic never waits"
            )
        }
        if let problem = status.recordingProblem {
            lines += line("Recording", "none", .red, ["record.always is true"])
            lines += explanation(
                SafeText.clean(problem), look: .red, remedy: "relayd tries again by itself")
        }
        if let media = status.media { lines += self.media(media) }
        if let faults = status.faults { lines += self.faults(faults) }
        let (batches, dropped) = (status.log.droppedBatches, status.log.droppedLines)
        if dropped > 0 || batches > 0 {
            lines += line(
                "Log", "incomplete", .yellow,
                [
                    batches > 0 ? "\(batches) reads never seen" : "",
                    dropped > 0 ? "\(dropped) lines not written" : "",
                ])
        }
        for hit in status.limitsHit where isRecent(hit.lastAt) { lines += limit(hit) }
        return lines
    }

    private func media(_ media: MediaStatus) -> [String] {
        var details: [String] = []
        if !media.save.isEmpty {
            details.append(
                "\(Units.count(media.files, "file")), \(Units.bytes(media.bytes)) in "
                    + SafeText.line(media.directory ?? "no directory"))
        }
        if let address = media.videoAddress {
            details.append(
                "video at \(SafeText.clean(address)), \(Units.count(media.players, "player"))")
        }
        if media.missedFrames > 0 { details.append("\(media.missedFrames) frames missed") }
        let look: Style.Look = media.problem == nil ? .green : .yellow
        var lines = line("Media", media.problem == nil ? "on" : "incomplete", look, details)
        if let problem = media.problem { lines += explanation(SafeText.line(problem), look: look) }
        return lines
    }

    private func faults(_ faults: FaultStatus) -> [String] {
        var details = [
            "\(Units.count(faults.rules, "rule")), \(Units.count(faults.hits, "message")) taken"
        ]
        if faults.heldFrames > 0 {
            details.append(
                "\(Units.count(faults.heldFrames, "frame")) held (\(Units.bytes(faults.heldBytes)))"
            )
        }
        var lines = line("Faults", "on", .yellow, details)
        for rule in faults.first {
            lines += words(FaultText.status(rule), indent: Self.stateColumn)
        }
        let more = faults.rules - faults.first.count
        if more > 0 {
            lines += words("and \(more) more: relayctl fault list", indent: Self.stateColumn)
        }
        return lines
    }

    /// When the limit was last hit, what that did, and how often it has happened since relayd started.
    private func limit(_ hit: LimitHit) -> [String] {
        let name = SafeText.clean(hit.name)
        let what = hit.consequence.map { "\($0) " } ?? ""
        let setting = "\(name) is \(hit.limit), hit \(Units.count(hit.count, "time"))"
        let time = localTime.timeOfDay(hit.lastAt)
        var lines = Paragraph.words(
            what.isEmpty ? setting : "\(what)(\(setting))", used: Self.detailColumn, width: width,
            indent: Self.detailColumn)
        lines[0] =
            style(.bold, "Limit".padded(to: Self.stateColumn)) + style(.yellow, time)
            + String(repeating: " ", count: Self.detailColumn - Self.stateColumn - time.columns)
            + lines[0]
        return lines
    }

    /// Whether something is recent; older things are in the JSON and in the log.
    func isRecent(_ moment: Timestamp) -> Bool {
        now.seconds(since: moment) < AdviceReport.secondsCurrent
    }

    // MARK: - Pieces

    /// Label, state and details; details that do not fit continue on further lines.
    func line(
        _ label: String, _ state: String, _ look: Style.Look?, _ details: [String]
    ) -> [String] {
        let state = SafeText.clean(state)
        let room = Self.detailColumn - Self.stateColumn
        let needsPadding = details.contains { !$0.isEmpty }
        let padded = needsPadding ? state.padded(to: max(room, state.columns + 2)) : state
        let blanks = String(repeating: " ", count: padded.columns - state.columns)
        var lines = Paragraph.flow(
            details, used: Self.stateColumn + padded.columns, width: width,
            indent: Self.detailColumn)
        lines[0] =
            style(.bold, label.padded(to: Self.stateColumn)) + style(look, state) + blanks
            + lines[0]
        return lines.map(Self.withoutTrailingBlanks)
    }

    /// A reason below the line it belongs to, and what to do about it.
    func explanation(
        _ text: String, look: Style.Look, remedy: String? = nil, indent: Int = stateColumn
    ) -> [String] {
        var lines = words(text, indent: indent).map { style(look, $0) }
        if let remedy, !remedy.isEmpty {
            lines += RemedyText.lines(remedy, width: width, indent: indent)
        }
        return lines
    }

    func words(_ text: String, indent: Int) -> [String] {
        var lines = Paragraph.words(
            SafeText.line(text), used: indent, width: width, indent: indent)
        lines[0] = String(repeating: " ", count: indent) + lines[0]
        return lines
    }

    static func withoutTrailingBlanks(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}

extension LimitHit {
    /// The effect of hitting the limit, as a sentence; nil for a limit that this relayctl does not know.
    fileprivate var consequence: String? {
        switch name {
        case "apps.maximum": "an app was turned away: there were as many as may connect"
        case "apps.allow": "an app was turned away: its address is not in the list"
        case "apps.connections_per_second":
            "connections were turned away: too many of one address in a second"
        case "apps.silent_timeout":
            "a connection that stayed silent for this many seconds was closed"
        case "apps.queue_limit": "an app read too slowly: this many bytes waited for it"
        case "apps.stall_grace": "the head unit was held back for an app that read too slowly"
        case "apps.frames_per_second": "an app sent more frames a second and was slowed down"
        case "apps.message_limit": "a message was refused: it was larger than allowed"
        case "apps.pending_starts": "an app asked for more services at once than allowed"
        case "limits.link_queue":
            "the head unit was slower than its apps; they were held back, nothing was lost"
        case "limits.tap_queue":
            "log and statistics were too slow; messages were forwarded without being seen"
        case "sessions": "all sessions of the head unit were in use"
        case "LimitNOFILE": "the system gave relayd no more descriptors; new apps had to wait"
        default: nil
        }
    }
}
