import ControlAPI
import Testing

@testable import relayctl

@Suite struct DashboardCommandTests {
    private func run(
        _ report: DashboardReport, _ arguments: String...
    ) async throws -> (code: Int32, out: String, error: String) {
        let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
        let server = try await StubServer(StubServer.relayd(json))
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["dashboard"] + arguments + ["--socket", server.path], output: recorder.output())
        try await server.stop()
        return (code, recorder.text(), recorder.text(.error))
    }

    private static let served = DashboardReport(
        enabled: true, url: "http://127.0.0.1:2777/", token: "0123abcd")

    @Test("prints the address with the token and nothing else")
    func address() async throws {
        let result = try await run(Self.served)
        #expect(result.code == 0)
        #expect(result.out == "http://127.0.0.1:2777/#token=0123abcd\n")
        #expect(result.error.isEmpty)
    }

    @Test("--json passes relayd's answer on")
    func json() async throws {
        let result = try await run(Self.served, "--json")
        #expect(result.code == 0)
        #expect(
            try APICoding.decode(DashboardReport.self, from: Array(result.out.utf8)) == Self.served)
    }

    @Test("exits 1 with the reason when there is no dashboard")
    func off() async throws {
        let report = DashboardReport(enabled: false, reason: "the dashboard is off\u{1B}[2J")
        let result = try await run(report)
        #expect(result.code == 1 && result.out.isEmpty)
        #expect(result.error.hasPrefix("relayctl: the dashboard is off"))
        #expect(!result.error.contains("\u{1B}"))
    }

    @Test("over ssh the line for the tunnel is printed, for whatever address of this machine")
    func overSSH() {
        let session = SSHSession(connection: "198.51.100.7 50022 192.168.1.20 22")
        #expect(
            session?.tunnel(to: "http://127.0.0.1:2790/#token=0123abcd") == """
                this terminal came over ssh, so the browser is on your machine. There: ssh -N \
                -L 2790:127.0.0.1:2790 192.168.1.20 and open the address that relayctl dashboard prints
                """)
        #expect(SSHSession(connection: "rubbish") == nil)
    }

    @Test("exits 2 when relayd is not there")
    func notRunning() async throws {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["dashboard", "--socket", "/nonexistent/relayd.sock"], output: recorder.output())
        #expect(code == 2)
    }
}
