// The built programs run by a user whom permissions bind; tests run by root would notice nothing.

import ControlAPI
import Glibc
import RelayTesting
import Testing

@Suite("The built programs run by an ordinary user")
struct OrdinaryUserTests {
    /// relayd run by the user, in a directory of theirs; `accessory` is a file in it.
    private static func run(
        _ accessory: String, _ before: (TemporaryDirectory) throws -> Void,
        _ body: (Relayd, _ node: String) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            let program = try await OrdinaryUser.copy(.relayd, in: directory)
            try OrdinaryUser.give(directory.path)
            try before(directory)
            let node = directory.file(accessory)
            let process = try await OrdinaryUser.start(
                program,
                [
                    "--accessory", "serial:\(node)", "--listen", "127.0.0.1:0",
                    "--control-socket", directory.file("relayd.sock"),
                ])
            try await Relayd.run(process, in: directory) { try await body($0, node) }
        }
    }

    @Test("a device whose permissions are put right later is opened then")
    func permissionsComeLater() async throws {
        var line: PseudoTerminal?
        try await Self.run("ttyUSB0") { directory in
            let path = directory.file("ttyUSB0")
            line = try PseudoTerminal(path: path)
            try OrdinaryUser.give(path)
            chmod(path, 0)
        } _: { relayd, node in
            let status = try await relayd.until("denied") {
                $0.accessory.reason?.code == "permission_denied"
            }
            #expect(status.accessory.reason?.message.contains(" with mode 0000; user ") == true)
            chmod(node, 0o600)
            try await relayd.until("open") { $0.accessory.state == .open }
        }
        withExtendedLifetime(line) {}
    }

    @Test("a directory that cannot be watched is said so, and the device tried by the clock")
    func unreadableDirectory() async throws {
        try await Self.run("devices/ttyUSB0") { directory in
            let devices = directory.file("devices")
            // The files in it may be opened, but not listed, and so not watched.
            try #require(mkdir(devices, 0o300) == 0)
            try OrdinaryUser.give(devices)
        } _: { relayd, node in
            try await relayd.process.errors.first(containing: "cannot be watched with inotify")
            let line = try PseudoTerminal(path: node)
            try OrdinaryUser.give(node)
            try await relayd.until("open") { $0.accessory.state == .open }
            line.unplug()
            rmdir(relayd.directory.file("devices"))
        }
    }

    @Test("a socket closed to this user names its mode and what to type")
    func notPermitted() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let program = try await OrdinaryUser.copy(.relayctl, in: relayd.directory)
            try #require(chmod(relayd.controlSocket, 0) == 0)
            let done = try await OrdinaryUser.run(
                program, ["status", "--socket", relayd.controlSocket])
            #expect(done.ending == .exited(2))
            #expect(done.errors.contains("you may not use this relayd"), "\(done.errors)")
            #expect(done.errors.contains("mode 0"), "\(done.errors)")
        }
    }
}
