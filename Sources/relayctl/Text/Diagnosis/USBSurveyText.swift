import AccessoryLinks

/// USB devices as a table, with what stands in the way. `DevicesText` and `USBCommand` print it. A device
/// may call itself anything, so all of it passes through `SafeText`.
struct USBSurveyText: TextPage {
    let layout: TextLayout

    func render(_ survey: USBSurvey) -> String {
        guard !survey.rows.isEmpty else {
            return (["No USB devices are plugged in."] + accessory(survey))
                .map { $0 + "\n" }.joined() + problem(survey)
        }
        let rows = survey.rows
        let table = Table([
            .init("Port", rows.map(\.device.portPath)),
            .init("ID", rows.map(\.device.identifier)),
            .init("Device", rows.map { clean($0.device.productName) }),
            .init("Serial", rows.map { clean($0.device.serial) }),
            .init("Address", rows.map { SafeText.clean($0.address) }),
            .init("relayd", rows.map { words($0) }),
        ]).fitted(
            to: width,
            [
                .shorten("Device", to: 12), .shorten("Serial", to: 8), .drop("Serial"),
                .shorten("relayd", to: 20),
            ])
        var lines = table.lines(style)
        for row in rows {
            if let rule = row.rule {
                lines += [
                    "",
                    "\(row.device.nodePath) (port \(row.device.portPath)) may not be opened by "
                        + "\(survey.user). As root, put this line into",
                    "\(USBAccessRule.file), run 'udevadm control --reload' and plug "
                        + "the device in again:", "", rule,
                ]
            }
            if row.isHeldByDriver, case .opens(let pipes) = row.use, let driver = pipes.driver {
                lines += note(
                    row,
                    "the kernel's \(driver) driver has interface \(pipes.interface); "
                        + USBDriver.remedy(driver, address: row.address, tty: row.tty))
            }
            if let hint = row.hint { lines += note(row, hint) }
        }
        lines += accessory(survey)
        return lines.map { $0 + "\n" }.joined() + problem(survey)
    }

    private func accessory(_ survey: USBSurvey) -> [String] {
        guard let (address, port) = survey.accessory else { return [] }
        let shown = SafeText.clean(address)
        return [
            "",
            port.map { "relayd is set to \(shown), which is the device at port \($0)." }
                ?? "relayd is set to \(shown), which none of these is; relayctl devices '\(shown)' "
                + "says why not.",
        ]
    }

    private func note(_ row: USBSurvey.Row, _ words: String) -> [String] {
        ["", "Port \(row.device.portPath): \(SafeText.clean(words))"]
    }

    private func problem(_ survey: USBSurvey) -> String {
        guard let problem = survey.problem else { return "" }
        var lines = Paragraph.words(
            SafeText.clean(problem.message), used: 0, width: width, indent: 2)
        lines[0] = style(.red, lines[0])
        if let remedy = problem.remedy {
            var more = Paragraph.words(
                "→ " + SafeText.clean(remedy), used: 2, width: width, indent: 4)
            more[0] = "  " + more[0]
            lines += more
        }
        return "\n" + lines.map { $0 + "\n" }.joined()
    }

    private func words(_ row: USBSurvey.Row) -> String {
        switch row.use {
        case .opens(let pipes) where row.isHeldByDriver:
            return "interface \(pipes.interface) is held by \(pipes.driver ?? "a driver")"
        case .opens(let pipes):
            let setting = pipes.choosesAlternate ? " alt \(pipes.alternate)" : ""
            return "opens interface \(pipes.interface)\(setting), "
                + "in \(USBText.byte(pipes.endpointIn)), out \(USBText.byte(pipes.endpointOut))"
        case .switches: return "switches it to accessory mode"
        case .ambiguous: return "one of several that fit"
        case .no(let reason): return SafeText.clean(reason)
        }
    }

    private func clean(_ text: String?) -> String { text.map(SafeText.clean) ?? "–" }
}
