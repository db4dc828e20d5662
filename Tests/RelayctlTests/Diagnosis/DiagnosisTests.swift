import ControlAPI
import Foundation
import Testing

@testable import relayctl

@Suite struct DiagnosisTests {
    private func diagnosis(
        _ status: StatusSnapshot, advice: [AdviceReport] = [], firewall: String? = nil
    ) -> Diagnosis {
        Diagnosis(
            status, advice: advice, socket: "/run/relayd/relayd.sock", firewall: firewall,
            now: Samples.now)
    }

    private func states(_ diagnosis: Diagnosis) -> [String] {
        diagnosis.checks.map { "\($0.name) \($0.state)" }
    }

    @Test("a head unit that is not open comes first, with relayd's own remedy") func headUnit() {
        let found = diagnosis(Samples.broken)
        #expect(states(found) == ["daemon ok", "head unit broken"] && found.broken == "head unit")
        #expect(found.checks[1].text.contains("/dev/ttyUSB0: no such device"))
        #expect(found.checks[1].remedy == "plug the device in; relayd opens it by itself")
    }

    @Test("then the port: switched off, or for this machine only, or behind a firewall")
    func port() {
        let off = diagnosis(
            Samples.snapshot(server: ServerStatus(state: .off, reason: "switched off")))
        #expect(off.broken == "port" && off.checks.last?.remedy == "relayctl server on")
        let local = diagnosis(Samples.snapshot())
        #expect(states(local) == ["daemon ok", "head unit ok", "port hint", "app none"])
        #expect(local.broken == nil)
        let moved = diagnosis(
            Samples.snapshot(
                server: ServerStatus(state: .listening, endpoints: ["127.0.0.1:2974"])))
        #expect(moved.checks[2].remedy?.contains("relayd --listen 0.0.0.0:2974") == true)
        let open = ServerStatus(state: .listening, endpoints: ["192.168.1.5:2776"])
        let walled = diagnosis(Samples.snapshot(server: open), firewall: "ufw")
        #expect(walled.checks[2].remedy?.contains("sudo ufw allow 2776/tcp") == true)
        #expect(diagnosis(Samples.snapshot(server: open)).checks[2].state == "ok")
    }

