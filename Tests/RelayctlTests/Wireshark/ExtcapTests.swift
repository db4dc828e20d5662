import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import Testing

@testable import relayctl

@Suite("Wireshark's questions") struct ExtcapTests {
    private func surroundings(_ variables: [String: String]) -> Surroundings {
        Surroundings(
            userID: 1000, environment: { variables[$0] }, isWritableDirectory: { _ in false })
    }

    private func extcap(at path: String) -> Extcap {
        Extcap(in: surroundings([ControlSocket.environmentVariable: path]), instances: { [] })
    }

    @Test("questions are understood, however they are written and whatever else is asked")
    func questions() {
        for (words, question) in [
            (["--extcap-interfaces", "--extcap-version=4.0"], .interfaces),
            (["--extcap-interfaces", "--extcap-version", "4.4"], .interfaces),
            (["--extcap-dlts", "--extcap-interface", "relayd"], .linkTypes),
            (["--extcap-interface=relayd", "--extcap-config"], .options),
            (
                [
                    "--capture", "--extcap-interface", "relayd", "--fifo=/tmp/x", "--of-2030", "7",
                    "more",
                ],
                .capture(interface: "relayd", pipe: "/tmp/x")
            ),
            (["--extcap-interface", "relayd", "--extcap-capture-filter", "tcp"], .filter("tcp")),
            (["--extcap-interface=relayd", "--extcap-capture-filter="], .filter("")),
            (["--capture", "--extcap-interface", "relayd"], .unknown),
            (["--capture", "--extcap-interface", "--fifo"], .unknown),
            ([], .unknown), (["=", "--", "--="], .unknown),
        ] as [([String], Extcap.Question)] {
            #expect(Extcap.Question(words) == question, "\(words)")
        }
    }

    @Test("relayd is looked for where the other commands look, and on benches with a name")
    func places() {
        let usual = Extcap(
            in: surroundings(["XDG_RUNTIME_DIR": "/run/user/1000"]), instances: { ["relayd-left"] })
        #expect(
            usual.places.map { [$0.name, $0.socket.path] } == [
                ["relayd", "/run/relayd/relayd.sock"],
                ["relayd.user", "/run/user/1000/relayd/relayd.sock"],
                ["relayd.tmp", "/tmp/relayd-1000/relayd.sock"],
                ["relayd-left", "/run/relayd-left/relayd.sock"],
            ])
        let told = Extcap(
            in: surroundings([ControlSocket.environmentVariable: "/x/c.sock"]),
            instances: { ["relayd-left"] })
        #expect(told.places.map { [$0.name, $0.socket.path] } == [["relayd", "/x/c.sock"]])
    }

    @Test("a relayd that runs is an interface, with its head unit's address") func interfaces()
        async throws
    {
        let server = try await StubServer(StubServer.relayd(Samples.busy))
        #expect(
            await extcap(at: server.path).interfaces() == """
                extcap {version=\(Version.current)}{display=relayd}
                interface {value=relayd}{display=relayd: sim:}

                """)
        try await server.stop()
    }

    @Test("a relayd that is too busy to answer is an interface all the same")
    func busy() async throws {
        let server = try await StubServer(.silence)
        #expect(
            await extcap(at: server.path).interfaces() == """
                extcap {version=\(Version.current)}{display=relayd}
                interface {value=relayd}{display=relayd}

                """)
        try await server.stop()
    }

    @Test("whoever does not run, or is no relayd, is left out")
    func noInterfaces() async throws {
        let head = "extcap {version=\(Version.current)}{display=relayd}\n"
        #expect(await extcap(at: "/nonexistent/c.sock").interfaces() == head)
        #expect(await extcap(at: "/dev/null").interfaces() == head)
        for behaviour in [.close, .answerAndClose("nonsense")] as [StubServer.Behaviour] {
            let server = try await StubServer(behaviour)
            #expect(await extcap(at: server.path).interfaces() == head)
            try await server.stop()
        }
    }

    @Test("an address cannot end its value") func braces() async throws {
        let accessory = AccessoryStatus(
            kind: "tcp", address: "tcp:{a}\n{value=b}", state: .open, since: Samples.start,
            attempts: 1,
            openedCount: 1)
        let server = try await StubServer(StubServer.relayd(Samples.snapshot(accessory: accessory)))
        let lines = await extcap(at: server.path).interfaces().split(separator: "\n")
        #expect(lines.last == "interface {value=relayd}{display=relayd: tcp:(a) (value=b)}")
        try await server.stop()
    }

    @Test("the trace goes into Wireshark's pipe byte by byte") func capture() async throws {
        try await TemporaryDirectory.run { directory in
            let trace = "\n\r\r\n\0\u{1}no lines" + String(repeating: "x", count: 50_000)
            let server = try await StubServer(StubServer.relayd(trace))
            let pipe = directory.file("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            // Opened for both reading and writing, so that neither side waits; the pipe holds 64 KiB.
            let descriptor = open(pipe, O_RDWR | O_CLOEXEC | O_NONBLOCK)
            defer { close(descriptor) }
            try await extcap(at: server.path).capture(from: "relayd", into: pipe)
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(descriptor, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == trace)
            try await server.stop()
        }
    }

    @Test("what cannot be captured is said") func refusals() async throws {
        let refusal = #"{"error":{"code":"not_found","message":"nothing is recorded"}}"#
        let server = try await StubServer(StubServer.relayd(refusal, status: "404 Not Found"))
        let extcap = extcap(at: server.path)
        await #expect(throws: ControlClientError.self) {
            try await extcap.capture(from: "relayd", into: "/dev/null")
        }
        await #expect(throws: Extcap.Problem.self) {
            try await extcap.capture(from: "relayd.user", into: "/dev/null")
        }
        await #expect(throws: Extcap.Problem.self) {
            try await extcap.capture(from: "relayd", into: "/nonexistent/pipe")
        }
        try await server.stop()
    }

    @Test("the command answers, and is silent about what it does not know") func command() async {
        for (words, answer) in [
            (["--extcap-dlts", "--extcap-interface", "relayd"], Extcap.linkTypes),
            (["--extcap-config", "--extcap-interface", "relayd"], ""), (["--extcap-of-2030"], ""),
            (
                ["--extcap-interface", "relayd", "--extcap-capture-filter", "tcp"],
                Extcap.filterAnswer
            ),
        ] {
            let recorder = Recorder()
            let code = await RelayCtl.execute(["extcap"] + words, output: recorder.output())
            #expect(
                code == 0 && recorder.text() == answer && recorder.text(.error).isEmpty, "\(words)")
        }
    }
}
