import ControlAPI
import Synchronization
import Testing

@testable import relayctl

@Suite struct StatusCommandTests {
    private func run(
        _ snapshot: StatusSnapshot, _ arguments: String..., isTerminal: Bool = false
    ) async throws -> (code: Int32, out: String, error: String) {
        let server = try await StubServer(StubServer.relayd(snapshot))
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["status", "--socket", server.path] + arguments,
            output: recorder.output(isTerminal: isTerminal))
        try await server.stop()
        return (code, recorder.text(), recorder.text(.error))
    }

    @Test("an open head unit ends with 0") func well() async throws {
        let result = try await run(Samples.busy)
        #expect(result.code == 0 && result.error.isEmpty)
        #expect(result.out.hasPrefix("Head unit    open       sim:"))
        #expect(result.out.contains("Relay Test App"))
    }

    @Test("a missing head unit ends with 1 and is explained on standard output")
    func notConnected() async throws {
        let result = try await run(Samples.broken)
        #expect(result.code == 1 && result.error.isEmpty)
        #expect(result.out.contains("→ plug the device in"))
    }

    @Test("no relayd ends with 2 and nothing on standard output") func notRunning() async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["status", "--json", "--socket", "/nonexistent/c.sock"], output: recorder.output())
        #expect(code == 2 && recorder.text().isEmpty)
        #expect(recorder.text(.error).hasPrefix("relayctl: relayd is not running"))
    }

    @Test("--json passes on what relayd sent, and the exit code still tells")
    func json() async throws {
        let result = try await run(Samples.broken, "--json")
        #expect(result.code == 1)
        #expect(result.out == (try Samples.status(Samples.broken).json))
    }

    @Test("colours: on a terminal, or when asked for") func colours() async throws {
        #expect(!(try await run(Samples.busy)).out.contains("\u{1B}"))
        #expect(try await run(Samples.busy, "--color", "always").out.contains("\u{1B}[32m"))
        #expect(try await run(Samples.busy, isTerminal: true).out.contains("\u{1B}[32m"))
        let never = try await run(Samples.busy, "--color", "never", isTerminal: true)
        #expect(!never.out.contains("\u{1B}"))
        let size: @Sendable () -> (columns: Int, rows: Int) = { (80, 24) }
        let quiet = Output(
            isTerminal: true, prefersNoColor: true, size: size, sink: { _, _ in true })
        #expect(quiet.style(.auto) == .plain && quiet.style(.always) == .coloured)
    }
}

@Suite struct StatusWatchTests {
    private struct Ended: Error {}

    /// Shows the outcomes one after another.
    private func watch(
        _ outcomes: [StatusWatch.Outcome], json: Bool = false, isTerminal: Bool = false,
        rows: Int = 40
    ) async -> [String] {
        let recorder = Recorder()
        let rest = Mutex(outcomes)
        var watch = StatusWatch(
            screen: StatusScreen(
                output: recorder.output(isTerminal: isTerminal, columns: 80, rows: rows),
                isJSON: json, style: .plain),
            ask: { () async throws(ControlClientError) in
                try rest.withLock { $0.removeFirst() }.get()
            },
            pause: { if rest.withLock({ $0.isEmpty }) { throw Ended() } })
        await #expect(throws: Ended.self) { try await watch.run() }
        return recorder.writes()
    }

    private func success(_ snapshot: StatusSnapshot, uptime: Int = 1) throws -> StatusWatch.Outcome
    {
        var snapshot = snapshot
        snapshot.relayd.uptimeSeconds = uptime
        return .success(try Samples.status(snapshot))
    }

    @Test("into a pipe only changes are written, and passing time is none") func changes()
        async throws
    {
        let blocks = await watch([
            try success(Samples.broken, uptime: 1), try success(Samples.broken, uptime: 2),
            .failure(.timedOut("/s")), .failure(.timedOut("/s")), try success(Samples.busy),
        ])
        #expect(blocks.count == 3)
        #expect(blocks[0].contains("no such device") && blocks[1].contains("relayctl: relayd acc"))
        #expect(blocks[2].contains("Relay Test App") && blocks[2].hasPrefix("── "))
    }

    @Test("as JSON every change is one object on one line") func jsonLines() async throws {
        let lines = await watch(
            [try success(Samples.busy), .failure(.notRunning([])), try success(Samples.broken)],
            json: true, isTerminal: true)
        #expect(lines.count == 3)
        for line in lines {
            #expect(line.hasSuffix("}\n") && line.split(separator: "\n").count == 1)
        }
        #expect(
            try APICoding.decode(StatusSnapshot.self, from: Array(lines[0].utf8)).apps.count == 2)
        let error = try APICoding.decode(APIError.self, from: Array(lines[1].utf8)).error
        #expect(error.code.rawValue == "not_running")
    }

    @Test("a terminal is repainted in place each time, and never scrolls") func inPlace()
        async throws
    {
        let screens = await watch(
            [try success(Samples.broken), try success(Samples.broken), try success(Samples.busy)],
            isTerminal: true, rows: 4)
        #expect(screens.count == 4 && screens[0] == "\u{1B}[H\u{1B}[2J")
        for screen in screens.dropFirst() {
            #expect(screen.hasPrefix("\u{1B}[HHead unit") && screen.hasSuffix("\u{1B}[K\n\u{1B}[J"))
            #expect(screen.count(where: { $0 == "\n" }) == 3)
        }
    }

    @Test("a reader that is gone ends it") func brokenPipe() async throws {
        let output = Output(isTerminal: false, size: { (80, 24) }, sink: { _, _ in false })
        let status = try Samples.status(Samples.busy)
        var watch = StatusWatch(
            screen: StatusScreen(output: output, isJSON: false, style: .plain),
            ask: { () async throws(ControlClientError) in status }, pause: { throw Ended() })
        try await watch.run()
    }
}
