// The part of the status with a line for each app, or each client of a vehicle interface: those
// connected, and those that left.

import ControlAPI

extension StatusText {
    func table(_ apps: [AppStatus], _ spoken: AccessoryProtocol) -> [String] {
        guard !apps.isEmpty else { return [] }
        func cells(_ cell: (AppStatus) -> String) -> [String] {
            apps.map { SafeText.clean(cell($0)) }
        }
        let table = spoken == .openxc ? clients(cells) : registeredApps(cells)
        var lines = table.lines(style)
        // From the last row up, so that the positions of the others stay valid.
        for (row, app) in apps.enumerated().reversed() {
            lines.insert(contentsOf: problems(app, spoken), at: row + 2)
        }
        return [""] + lines
    }

    /// Clients of a vehicle interface, which have no names, no sessions and no levels.
    private func clients(_ cells: ((AppStatus) -> String) -> [String]) -> Table {
        Table([
            .init("#", cells { "\($0.id)" }, alignRight: true),
            .init("Client", cells(\.peer)),
            .init("From client", cells { Self.amount($0.framesFromApp, $0.bytesFromApp) }),
            .init("To client", cells { Self.amount($0.framesToApp, $0.bytesToApp) }),
            .init("Queue", cells { Units.bytes($0.queueBytes) }),
            .init("Lost", cells { "\($0.lostFrames ?? 0)" }, alignRight: true),
            .init("Refused", cells { "\($0.refusedFrames)" }, alignRight: true),
        ]).fitted(
            to: width,
            [
                .dropIfAll("Queue", "0 B"), .dropIfAll("Refused", "0"),
                .shortenInMiddle("Client", to: 15), .drop("From client"), .drop("Queue"),
                .drop("Refused"), .drop("Client"),
            ])
    }

    private func registeredApps(_ cells: ((AppStatus) -> String) -> [String]) -> Table {
        Table([
            .init("#", cells { "\($0.id)" }, alignRight: true),
            .init("App", cells(Self.appName)),
            .init("App ID", cells { $0.appID ?? "–" }),
            .init("Peer", cells(\.peer)),
            .init("Session", cells(Self.sessions)),
            .init("Protocol", cells { $0.protocolVersion ?? "–" }),
            .init("HMI", cells { $0.hmiLevel ?? "–" }),
            .init("From app", cells { Self.amount($0.framesFromApp, $0.bytesFromApp) }),
            .init("To app", cells { Self.amount($0.framesToApp, $0.bytesToApp) }),
            .init("Queue", cells { Units.bytes($0.queueBytes) }),
        ]).fitted(
            to: width,
            [
                .dropIfAll("App ID", "–"),
                .shorten("App", to: 24),
                .drop("Protocol"),
                .dropIfAll("Queue", "0 B"),
                .replace("From app", with: cells { Units.bytes($0.bytesFromApp) }),
                .replace("To app", with: cells { Units.bytes($0.bytesToApp) }),
                .drop("App ID"),
                .shorten("App", to: 16),
                .shortenInMiddle("Peer", to: 15),
                .shorten("App", to: 12),
                .drop("Queue"),
                .drop("Session"),
                .drop("Peer"),
                .drop("To app"),
                .drop("From app"),
            ])
    }

    static func appName(_ app: AppStatus) -> String {
        guard let name = app.appName else { return "(\(app.state.words))" }
        return app.state == .registered ? name : "\(name) (\(app.state.words))"
    }

    private static func sessions(_ app: AppStatus) -> String {
        app.sessions.isEmpty ? "–" : app.sessions.map(String.init).joined(separator: ",")
    }

    /// Frames and bytes.
    private static func amount(_ frames: Int, _ bytes: Int) -> String {
        "\(frames) / \(Units.bytes(bytes))"
    }

    static func frames(_ frames: Int, _ bytes: Int) -> String {
        "\(Units.count(frames, "frame")), \(Units.bytes(bytes))"
    }

    private func problems(_ app: AppStatus, _ spoken: AccessoryProtocol) -> [String] {
        var lines: [String] = []
        // For clients, the number is in their row.
        if app.refusedFrames > 0, spoken == .sdl {
            lines += explanation(
                "\(Units.count(app.refusedFrames, "frame")) refused: not its session",
                look: .yellow, indent: 5)
        }
        if let problem = app.lastProblem { lines += explanation(problem, look: .yellow, indent: 5) }
        if let advice = app.advice {
            lines += explanation(
                advice.text, look: .yellow, remedy: "\(advice.remedy) (\(advice.code))", indent: 5)
        }
        return lines
    }

    func departures(
        _ departures: [AppDeparture], _ spoken: AccessoryProtocol
    ) -> [String] {
        let departures = departures.filter { isRecent($0.closedAt) }
        guard !departures.isEmpty else { return [] }
        // The name and the reason matter more than the address. Clients of a vehicle interface have no
        // other name.
        let isVehicle = spoken == .openxc
        let hasPeer = width >= Self.widthWithPeer && !isVehicle
        let names = departures.map {
            (isVehicle ? SafeText.clean($0.peer) : $0.appName.map(SafeText.clean) ?? "(no name)")
                .shortened(to: isVehicle || hasPeer ? 24 : 16)
        }
        let peers = departures.map { hasPeer ? SafeText.clean($0.peer) : "" }
        let nameColumns = names.map(\.columns).max() ?? 0
        let peerColumns = peers.map(\.columns).max() ?? 0
        let rows = zip(departures, zip(names, peers)).flatMap { gone, row in
            let fixed =
                "  " + localTime.timeOfDay(gone.closedAt).padded(to: 8) + "  "
                + "\(gone.id)".padded(to: 2, alignRight: true) + "  "
                + row.0.padded(to: nameColumns) + "  "
                + (hasPeer ? row.1.padded(to: peerColumns) + "  " : "")
            let before = gone.lastProblem.map { "; before: \($0)" } ?? ""
            var reason = Paragraph.words(
                SafeText.clean(gone.reason + before), used: fixed.columns, width: width,
                indent: Self.reasonColumn)
            reason[0] = fixed + reason[0]
            return reason.map(Self.withoutTrailingBlanks)
        }
        return ["", style(.bold, "  Left in the last 5 minutes")]
            + rows.map { $0.shortened(to: width) }
    }

    /// Width from which on a row has room for an address beside the reason.
    private static let widthWithPeer = 100
    /// Column where a long reason continues: under the app's name.
    private static let reasonColumn = 16
}
