import ControlAPI
import Testing

@testable import relayctl

@Suite struct StatusTextTests {
    private func text(_ snapshot: StatusSnapshot, _ width: Int, style: Style = .plain) -> String {
        StatusText(width: width, style: style, now: Samples.now, localTime: .utc).render(snapshot)
    }

    @Test("a working bench at 120 columns") func busyWide() {
        #expect(
            text(Samples.busy, 120) == """
                Head unit    open       sim: (simulated head unit)  since 10:31:07 (2 min)
                Link         1 session  protocol 5.4.0
                App port     listening  127.0.0.1:2776
                Apps         2 connected, 1 registered

                  #  App             App ID  Peer             Session  Protocol  HMI   From app        To app         Queue
                  1  Relay Test App  4711    127.0.0.1:40112  1        5.4.0     FULL  20 / 297.6 KiB  33 / 32.5 KiB  0 B
                  2  (connected)     –       127.0.0.1:40114  –        –         –     0 / 0 B         0 / 0 B        0 B

                """)
    }

    @Test("the same at 80 columns gives up what matters least") func busyNarrow() {
        #expect(
            text(Samples.busy, 80) == """
                Head unit    open       sim: (simulated head unit)  since 10:31:07 (2 min)
                Link         1 session  protocol 5.4.0
                App port     listening  127.0.0.1:2776
                Apps         2 connected, 1 registered

                  #  App             App ID  Peer             Session  HMI   From app   To app
                  1  Relay Test App  4711    127.0.0.1:40112  1        FULL  297.6 KiB  32.5 KiB
                  2  (connected)     –       127.0.0.1:40114  –        –     0 B        0 B

                """)
    }

    @Test("a missing head unit comes with reason and remedy") func broken() {
        #expect(
            text(Samples.broken, 80) == """
                Head unit    waiting    serial:/dev/ttyUSB0?baud=115200  since 10:31:07 (2 min)
                             /dev/ttyUSB0: no such device (tried 12 times)
                             → plug the device in; relayd opens it by itself
                Link         no head unit
                App port     listening  127.0.0.1:2776
                Apps         none       point your app at 127.0.0.1:2776

                """)
    }

    @Test("skipped bytes are told for five minutes, with the time") func garbageAges() {
        func shown(after seconds: Int64) -> Bool {
            var status = AccessoryStatus(
                kind: "serial", address: "serial:/dev/ttyUSB0", state: .open, since: Samples.start,
                garbageBytes: 64)
            status.garbageAt = Samples.start
            let now = Timestamp(
                millisecondsSince1970: Samples.start.millisecondsSince1970 + seconds * 1000)
            return StatusText(width: 100, now: now, localTime: .utc)
                .render(Samples.snapshot(accessory: status)).contains("were skipped")
        }
        #expect(shown(after: 0) && shown(after: 299) && !shown(after: 300))
    }

    @Test(
        "lost bytes are told for five minutes", arguments: [(0, true), (299, true), (300, false)])
    func lossAges(seconds: Int64, isShown: Bool) {
        var status = AccessoryStatus(
            kind: "usb", address: "usb:1:1", state: .open, since: Samples.start)
        (status.lostBytesOut, status.lostAt) = (7, Samples.start)
        let now = Timestamp(
            millisecondsSince1970: Samples.start.millisecondsSince1970 + seconds * 1000)
        let text = StatusText(width: 100, now: now, localTime: .utc)
            .render(Samples.snapshot(accessory: status))
        #expect(text.contains("lost when its links ended: 7 B for the head unit") == isShown)
    }

    @Test("a head unit that said it is off is not simply open") func saidOff() {
        var status = AccessoryStatus(
            kind: "tcp", address: "tcp:hu:12345", state: .open, since: Samples.start)
        (status.saidOff, status.saidOffAt) = ("IGNITION_OFF", Samples.start)
        let rendered = text(Samples.snapshot(accessory: status), 100)
        #expect(rendered.contains("the head unit said IGNITION_OFF 2 min ago and has answered"))
        #expect(rendered.contains("→ switch it on; if it is on, relayctl reopen"))
    }

    @Test("an app that left without having been registered tells what went wrong before")
    func departureWithProblem() {
        let gone = AppDeparture(
            id: 3, peer: "127.0.0.1:40100", closedAt: Samples.start,
            reason: "the app closed the connection", lastProblem: "StartService refused")
        let rendered = text(Samples.snapshot(departures: [gone]), 120)
        #expect(rendered.contains("the app closed the connection; before: StartService refused"))
    }

    /// The text this many seconds after the start of the samples.
    private func text(_ snapshot: StatusSnapshot, after seconds: Int64) -> String {
        let now = Timestamp(
            millisecondsSince1970: Samples.start.millisecondsSince1970 + seconds * 1000)
        return StatusText(width: 100, now: now, localTime: .utc).render(snapshot)
    }

    @Test("a limit that was hit is told in words, and for five minutes") func limitAges() {
        let hit = LimitHit(
            name: "limits.link_queue", limit: 262_144, count: 32, lastAt: Samples.start)
        let snapshot = Samples.snapshot(limits: [hit])
        #expect(
            text(snapshot, after: 299).contains(
                """
                Limit        10:31:07   the head unit was slower than its apps; they were held back, nothing was
                                        lost (limits.link_queue is 262144, hit 32 times)

                """))
        #expect(!text(snapshot, after: 300).contains("Limit"))
        let unknown = LimitHit(name: "new.limit", limit: 3, count: 1, lastAt: Samples.start)
        #expect(
            text(Samples.snapshot(limits: [unknown]), after: 0).contains(
                "Limit        10:31:07   new.limit is 3, hit 1 time\n"))
    }

    @Test("an app that left is told for five minutes, with the whole reason") func departureAges() {
        let reason = "the app closed the connection " + String(repeating: "very slowly ", count: 9)
        let gone = AppDeparture(
            id: 3, peer: "127.0.0.1:40100", appName: "Radio", closedAt: Samples.start,
            reason: reason)
        let snapshot = Samples.snapshot(departures: [gone])
        #expect(
            text(snapshot, after: 299).contains("  10:31:07   3  Radio  127.0.0.1:40100  the app"))
        #expect(!text(snapshot, after: 300).contains("Radio"))
        let narrow = text(snapshot, 60)
        #expect(narrow.contains("  10:31:07   3  Radio  the app closed the connection very\n"))
        #expect(narrow.split(separator: "slowly").count == 10)
    }

    @Test("everything that can be wrong at once, at 80 columns") func everything() {
        let app = AppStatus(
            id: 12, peer: "[fd00::1234:5678:9abc]:51234", connectedAt: Samples.start,
            state: .registered, appName: "地図ナビゲーション・プレミアム版・とても長い名前",
            appID: "0f2a7c1e-aaaa-bbbb", sessions: [3, 4], protocolVersion: "5.4.0",
            hmiLevel: "BACKGROUND", framesFromApp: 123_456, bytesFromApp: 987_654_321,
            queueBytes: 900_000, refusedFrames: 3,
            lastProblem: "it reads too slowly: 900000 of 1048576 bytes wait")
        var accessory = AccessoryStatus(
            kind: "tcp", address: "tcp:192.168.100.200:12345", state: .open,
            since: Timestamp(
                millisecondsSince1970: Samples.start.millisecondsSince1970 - 90_000_000),
            name: "SDL Core (Generic HMI)", framesIn: 9, bytesIn: 1023, framesOut: 10,
            bytesOut: 1_048_570, garbageBytes: 64, hint: "this looks like an OpenXC stream")
        accessory.garbageAt = Samples.start
        let snapshot = Samples.snapshot(
            accessory: accessory,
            link: LinkStatus(
                state: .sessions, sessions: 3, sessionsInFarewell: 1, startServiceQueue: 2,
                protocolVersion: "5.4.0", paused: true),
            server: ServerStatus(
                state: .failed, endpoints: [], refusedCount: 4,
                reason: "0.0.0.0:2776: address already in use"),
            apps: [Samples.registeredApp, app],
            departures: [
                AppDeparture(
                    id: 3, peer: "127.0.0.1:40100", appName: "Radio", closedAt: Samples.start,
                    reason: "closed by the app")
            ],
            log: LogStatus(droppedBatches: 2, droppedLines: 3),
            limits: [
                LimitHit(
                    name: "apps.queue_limit", limit: 1_048_576, count: 1, lastAt: Samples.start)
            ])
        let rendered = text(snapshot, 80)
        #expect(
            rendered == """
                Head unit    open       tcp:192.168.100.200:12345 (SDL Core (Generic HMI))
                                        since 2026-11-20 09:31 (1 d 1 h)
                             this looks like an OpenXC stream
                             64 B that belong to no SDL frame were skipped, the last at 10:31:07
                Link         3 sessions  protocol 5.4.0  2 StartServices waiting for an answer
                                        1 ending  from it 9 frames, 1023 B
                                        to it 10 frames, 1.0 MiB
                             apps are held back: the head unit takes bytes too slowly
                App port     failed     (4 refused)
                             0.0.0.0:2776: address already in use
                Apps         2 connected, 2 registered
                Log          incomplete  2 reads never seen  3 lines not written
                Limit        10:31:07   an app read too slowly: this many bytes waited for it
                                        (apps.queue_limit is 1048576, hit 1 time)

                   #  App           Peer             Session  HMI         From app   To app
                   1  Relay Test …  127.0.0.1:40112  1        FULL        297.6 KiB  32.5 KiB
                  12  地図ナビゲ…   [fd00::…]:51234  3,4      BACKGROUND  941.9 MiB  0 B
                     3 frames refused: not its session
                     it reads too slowly: 900000 of 1048576 bytes wait

                  Left in the last 5 minutes
                  10:31:07   3  Radio  closed by the app

                """)
        for line in rendered.split(separator: "\n") { #expect(String(line).columns <= 80) }
    }

    @Test("who left, from where and why stand below each other", arguments: [80, 120])
    func departureColumns(width: Int) {
        let departures = [
            ("Radio Südwest – das Programm", "127.0.0.1:48134"), ("Maps", "[fd00::5]:50112"),
        ].enumerated().map { id, app in
            AppDeparture(
                id: id + 1, peer: app.1, appName: app.0, closedAt: Samples.start, reason: "it left")
        }
        let rows = text(Samples.snapshot(departures: departures), width).split(separator: "\n")
            .filter { $0.hasSuffix("it left") }
        #expect(rows.count == 2 && Set(rows.map { String($0).columns }).count == 1, "\(rows)")
    }

    @Test("no line is wider than the terminal", arguments: [40, 60, 80, 100, 120, 200])
    func fits(width: Int) {
        let long = String(repeating: "very long name ", count: 20)
        let snapshot = Samples.snapshot(
            accessory: AccessoryStatus(
                kind: "serial", address: "serial:/dev/serial/by-id/" + long, state: .waiting,
                since: Samples.start,
                reason: AccessoryReason(code: "x", message: long, remedy: long), name: long,
                hint: long),
            server: ServerStatus(
                state: .listening, endpoints: (0..<9).map { "[fd00:1:2:3:4:5:6:\($0)]:2776" }),
            apps: (1...3).map {
                AppStatus(
                    id: $0, peer: "[fd00:1:2:3:4:5:6:7]:12345", connectedAt: Samples.start,
                    state: .registered, appName: long, appID: long, lastProblem: long)
            },
            departures: [
                AppDeparture(
                    id: 1, peer: "p", appName: long, closedAt: Samples.start, reason: long)
            ])
        for line in text(snapshot, width).split(separator: "\n") {
            #expect(String(line).columns <= width, "\(line)")
        }
    }

    @Test("colours surround the states and nothing else changes") func colours() {
        let coloured = text(Samples.busy, 80, style: .coloured)
        #expect(coloured.contains("\u{1B}[32mopen\u{1B}[0m"))
        #expect(SafeText.clean(coloured.replacing("\n", with: "⏎")).count > 200)
        let plain = coloured.replacing(/\u{1B}\[[0-9;]*m/, with: "")
        #expect(plain == text(Samples.busy, 80))
    }

    @Test("names cannot reach the terminal with control characters") func hostileNames() {
        let evil = "\u{1B}]0;pwned\u{07}\u{1B}[2JRadio\u{9B}31m\r\n\u{202E}x"
        let snapshot = Samples.snapshot(
            accessory: AccessoryStatus(
                kind: evil, address: evil, state: .waiting, since: Samples.start,
                reason: AccessoryReason(code: evil, message: evil, remedy: evil), name: evil,
                hint: evil),
            link: LinkStatus(state: LinkState(rawValue: evil), protocolVersion: evil),
            server: ServerStatus(
                state: ServerState(rawValue: evil), endpoints: [evil], reason: evil),
            apps: [
                AppStatus(
                    id: 1, peer: evil, connectedAt: Samples.start, state: AppState(rawValue: evil),
                    appName: evil, appID: evil, protocolVersion: evil, hmiLevel: evil,
                    lastProblem: evil)
            ],
            departures: [
                AppDeparture(
                    id: 1, peer: evil, appName: evil, closedAt: Samples.start, reason: evil)
            ],
            limits: [LimitHit(name: evil, limit: 1, count: 1, lastAt: Samples.start)])
        for scalar in text(snapshot, 200).unicodeScalars where scalar != "\n" {
            #expect(!SafeText.clean(String(scalar)).isEmpty, "U+\(String(scalar.value, radix: 16))")
        }
    }
}
