import ControlAPI
import Glibc
import Testing

@Suite struct ControlSocketTests {
    private func surroundings(
        user: UInt32 = 1000, _ environment: [String: String] = [:], writable: [String] = []
    ) -> Surroundings {
        Surroundings(userID: user) {
            environment[$0]
        } isWritableDirectory: {
            writable.contains($0)
        }
    }

    @Test(
        "relayd takes the first place of the list that applies",
        arguments: [
            (["RELAYD_SOCKET": "/a.sock", "RUNTIME_DIRECTORY": "/run/r"], UInt32(0), "/a.sock"),
            (["RUNTIME_DIRECTORY": "/run/r:/run/s"], 1000, "/run/r/relayd.sock"),
            (["XDG_RUNTIME_DIR": "/run/user/0"], 0, "/run/relayd/relayd.sock"),
            (["XDG_RUNTIME_DIR": "/run/user/1000"], 1000, "/run/user/1000/relayd/relayd.sock"),
            ([:], 1000, "/tmp/relayd-1000/relayd.sock"),
        ])
    func daemonPlaces(environment: [String: String], user: UInt32, path: String) throws {
        #expect(
            try ControlSocket.forDaemon(in: surroundings(user: user, environment)).path == path)
    }

    @Test("relayd uses the system's directory when it may write there")
    func systemDirectory() throws {
        let world = surroundings(["XDG_RUNTIME_DIR": "/x"], writable: ["/run/relayd"])
        let socket = try ControlSocket.forDaemon(in: world)
        #expect(socket.path == "/run/relayd/relayd.sock")
    }

    @Test("what is given wins, on both sides") func givenWins() throws {
        let world = surroundings(["RELAYD_SOCKET": "/a.sock"])
        #expect(try ControlSocket.forDaemon(given: "/b", in: world).path == "/b")
        #expect(try ControlSocket.forTool(given: "/b", in: world).map(\.path) == ["/b"])
    }

    @Test("relayctl looks at every usual place, in relayd's order") func toolPlaces() throws {
        let world = surroundings(["XDG_RUNTIME_DIR": "/run/user/1000", "RUNTIME_DIRECTORY": "/x"])
        #expect(
            try ControlSocket.forTool(in: world).map(\.path) == [
                "/run/relayd/relayd.sock", "/run/user/1000/relayd/relayd.sock",
                "/tmp/relayd-1000/relayd.sock",
            ])
        let told = surroundings(["RELAYD_SOCKET": "/a.sock"])
        #expect(try ControlSocket.forTool(in: told).map(\.path) == ["/a.sock"])
    }

    @Test("a path that fits no socket address is refused with its length")
    func tooLong() throws {
        let longest = "/" + String(repeating: "x", count: 106)
        #expect(try ControlSocket.forDaemon(given: longest).path == longest)
        let error = #expect(throws: ControlSocketError.self) {
            try ControlSocket.forDaemon(given: longest + "é")
        }
        #expect(error?.description.contains("109 bytes, the system allows 107") == true)
        #expect(throws: ControlSocketError.self) { try ControlSocket.forTool(given: "") }
    }

    @Test(
        "the directory of a path",
        arguments: [("/a/b.sock", "/a"), ("/b.sock", "/"), ("b.sock", "."), ("a/b.sock", "a")])
    func directory(path: String, directory: String) throws {
        #expect(try ControlSocket.forDaemon(given: path).directory == directory)
    }

    @Test("a directory in /tmp must be our own and closed to others") func temporaryDirectory()
        throws
    {
        // An unused user ID: the directory belongs to the user that runs the test.
        let user = UInt32.random(in: 3_000_000_000..<4_000_000_000)
        let socket = try ControlSocket.forDaemon(in: surroundings(user: user))
        try socket.checkDirectoryIsOurs(userID: user)
        #expect(mkdir(socket.directory, 0o700) == 0)
        defer { rmdir(socket.directory) }
        try socket.checkDirectoryIsOurs(userID: geteuid())
        #expect(throws: ControlSocketError.self) { try socket.checkDirectoryIsOurs(userID: user) }
        #expect(chmod(socket.directory, 0o755) == 0)
        let error = #expect(throws: ControlSocketError.self) {
            try socket.checkDirectoryIsOurs(userID: geteuid())
        }
        #expect(error?.description.contains("its mode is 755") == true)
    }
}
