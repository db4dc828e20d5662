import ControlAPI
import Glibc
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import RelayTesting
import Testing

@testable import relayctl

@Suite struct ControlClientTests {
    @Test("of many apps some are listed") func manyApps() {
        let apps = (1...12).map {
            AppStatus(
                id: $0, peer: "p:1", connectedAt: Samples.start, state: .registered,
                appName: "App \($0)")
        }
        #expect(ControlClient.list(Array(apps.prefix(2))) == "#1 App 1, #2 App 2")
        #expect(ControlClient.list(apps).hasSuffix("#10 App 10 and 2 more"))
    }

    private func status(
        _ path: String, timeout: TimeAmount = FramePeer.patience
    ) async throws -> ControlClient.Answer<StatusSnapshot> {
        try await client(path, timeout: timeout).status()
    }

    /// A client that waits as long as a busy machine needs.
    private func client(
        _ path: String, timeout: TimeAmount = FramePeer.patience
    ) throws -> ControlClient {
        ControlClient(sockets: try ControlSocket.forTool(given: path), timeout: timeout)
    }

    private func failure(
        _ behaviour: StubServer.Behaviour, timeout: TimeAmount = FramePeer.patience
    ) async throws -> String {
        let server = try await StubServer(behaviour)
        let error = await #expect(throws: ControlClientError.self) {
            _ = try await status(server.path, timeout: timeout)
        }
        try await server.stop()
        return error?.description.replacing(server.path, with: "SOCKET") ?? ""
    }

    @Test("a status comes with the JSON it was in") func success() async throws {
        let server = try await StubServer(StubServer.relayd(Samples.busy))
        let answer = try await status(server.path)
        #expect(answer.value == Samples.busy)
        #expect(answer.json == (try Samples.status(Samples.busy).json))
        try await server.stop()
    }

    @Test("no socket: not running, with the place looked at and what to do")
    func absent() async throws {
        let error = await #expect(throws: ControlClientError.self) {
            _ = try await status("/nonexistent/c.sock")
        }
        let text = try #require(error?.description)
        #expect(text.contains("relayd is not running; looked at\n  /nonexistent/c.sock  does not"))
        #expect(text.contains("→ start it (relayd, or: sudo systemctl start relayd)"))
    }

    @Test("an answer may be over and the connection closed before the question is done with")
    func quickAnswer() async throws {
        let server = try await StubServer(.answerAndClose(StubServer.answer("one\ntwo\n")))
        let client = try client(server.path)
        // Several at a time, so that some are interrupted midway.
        try await withThrowingTaskGroup { group in
            for _ in 0..<10 {
                group.addTask {
                    for _ in 0..<100 {
                        var lines: [String] = []
                        try await client.lines(of: "/v1/messages") {
                            lines += $0.map { String(buffer: $0) }
                            return true
                        }
                        #expect(lines == ["one", "two"])
                    }
                }
            }
            try await group.waitForAll()
        }
        try await server.stop()
    }

    @Test("a connection that is closed at once is no answer, for lines as well")
    func closedAtOnce() async throws {
        let server = try await StubServer(.close)
        let client = try client(server.path)
        let error = await #expect(throws: ControlClientError.self) {
            try await client.lines(of: "/v1/messages") { _ in true }
        }
        #expect(error?.description.contains("closed the connection without an answer") == true)
        try await server.stop()
    }

    @Test("a connection that is closed before the question is read is no answer either")
    func closedUnread() async throws {
        let server = try await StubServer(.closeUnread)
        let client = try client(server.path)
        // The kernel chooses which end comes first, so with this many attempts both orders occur.
        for _ in 0..<200 {
            let streamed = await #expect(throws: ControlClientError.self) {
                try await client.lines(of: "/v1/messages") { _ in true }
            }
            let asked = await #expect(throws: ControlClientError.self) {
                _ = try await client.status()
            }
            for error in [streamed, asked] {
                let text = error?.description ?? "another error"
                #expect(text.contains("closed the connection without an answer"), "\(text)")
            }
        }
        try await server.stop()
    }

    @Test("several places are tried in order, and all are named when none answers")
    func severalPlaces() async throws {
        let server = try await StubServer(StubServer.relayd(Samples.busy))
        let absent = try ControlSocket.forTool(given: "/nonexistent/a.sock")
        let live = try ControlSocket.forTool(given: server.path)
        let found = try await ControlClient(sockets: absent + live).status()
        #expect(found.value == Samples.busy)
        try await server.stop()
        let error = await #expect(throws: ControlClientError.self) {
            _ = try await ControlClient(sockets: absent + live).status()
        }
        #expect(error?.description.contains("/nonexistent/a.sock") == true)
        #expect(error?.description.contains(server.path) == true)
    }

    @Test("a socket nobody listens on is said to be left behind") func abandoned() async throws {
        let server = try await StubServer(.silence)
        let copy = server.path + ".old"
        // Renames the socket, so that it outlives its listener.
        #expect(rename(server.path, copy) == 0)
        try await server.stop()
        let error = await #expect(throws: ControlClientError.self) { _ = try await status(copy) }
        #expect(error?.description.contains("nothing answers (left behind") == true)
        unlink(copy)
        #expect(copy.hasSuffix("/c.sock.old") && rmdir(String(copy.dropLast(11))) == 0)
    }

    @Test("a URL is no path of a socket") func url() async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["status", "--socket", "http://127.0.0.1:2777"], output: recorder.output())
        #expect(code == 64)
        #expect(recorder.text(.error).contains("expected a path such as /run/relayd/relayd.sock"))
    }

    @Test("a file or directory is said to be no socket, not that relayd does not run")
    func notSocket() async throws {
        try await TemporaryDirectory.run { directory in
            let file = try directory.write("", to: "file")
            for path in [file, directory.path] {
                let error = await #expect(throws: ControlClientError.self) {
                    _ = try await status(path)
                }
                #expect(error?.description.hasPrefix("\(path) is not a relayd socket") == true)
                #expect(error?.description.contains("not running") == false)
            }
        }
    }

    @Test("who does not speak HTTP is not relayd") func notHTTP() async throws {
        let text = try await failure(.answer("SSH-2.0-OpenSSH_9.2p1\r\n"))
        #expect(
            text.hasPrefix(
                "the program that answers on SOCKET is not relayd: its answer is not HTTP"))
    }

    @Test("another web server is not relayd") func otherServer() async throws {
        let text = try await failure(
            .answer("HTTP/1.1 200 OK\r\nServer: nginx\u{1B}[2J\r\nContent-Length: 2\r\n\r\n{}"))
        #expect(text.contains("is not relayd"))
        #expect(!text.contains("\u{1B}"))
        #expect(
            try await failure(
                .answer("HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 2\r\n\r\n{}")
            ).contains("it calls itself \"nginx\""))
    }

    @Test("who hangs up may be relayd, and is not called another program")
    func hangsUp() async throws {
        let text = try await failure(.close)
        #expect(
            text.hasPrefix(
                "the program that answers on SOCKET closed the connection without an answer"))
        #expect(text.contains("try again") && !text.contains("is not relayd"))
    }

    @Test("who says nothing is given up on") func timesOut() async throws {
        let text = try await failure(.silence, timeout: .milliseconds(50))
        #expect(text.hasPrefix("relayd accepted the connection on SOCKET but did not answer"))
    }

    @Test("an answer that may wait for a name server is waited for longer than others")
    func nameServer() async throws {
        let told = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
        let server = try await StubServer(
            .answerAfter(told.futureResult, StubServer.answer("{}")))
        let client = try client(server.path, timeout: .milliseconds(20))
        let (path, questions) = (server.path, [("POST", Routes.reload), ("PUT", Routes.server)])
        let answers = questions.map { method, path in
            Task { try await client.ask(ControlQuestion(method: method, path: path)).answer.status }
        }
        // Asked later, and timed out.
        for _ in 1...3 {
            await #expect(throws: ControlClientError.timedOut(path)) { try await client.status() }
        }
        told.succeed()
        for answer in answers { #expect(try await answer.value == 200) }
        try await server.stop()
    }

    @Test("an answer without end is given up on") func tooLarge() async throws {
        let text = try await failure(
            .answer(
                "HTTP/1.1 200 OK\r\nServer: relayd/1\r\nContent-Length: 9000000\r\n\r\n"
                    + String(repeating: " ", count: 8_500_000)))
        #expect(text.contains("more than 8388608 bytes"))
    }

    @Test("a server that answers and does not close gets a second for it, then its answer counts")
    func staysOpen() async throws {
        let json = String(decoding: try APICoding.encode(Samples.busy), as: UTF8.self)
        let server = try await StubServer(.answer(StubServer.answer(json)))
        #expect(try await status(server.path).value == Samples.busy)
        try await server.stop()
    }

    @Test("the second begins with the end of the answer, whatever time there was for it")
    func closing() throws {
        let loop = EmbeddedEventLoop()
        let promise = loop.makePromise(of: ControlAnswer.self)
        let exchange = ControlExchange(
            ControlQuestion(path: Routes.health), timeout: .minutes(5), promise: promise)
        let channel = EmbeddedChannel(handler: exchange, loop: loop)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/c.sock")).wait()
        loop.advanceTime(by: .minutes(4))
        try channel.writeInbound(
            HTTPClientResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        try channel.writeInbound(HTTPClientResponsePart.end(nil))
        loop.advanceTime(by: .milliseconds(999))
        #expect(channel.isActive)
        loop.advanceTime(by: .milliseconds(1))
        #expect(!channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
        #expect(try promise.futureResult.wait().status == 200)
    }

    @Test("relayd's own no is passed on, with both versions when they differ")
    func refused() async throws {
        let text = try await failure(
            StubServer.relayd(
                #"{"schema":1,"error":{"code":"not_found","message":"nothing here"}}"#,
                status: "404 Not Found", version: "0.0.9"))
        #expect(text.hasPrefix("relayd/0.0.9 on SOCKET answered /v1/status with 404: nothing here"))
        #expect(text.contains("this is relayctl \(Version.current)"))
    }

    @Test("an answer that is no status says where it went wrong") func notUnderstood() async throws
    {
        #expect(
            try await failure(StubServer.relayd("{\"schema\": 1}"))
                .contains("is not understood: \"health\" is missing"))
        let wrong = try Samples.status(Samples.busy).json.replacing(
            "\"id\" : 1", with: "\"id\" : []")
        #expect(try await failure(StubServer.relayd(wrong)).contains("at apps."))
        #expect(try await failure(StubServer.relayd("hello")).contains("is not understood"))
    }
}
