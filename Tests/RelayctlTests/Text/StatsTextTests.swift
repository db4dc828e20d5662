import ControlAPI
import Testing

@testable import relayctl

@Suite struct StatsTextTests {
    private static func call(
        _ app: String, _ function: String, requests: Int = 0, notifications: Int = 0,
        failed: Int = 0, people: Bool? = nil, _ times: [Double] = []
    ) -> AppFunctionReport {
        var call = AppFunctionReport(
            app: app, function: function, requests: requests, responses: requests,
            notifications: notifications, failed: failed, waitsForPeople: people)
        guard times.count == 4 else { return call }
        (call.p50Milliseconds, call.p95Milliseconds) = (times[0], times[1])
        (call.p99Milliseconds, call.maximumMilliseconds) = (times[2], times[3])
        return call
    }

    static func report(bytes: Int = 1024, at seconds: Int64 = 0) -> StatsReport {
        var show = FunctionReport(
            function: "Show", requests: 1812, responses: 1812, notifications: 0,
            results: ["SUCCESS": 1809, "WARNINGS": 1, "REJECTED": 2])
        show.maximumMilliseconds = 91
        return StatsReport(
            since: Samples.start,
            at: Timestamp(
                millisecondsSince1970: Samples.start.millisecondsSince1970 + seconds * 1000),
            traffic: [
                LaneReport(app: "Music", service: "rpc", from: "app", frames: 9, bytes: bytes),
                LaneReport(
                    app: "unregistered", service: "control", from: "app", frames: 1, bytes: 20),
            ],
            functions: [show],
            apps: [
                call("Music", "Show", requests: 1804, failed: 2, [4.26, 9, 31, 91]),
                call("Music", "OnHMIStatus", notifications: 12),
                call(
                    "Radio Südwest – the long one", "Alert", requests: 8, failed: 1, people: true,
                    [3000.4, 5001, 5001, 120_000]),
                call("Maps", "Show", requests: 8, [0.05, 0.06, 0.06, 12]),
                call(
                    "Maps", "PerformAudioPassThru", requests: 1, people: true, [812, 812, 812, 812]),
            ], dropped: ["no_link": 2], unanswered: 1, unseen: 0)
    }

    @Test("traffic, then RPCs by app, then those that wait for a person") func tables() {
        #expect(
            StatsText(width: 100).render(Self.report()) == """
                  App               Service  From  Frames    Bytes
                  Music             rpc      app        9  1.0 KiB
                  (not registered)  control  app        1     20 B

                  RPC          App    Count  Failed      p50      p95      p99    Max
                  Show         Music   1804       2   4.3 ms   9.0 ms    31 ms  91 ms
                  OnHMIStatus  Music     12       0        –        –        –      –
                  Show         Maps       8       0  0.05 ms  0.06 ms  0.06 ms  12 ms

                  Waits for a person    App                           Count  Failed     p50     p95     p99     Max
                  Alert                 Radio Südwest – the long one      8       1   3.0 s   5.0 s   5.0 s   120 s
                  PerformAudioPassThru  Maps                              1       0  812 ms  812 ms  812 ms  812 ms

                  2 frames not forwarded, 1 request unanswered, 0 frames not counted here

                """)
    }

    @Test("two reports are rates; the tables fit the terminal", arguments: [40, 60, 80, 200])
    func widths(width: Int) {
        let text = StatsText(width: width).render(
            Self.report(bytes: 5120, at: 2), since: Self.report())
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= width }, "\(text)")
        #expect(text.contains("2.0 KiB/s") && text.contains("Alert"))
        #expect(text.contains("9.0 ms") && text.contains("5.0 s"))
    }

    @Test("a vehicle interface has messages by kind, and no RPCs") func vehicle() {
        func report(_ messages: Int, at seconds: Int64) -> StatsReport {
            var report = StatsReport(
                since: Samples.start,
                at: Timestamp(
                    millisecondsSince1970: Samples.start.millisecondsSince1970 + seconds * 1000),
                traffic: [], functions: [], apps: [], dropped: [:], unanswered: 1, unseen: 7)
            report.vehicle = [
                VehicleLaneReport(kind: .measurement, from: .vehicle, messages: messages),
                VehicleLaneReport(kind: .command, from: .client, messages: 2),
            ]
            return report
        }
        #expect(
            StatsText(width: 80).render(report(1050, at: 2), since: report(50, at: 0)) == """
                  From               Kind         Messages     Rate
                  vehicle interface  measurement      1050  500.0/s
                  clients            command             2    0.0/s

                  1 command not answered, 7 messages not counted here

                """)
        var silent = report(0, at: 0)
        silent.vehicle = []
        (silent.unanswered, silent.unseen) = (0, 0)
        #expect(StatsText(width: 80).render(silent) == "no message yet\n")
    }

    @Test("of an older relayd, which does not tell apps apart, it is said") func older() {
        var report = Self.report()
        report.apps = nil
        let text = StatsText(width: 60).render(report)
        #expect(text.contains("This relayd is older than relayctl"), "\(text)")
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 60 }, "\(text)")
    }

    @Test("narrowed to apps and RPCs, in any case, apps by a part of their name") func narrowed() {
        let music = Self.report().narrowed(toApps: ["MUS"], functions: [])
        #expect(music.traffic.map(\.app) == ["Music"] && music.functions.isEmpty)
        #expect(music.apps?.map(\.function) == ["Show", "OnHMIStatus"])
        let shows = Self.report().narrowed(toApps: [], functions: ["show"])
        #expect(shows.traffic.isEmpty && shows.functions.map(\.function) == ["Show"])
        #expect(shows.apps?.map(\.app) == ["Music", "Maps"])
        let one = Self.report().narrowed(toApps: ["dio süd"], functions: ["alert", "Show"])
        #expect(one.apps?.map(\.function) == ["Alert"])
        #expect(StatsText(width: 80).render(one).hasPrefix("  Waits for a person"))
    }

    @Test(
        "times have as many digits as say something",
        arguments: [
            (0, "0.00 ms"), (0.994, "0.99 ms"), (0.996, "1.0 ms"), (9.94, "9.9 ms"),
            (9.96, "10 ms"),
            (999.4, "999 ms"), (999.6, "1.0 s"), (99_940, "99.9 s"), (99_960, "100 s"),
            (-1, "0.00 ms"), (.nan, "0.00 ms"), (.infinity, "1000000000 s"),
        ])
    func latency(milliseconds: Double, words: String) {
        #expect(Units.latency(milliseconds: milliseconds) == words)
    }

    @Test("an RPC that nobody knows is a usage error with the one that was meant") func wrong()
        async
    {
        let recorder = Recorder()
        let code = await RelayCtl.execute(["stats", "--rpc", "Shw"], output: recorder.output())
        #expect(code == 64)
        #expect(recorder.text(.error).contains("there is no RPC 'Shw'"))
        #expect(recorder.text(.error).contains("did you mean 'Show'?"))
    }
}
