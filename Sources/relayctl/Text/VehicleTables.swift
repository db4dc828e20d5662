import ControlAPI
import SDLProtocol

/// An OpenXC vehicle interface as text: tables of signals, frames, answers and clients. Used by the
/// commands of `relayctl vi`.
struct VehicleTables {
    let width: Int
    let style: Style
    let now: Timestamp

    init(width: Int, style: Style, now: Timestamp = .now) {
        self.width = width
        self.style = style
        self.now = now
    }

    init(_ output: OutputOptions) {
        self.init(
            width: Output.current.size().columns, style: Output.current.style(output.color))
    }

    // MARK: - Signals

    func latest(_ report: VehicleReport) -> String {
        header(report) + "\n" + measurements(report.measurements)
    }

    func watch(_ report: VehicleReport) -> String { latest(report) }

    func measurements(_ measurements: [VehicleMeasurement]) -> String {
        guard !measurements.isEmpty else { return "no signal has come yet\n" }
        return text(
            Table([
                .init("Signal", measurements.map(Self.name)),
                .init("Value", measurements.map(Self.value), alignRight: true, minimum: 12),
                .init("Age", measurements.map { age($0.at) }, alignRight: true, minimum: 6),
                .init("Per second", measurements.map { Self.rate($0.perSecond) }, alignRight: true),
                .init("Last minute", measurements.map { Self.sparkline($0.history) }),
            ]).fitted(
                to: width,
                [
                    .drop("Last minute"), .drop("Per second"), .shortenInMiddle("Signal", to: 12),
                    .shorten("Value", to: 8),
                ]))
    }

    /// The vehicle interface in one line.
    private func header(_ report: VehicleReport) -> String {
        let interface = report.interface
        let name = [interface.platform, interface.version].compactMap(\.self).map(SafeText.clean)
        var words = ["OpenXC" + name.map { " " + $0 }.joined()]
        words.append(interface.connected ? "connected" : "not connected")
        if let format = interface.format { words.append(SafeText.clean(format)) }
        words.append("\(Self.rate(interface.messagesPerSecond)) messages/s")
        words.append(Units.count(report.clients.count, "client"))
        let left = report.limits.filter { $0.leftOut > 0 }.map {
            "\($0.leftOut) left out (\(SafeText.clean($0.name.rawValue)): \($0.limit))"
        }
        return Paragraph.flow(words + left, width: width, indent: 2, gap: ", ")
            .map { style(.bold, $0) + "\n" }.joined()
    }

    /// The signal's name; for an event, with its state.
    static func name(_ measurement: VehicleMeasurement) -> String {
        let name = SafeText.clean(measurement.name)
        return measurement.event == nil ? name : "\(name) \(text(measurement.value))"
    }

    static func value(_ measurement: VehicleMeasurement) -> String {
        let value = text(measurement.event ?? measurement.value)
        guard case .number = measurement.event ?? measurement.value, let unit = measurement.unit
        else {
            return value
        }
        return "\(value) \(SafeText.clean(unit))"
    }

    static func text(_ value: VehicleScalar) -> String {
        switch value {
        case .flag(let flag): "\(flag)"
        case .text(let text): SafeText.clean(text)
        case .number(let number): self.number(number)
        }
    }

    /// Since 1970 or since power-on; a fraction is kept.
    private static func milliseconds(_ time: Double) -> String {
        Int64(exactly: time).map(String.init) ?? "\(time)"
    }

