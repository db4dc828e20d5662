import AccessoryLinks

/// USB devices and serial lines as tables, with what stands in the way. `DevicesCommand` prints it. A
/// device may call itself anything, so all of it passes through `SafeText`.
struct DevicesText: TextPage {
    let layout: TextLayout

    func render(_ found: DeviceFindings) -> String {
        var blocks: [String] = []
        let tty = found.ttyAsked
        if tty == nil {
            if let survey = found.usb {
                blocks.append(USBSurveyText(layout: layout).render(survey))
            } else if let problem = found.problem {
                blocks.append(lines(problem))
            }
        }
        let isUSBAsked = found.asked != nil && tty == nil
        if !isUSBAsked { blocks.append(serial(found)) }
        if let tty {
            blocks.append(
                found.problem.map { lines($0) }
                    ?? "\(SafeText.clean(tty.address)) may be opened.\n")
        } else if let running = found.running, found.asked == nil, !running.hasPrefix("usb:") {
            blocks.append(accessory(running, found))
        }
        blocks.append(
            paragraph(
                found.seen != nil
                    ? "What may be opened is judged by the rights of the running relayd."
                    : "No relayd answers; what may be opened is judged by the rights of "
                        + "\(found.usb?.user ?? "this user")."))
        return blocks.joined(separator: "\n")
    }

    private func serial(_ found: DeviceFindings) -> String {
        let devices = found.serial
        guard !devices.isEmpty else { return "No serial line has a device behind it.\n" }
        let asked = found.ttyAsked?.node
        func cells(_ cell: (SerialSurvey.Device) -> String?) -> [String] {
            devices.map { cell($0).map { SafeText.clean($0) } ?? "–" }
        }
        let table = Table([
            .init("Node", cells { $0.node }),
            .init("Driver", cells { $0.driver }),
            .init("Device", cells { $0.name }),
            .init("Address", cells { $0.address }),
            .init(
                "relayd",
                cells { device in
                    if let asked, device.node != asked, device.link != asked {
                        return "another device"
                    }
                    return device.mayOpen ? "may open it" : "may not open it"
                }),
        ]).fitted(
            to: width,
            [
                .shorten("Device", to: 12), .drop("Driver"), .drop("Device"),
                .shortenInMiddle("Address", to: 24),
            ])
        var lines = table.lines(style)
        // For a device that was asked for, the reason is shown below.
        for device in devices where asked == nil {
            guard let reason = device.reason else { continue }
            lines += [""] + wrapped(reason)
            if let remedy = device.remedy {
                lines += RemedyText.lines(remedy, width: width, indent: 2)
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func accessory(_ address: String, _ found: DeviceFindings) -> String {
        let path = address.split(separator: ":", maxSplits: 1).last.map { $0.prefix { $0 != "?" } }
        let node = path.map { String($0) }
        let device = found.serial.first { $0.node == node || ($0.link != nil && $0.link == node) }
        let place = device.map { ", which is \($0.node)" } ?? ""
        return paragraph("relayd is set to \(SafeText.clean(address))\(place).")
    }

    private func lines(_ problem: LinkProblem) -> String {
        var lines = wrapped(problem.message)
        lines[0] = style(.red, lines[0])
        if let remedy = problem.remedy, !remedy.isEmpty {
            lines += RemedyText.lines(remedy, width: width, indent: 2)
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func paragraph(_ text: String) -> String {
        wrapped(text).map { $0 + "\n" }.joined()
    }

    private func wrapped(_ text: String) -> [String] {
        Paragraph.words(SafeText.clean(text), used: 0, width: width, indent: 0)
    }
}