    @Test("of a vehicle interface it speaks of clients, and asks nobody for a registration")
    func vehicle() {
        var accessory = AccessoryStatus(
            kind: "sim", address: "sim:openxc", state: .open, since: Samples.start, openedCount: 1)
        accessory.protocol = .openxc
        let server = ServerStatus(state: .listening, endpoints: ["127.0.0.1:50001"])
        let alone = diagnosis(Samples.snapshot(accessory: accessory, server: server))
        #expect(states(alone) == ["daemon ok", "vehicle ok", "port hint", "client none"])
        #expect(alone.checks[2].text.hasSuffix("only clients on this machine"))
        #expect(alone.checks[2].remedy?.contains("relayd --listen 0.0.0.0:50001") == true)
        let client = AppStatus(
            id: 3, peer: "127.0.0.1:40112", connectedAt: Samples.start, state: .connected,
            lastProblem: "reads too slowly: 5 messages lost")
        let slow = diagnosis(
            Samples.snapshot(accessory: accessory, server: server, apps: [client]))
        #expect(slow.broken == nil)
        #expect(
            slow.checks.suffix(2).map(\.text) == [
                "1 client connected", "client #3: reads too slowly: 5 messages lost",
            ])
        for text in (alone.checks + slow.checks).map(\.text) {
            #expect(!text.contains("app ") && !text.contains("apps") && !text.contains("head unit"))
        }
    }

    @Test("the dashboard is named where it is served, without its token") func dashboard() {
        #expect(diagnosis(Samples.snapshot()).checks.allSatisfy { $0.name != "dashboard" })
        var snapshot = Samples.broken
        snapshot.relayd.dashboardURL = "http://127.0.0.1:2777/"
        let found = diagnosis(snapshot)
        #expect(states(found) == ["daemon ok", "dashboard ok", "head unit broken"])
        #expect(
            found.checks[1].text
                == "http://127.0.0.1:2777/ shows all of this live; relayctl dashboard --open opens it"
        )
    }

    @Test("without relayd its configuration comes first, when that is why it does not run")
    func configuration() {
        let absent = ControlClientError.notRunning([.init(path: "/x.sock", problem: .absent)])
        let mistakes = ConfigurationCheck(
            isGood: false, lines: ["/e.yaml:3:5: listen[0]: expected HOST:PORT", "/e.yaml:7:1: x"])
        let wrong = Diagnosis(unreachable: absent, configuration: mistakes)
        #expect(states(wrong) == ["configuration broken"] && wrong.broken == "configuration")
        #expect(wrong.checks[0].text.contains("/e.yaml:3:5: listen[0]"))
        #expect(wrong.checks[0].text.contains("and 1 more mistake"))

        let good = ConfigurationCheck(isGood: true, lines: ["/e.yaml: ok"])
        let stopped = Diagnosis(unreachable: absent, configuration: good)
        #expect(states(stopped) == ["configuration ok", "daemon broken"])
        #expect(stopped.checks[1].remedy?.hasPrefix("start it (relayd") == true)
        #expect(states(Diagnosis(unreachable: absent)) == ["daemon broken"])

        let places = ControlClientError.notRunning([
            .init(path: "/a b/x.sock", problem: .absent),
            .init(path: "/y.sock", problem: .abandoned),
        ])
        #expect(
            Diagnosis(unreachable: places).checks[0].text == """
                relayd is not running; looked at /a b/x.sock: does not exist; /y.sock: nothing answers \
                (left behind by a relayd that was killed)
                """)

        // A problem that exists only on this machine is not a mistake.
        let elsewhere = ConfigurationCheck(
            isGood: true,
            lines: [
                "/e.yaml: ok", "/e.yaml:2:10: warning: control.group: there is none; create it",
            ])
        let warned = Diagnosis(unreachable: absent, configuration: elsewhere)
        #expect(states(warned) == ["configuration ok", "configuration hint", "daemon broken"])
        #expect(warned.checks[0].text == "/e.yaml: ok")
        #expect(warned.checks[1].text.hasSuffix("control.group: there is none"))
        #expect(warned.checks[1].remedy == "create it")

        // If relayd is stuck, or another program answers, the configuration is not the cause.
        for other in [ControlClientError.timedOut("/x"), .notRelayd("/x", "it is nginx")] {
            #expect(
                states(Diagnosis(unreachable: other, configuration: mistakes)) == ["daemon broken"])
        }
    }

    @Test("only a relayd that does not answer is to be restarted, not one that is busy")
    func remedies() {
        func remedy(_ error: ControlClientError) -> String? {
            Diagnosis(unreachable: error).checks.last?.remedy
        }
        #expect(remedy(.timedOut("/x"))?.contains("restart it") == true)
        let full = ControlClientError.refused(
            "/x", path: "/", status: 429, server: "relayd/\(Version.current)", message: "full")
        for busy in [.crowded("/x"), .hungUp("/x"), full] {
            #expect(remedy(busy)?.hasPrefix("try again in a moment") == true)
        }
        let no = ControlClientError.refused(
            "/x", path: "/", status: 500, server: "relayd/\(Version.current)", message: "no")
        let stranger = ControlClientError.notRelayd("/x", "it is nginx")
        let other = ControlClientError.notUnderstood("/x", server: "relayd/9", problem: "text")
        for error in [full, no, stranger, other] {
            #expect(remedy(error)?.contains("restart") == false)
        }
        #expect(remedy(stranger)?.contains("--socket PATH") == true)
    }

    @Test("a file that has gone bad under a running relayd is a hint: the chain works")
    func changedConfiguration() {
        let mistake = ConfigurationCheck(isGood: false, lines: ["/e.yaml:3:5: wrong"])
        let found = Diagnosis(
            Samples.snapshot(apps: [Samples.registeredApp]), advice: [], socket: "/x",
            configuration: mistake)
        #expect(found.broken == nil && states(found)[1] == "configuration hint")
        #expect(found.checks[1].text.contains("/e.yaml:3:5: wrong"))
        #expect(found.checks[1].remedy == "correct it, then: relayctl reload")
    }

    @Test("a specification that was not taken is a hint, with what is used instead")
    func specification() {
        let refused = SpecificationReport(version: "8.0.0", problem: "/s.xml:2: <struct>: no name")
        let found = Diagnosis(
            Samples.snapshot(apps: [Samples.registeredApp]), advice: [], socket: "/x",
            specification: refused)
        #expect(found.broken == nil && states(found)[1] == "specification hint")
        #expect(found.checks[1].text.contains("built-in specification 8.0.0"))
        #expect(found.checks[1].text.contains("/s.xml:2: <struct>: no name"))
        let fine = Diagnosis(
            Samples.snapshot(), advice: [], socket: "/x",
            specification: SpecificationReport(version: "3.2.1", file: "/s.xml"))
        #expect(!states(fine).contains { $0.hasPrefix("specification") })
    }

    @Test("a socket that is closed to the user is a matter of permission, with who may")
    func permission() {
        let closed = ControlClientError.notRunning([
            .init(path: "/a.sock", problem: .absent),
            .init(path: "/b.sock", problem: .notPermitted(remedy: "join the group (sudo …)")),
        ])
        let found = Diagnosis(
            unreachable: closed, configuration: ConfigurationCheck(isGood: false, lines: ["x"]))
        #expect(states(found) == ["permission broken"] && found.broken == "permission")
        #expect(found.checks[0].remedy == "join the group (sudo …)")
    }

    @Test("firewalls are known by their files") func firewalls() throws {
        let root = NSTemporaryDirectory() + "relayctl-firewall.\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: root) }
        for directory in ["/etc/ufw", "/run"] {
            try FileManager.default.createDirectory(
                atPath: root + directory, withIntermediateDirectories: true)
        }
        #expect(Firewall.active(in: root) == nil)
        let file = root + "/etc/ufw/ufw.conf"
        try "# ufw\nENABLED=no\n".write(toFile: file, atomically: false, encoding: .utf8)
        #expect(Firewall.active(in: root) == nil)
        try "# ufw\nENABLED=yes\n".write(toFile: file, atomically: false, encoding: .utf8)
        #expect(Firewall.active(in: root) == "ufw")
        try FileManager.default.createDirectory(
            atPath: root + "/run/firewalld", withIntermediateDirectories: false)
        #expect(Firewall.active(in: root) == "firewalld")
    }

    @Test("then the apps: none, one that does not register, and what is probably wrong with them")
    func apps() {
        let none = diagnosis(Samples.snapshot())
        #expect(none.broken == nil && none.checks.last?.state == "none")
        #expect(none.checks.last?.remedy?.contains("point your app at 127.0.0.1:2776") == true)
        let stuck = diagnosis(Samples.busy)
        #expect(stuck.broken == "registration")
        #expect(stuck.checks.last?.remedy?.contains("relayctl tail --app '#2'") == true)
        let well = diagnosis(
            Samples.snapshot(apps: [Samples.registeredApp]), advice: [AppCommandTests.advice])
        #expect(well.broken == nil && states(well).last == "advice hint")
        #expect(
            well.checks.last?.text
                == "Relay Test App: PutFile \"icon\" has crc 1, but its data has 2 (5×, last 0 s ago)"
        )
    }

    private func advice(
        _ code: String, app: Int? = 1, severity: String = AdviceReport.warning, age: Int64 = 0
    ) -> AdviceReport {
        let time = Timestamp(
            millisecondsSince1970: Samples.now.millisecondsSince1970 - age * 1000)
        return AdviceReport(
            code: code, severity: severity, at: time, lastAt: time, app: app,
            text: "about \(code)", remedy: "remedy of \(code)", entry: 9)
    }

    @Test("a remedy is paired with its own cause")
    func pairing() {
        let status = Samples.snapshot(apps: [
            AppStatus(
                id: 2, peer: "p:1", connectedAt: Samples.start, state: .sessionOpen,
                appName: "Radio", lastProblem: "unregistered by the head unit: LANGUAGE_CHANGE")
        ])
        // Advice that is true of this app but not why it is unregistered; and advice that would be the cause,
        // of another app.
        let others = diagnosis(
            status,
            advice: [
                advice("mtu_exceeded", app: 2), advice("putfile_crc", app: 2),
                advice("duplicate_app_id", app: 1),
                advice("registration_refused", app: 2, age: 301),
            ])
        #expect(others.broken == "registration")
        #expect(others.checks.last?.remedy == "see what it says: relayctl tail --app '#2' -n 20")
        let own = diagnosis(
            status, advice: [advice("putfile_crc", app: 2), advice("duplicate_app_id", app: 2)])
        #expect(
            own.checks.last?.remedy
                == "remedy of duplicate_app_id (relayctl explain duplicate_app_id)")
    }

    @Test("advice that is over, is only information, or is about an app that left is not told")
    func ages() {
        let status = Samples.snapshot(apps: [Samples.registeredApp])
        let silent = [
            advice("putfile_crc", age: 300), advice("putfile_crc", app: 7),
            advice("mtu_near", app: nil, severity: AdviceReport.info),
        ]
        #expect(!states(diagnosis(status, advice: silent)).contains { $0.hasPrefix("advice") })
        let told = [advice("putfile_crc", age: 299), advice("wrong_device", app: nil)]
        #expect(
            states(diagnosis(status, advice: told)).suffix(2) == ["advice hint", "advice hint"])
    }

    @Test("a head unit that said it is off is what is broken, although its link is open")
    func saidOff() {
        var accessory = AccessoryStatus(
            kind: "tcp", address: "tcp:hu:12345", state: .open, since: Samples.start)
        (accessory.saidOff, accessory.saidOffAt) = ("IGNITION_OFF", Samples.start)
        let found = diagnosis(Samples.snapshot(accessory: accessory))
        #expect(found.broken == "head unit")
        #expect(found.checks.last?.text.contains("said IGNITION_OFF 2 min ago") == true)
        #expect(found.checks.last?.remedy?.contains("relayctl reopen") == true)
    }

    @Test("lines fit the terminal and hold no escape sequence of a peer") func text() {
        let status = Samples.snapshot(
            accessory: AccessoryStatus(
                kind: "tcp", address: "tcp:hu:1", state: .open, since: Samples.start,
                name: "\u{1B}[2JEvil head unit of a very long name indeed, longer than the line"))
        let text = diagnosis(status).text(width: 50, style: .plain)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 50 }, "\(text)")
        #expect(!text.contains("\u{1B}") && text.contains("– app"))
    }
}