    /// At most three digits after the decimal point.
    static func number(_ value: Double) -> String {
        guard value.magnitude < 1e12 else { return "\(value)" }
        let text = "\((value * 1000).rounded() / 1000)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    static func rate(_ perSecond: Double) -> String {
        let tenths = Int(min(max(0, (perSecond * 10).rounded()), 1e12))
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static let levels = Array("▁▂▃▄▅▆▇█")
    private static let sparklineColumns = 20

    /// One column for each of the latest values, scaled between their minimum and maximum.
    static func sparkline(_ values: [Double]) -> String {
        let shown = values.suffix(sparklineColumns)
        guard let least = shown.min(), let greatest = shown.max() else { return "" }
        let span = greatest - least
        return String(
            shown.map { value in
                let share = span > 0 && span.isFinite ? (value - least) / span : 0
                return levels[min(levels.count - 1, max(0, Int(share * Double(levels.count))))]
            })
    }

    private func age(_ moment: Timestamp) -> String {
        let milliseconds = max(0, now.millisecondsSince1970 - moment.millisecondsSince1970)
        guard milliseconds >= 10_000 else {
            return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
        }
        return Units.duration(seconds: Int(clamping: milliseconds / 1000))
    }

    // MARK: - CAN and diagnostics

    func can(_ frames: [VehicleCANMessage]) -> String {
        guard !frames.isEmpty else {
            return
                "no such CAN frame has come; 'relayctl vi can --bus 1 --passthrough' asks for them\n"
        }
        return text(
            Table([
                .init("Bus", frames.map { $0.bus.map(String.init) ?? "" }, alignRight: true),
                .init("ID", frames.map { Self.hex($0.id) }, alignRight: true),
                .init("Data", frames.map { SafeText.clean($0.data) }),
                .init("Age", frames.map { age($0.at) }, alignRight: true),
                .init("Per second", frames.map { Self.rate($0.perSecond) }, alignRight: true),
                .init("Count", frames.map { "\($0.count)" }, alignRight: true),
            ]).fitted(to: width, [.drop("Count"), .drop("Per second")]))
    }

    func diagnostics(_ report: VehicleReport) -> String {
        var text = ""
        if report.diagnostics.isEmpty {
            text += "no diagnostic answer has come yet\n"
        } else {
            for answer in report.diagnostics { text += "\(line(answer))  (\(age(answer.at)))\n" }
        }
        return text + requests(report)
    }

    func answers(_ report: VehicleDiagnosticReport) -> String {
        guard report.status != false else {
            let why = report.message.map(SafeText.clean) ?? ""
            return "the vehicle interface refuses the request\(why.isEmpty ? "" : ": \(why)")\n"
        }
        guard !report.answers.isEmpty else {
            return "no module has answered in \(Units.latency(report.milliseconds))\n"
        }
        return report.answers.map { line($0) + "\n" }.joined()
    }

    private func line(_ answer: VehicleDiagnostic) -> String {
        var text = Self.request(answer.bus, answer.id, answer.mode, answer.pid, answer.parameter)
        guard answer.success else {
            let code = answer.negativeResponseCode.map { " \(Self.hex($0))" } ?? ""
            let reason = answer.reason.map { " \(SafeText.clean($0))" } ?? ""
            return text + style(.red, "refused\(code)\(reason)")
        }
        var said: [String] = []
        if let decoded = answer.decoded {
            said.append(
                Self.number(decoded) + (answer.unit.map { " \(SafeText.clean($0))" } ?? ""))
        } else if let value = answer.value {
            said.append(Self.text(value))
        }
        if let payload = answer.payload { said.append("payload \(SafeText.clean(payload))") }
        text += said.isEmpty ? "positive" : said.joined(separator: "  ")
        return text
    }

    private static func request(
        _ bus: Int?, _ id: Int, _ mode: Int, _ pid: Int, _ parameter: String?
    ) -> String {
        (bus.map { "bus \($0)  " } ?? "") + "\(hex(id))  mode \(hex(mode))"
            + (pid == 0 ? "" : "  pid \(hex(pid))")
            + (parameter.map { " (\(SafeText.clean($0)))" } ?? "") + "  "
    }

    private func requests(_ report: VehicleReport) -> String {
        var lines = report.requests.map { request in
            "repeated:  "
                + Self.request(
                    request.bus, request.id, request.mode, request.pid, request.parameter)
                + "\(Self.number(request.frequency))/s for "
                + Self.owners(request.clients, request.api)
        }
        lines += report.switches.map { wanted in
            "on:  \(SafeText.clean(wanted.name))"
                + (wanted.bus.map { " bus \($0)" } ?? "")
                + " for \(Self.owners(wanted.clients, wanted.api))"
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func owners(_ clients: [Int], _ api: Int) -> String {
        let names =
            clients.map { "client #\($0)" }
            + (api > 0 ? [Units.count(api, "request") + " of the control API"] : [])
        return names.joined(separator: ", ")
    }

    static func hex(_ number: Int) -> String {
        "0x" + number.hexDigits(atLeast: 2)
    }

    // MARK: - Clients and messages

    func clients(_ report: VehicleReport) -> String {
        let clients = report.clients
        guard !clients.isEmpty else { return "no client is connected\n" + requests(report) }
        let table = Table([
            .init("Client", clients.map { "#\($0.id)" }, alignRight: true),
            .init("From", clients.map { SafeText.clean($0.peer) }),
            .init("Format", clients.map { SafeText.clean($0.format) }),
            .init("Gets", clients.map { Self.text($0.subscription) }),
            .init("Messages", clients.map { "\($0.messagesOut)" }, alignRight: true),
            .init(
                "Queue",
                clients.map { "\(Units.bytes($0.queueBytes)) of \(Units.bytes($0.queueLimit))" },
                alignRight: true),
            .init("Lost", clients.map { "\($0.lost)" }, alignRight: true),
            .init("Refused", clients.map { "\($0.refused)" }, alignRight: true),
            .init(
                "May write",
                clients.map {
                    $0.writes.isEmpty
                        ? "nothing" : $0.writes.map(SafeText.clean).joined(separator: " ")
                }),
        ])
        let problems = clients.compactMap { client in
            client.problem.map { "#\(client.id): \(SafeText.clean($0))\n" }
        }
        return text(
            table.fitted(
                to: width,
                [.drop("May write"), .shorten("Gets", to: 8), .drop("Refused"), .drop("From")]))
            + problems.joined() + requests(report)
    }

    private static func text(_ subscription: VehicleSubscription) -> String {
        var words = subscription.names + subscription.ids
        words += subscription.buses.map { "bus \($0)" }
        if words.isEmpty { words = ["everything"] }
        if subscription.onChange { words.append("on change") }
        if subscription.rate > 0 { words.append("at most \(subscription.rate)/s") }
        return words.map(SafeText.clean).joined(separator: ", ")
    }

    static func line(_ message: VehicleMessageReport, zone: LocalTime = .system) -> String {
        let time = zone.exactTimeOfDay(message.at)
        let line = "\(time)  \(parties(message))\(SafeText.line(message.text))"
        guard let raw = message.raw else { return line }
        let clock = message.vehicleTime.map { "  at \(milliseconds($0)) ms by its clock" }
        let indent = String(repeating: " ", count: time.count + 2)
        return line + "\n\(indent)\(SafeText.line(raw))\(clock ?? "")"
    }

    /// Sender and receiver. Messages from the vehicle interface to all are by far the most frequent, so
    /// those are not labelled.
    private static func parties(_ message: VehicleMessageReport) -> String {
        let isForAll = message.from == .vehicle && message.to == .all
        guard message.kind != .link, message.kind != .missed, !isForAll else { return "" }
        func name(_ party: VehicleParty) -> String {
            switch party {
            case .client: message.client.map { "#\($0)" } ?? "a client"
            case .api: "control API"
            default: SafeText.clean(party.rawValue)
            }
        }
        return "\(name(message.from)) → \(name(message.to))  "
    }

    private func text(_ table: Table) -> String {
        table.lines(style).map { $0 + "\n" }.joined()
    }
}
