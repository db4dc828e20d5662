import ControlAPI
import Glibc
import Testing

@testable import relayd

@Suite struct ControlListenerTests {
    private func error(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test("the socket has the configured mode", arguments: [0o660, 0o600, 0o666] as [UInt16])
    func mode(mode: UInt16) throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let listener = try ControlListener(.init(socketPath: test.path, mode: mode))
        var info = stat()
        #expect(lstat(listener.path, &info) == 0)
        #expect(info.st_mode & S_IFMT == S_IFSOCK && info.st_mode & 0o7777 == mode_t(mode))
    }

    @Test("the socket belongs to the configured group") func group() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let name = try #require(getgrgid(getegid())?.pointee.gr_name)
        let listener = try ControlListener(
            .init(socketPath: test.path, group: String(cString: name)))
        var info = stat()
        #expect(lstat(listener.path, &info) == 0 && info.st_gid == getegid())
    }

    @Test("a group may be given by its number, also one without a name") func groupNumber() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        // Only root may give a file to a group that it does not belong to.
        let number = getuid() == 0 ? 54_321 : getegid()
        let listener = try ControlListener(.init(socketPath: test.path, group: "\(number)"))
        var info = stat()
        #expect(lstat(listener.path, &info) == 0 && info.st_gid == number)
    }

    @Test("no number stands for \"as it is\"", arguments: ["4294967295", "4294967296", "-1"])
    func noGroupNumber(text: String) throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        #expect(throws: ControlListenerError.unknownGroup(text)) {
            _ = try ControlListener(.init(socketPath: test.path, group: text))
        }
    }

    @Test("an unknown group is an error that says so, and leaves no socket behind")
    func unknownGroup() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let message = error {
            _ = try ControlListener(.init(socketPath: test.path, group: "no-such-group"))
        }
        #expect(message.contains("there is no group \"no-such-group\""))
        #expect(access(test.path, F_OK) != 0)
    }

    @Test("the socket is removed with its listener, but not one that took its place")
    func removal() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        do {
            let listener = try ControlListener(.init(socketPath: test.path))
            #expect(access(listener.path, F_OK) == 0)
        }
        #expect(access(test.path, F_OK) != 0)

        let first = try ControlListener(.init(socketPath: test.path))
        #expect(rename(test.path, test.path + ".old") == 0)
        defer { unlink(test.path + ".old") }
        let second = try ControlListener(.init(socketPath: test.path))
        first.remove()
        #expect(access(second.path, F_OK) == 0)
    }

    @Test("a socket left behind by a killed relayd is replaced") func staleSocket() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: test.path.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(status == 0)
        close(descriptor)
        let listener = try ControlListener(.init(socketPath: test.path))
        close(try test.connect())
        #expect(listener.path == test.path)
    }

    @Test("a second relayd on the same socket is told who has it, and takes nothing away")
    func secondDaemon() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let first = try ControlListener(.init(socketPath: test.path))
        let message = error { _ = try ControlListener(.init(socketPath: test.path)) }
        #expect(message.contains("another relayd (pid \(getpid())) is serving \(test.path)"))
        close(try test.connect())
        #expect(first.path == test.path)
    }

    /// Creates a file that a link may point to.
    private func makeTarget(in test: ControlTestServer) -> String {
        let target = test.directory + "/target"
        let file = creat(target, 0o600)
        #expect(file >= 0)
        close(file)
        return target
    }

    @Test("a link at the socket's path is not followed; it and what it names stay as they are")
    func link() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let target = makeTarget(in: test)
        defer { unlink(target) }
        #expect(symlink(target, test.path) == 0)
        let message = error { _ = try ControlListener(.init(socketPath: test.path, mode: 0o666)) }
        #expect(message.contains("is not a socket, so it is left alone"))
        var info = stat()
        #expect(lstat(target, &info) == 0 && info.st_mode & 0o7777 == 0o600)
        #expect(lstat(test.path, &info) == 0 && info.st_mode & S_IFMT == S_IFLNK)
    }

    @Test(
        "a link that takes the socket's place while it is made keeps what it names as it is",
        arguments: ControlListener.Moment.allCases)
    func swapped(moment: ControlListener.Moment) throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let target = makeTarget(in: test)
        defer {
            unlink(test.path)
            unlink(target)
        }
        let message = error {
            let listener = try ControlListener(.init(socketPath: test.path, mode: 0o666)) {
                guard $0 == moment else { return }
                #expect(unlink(test.path) == 0 && symlink(target, test.path) == 0)
            }
            listener.remove()
        }
        // Once the file is open, the mode is set on it and not on whatever the path names.
        #expect(message.contains("is not a socket") == (moment == .bound), "\(message)")
        var info = stat()
        #expect(lstat(target, &info) == 0 && info.st_mode & 0o7777 == 0o600)
        #expect(lstat(test.path, &info) == 0 && info.st_mode & S_IFMT == S_IFLNK)
    }

    @Test("a file that is no socket is left alone") func ordinaryFile() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let file = creat(test.path, 0o600)
        #expect(file >= 0)
        close(file)
        let message = error { _ = try ControlListener(.init(socketPath: test.path)) }
        #expect(message.contains("is not a socket, so it is left alone"))
        #expect(access(test.path, F_OK) == 0)
    }

    @Test("a missing directory is made, one level deep") func directory() throws {
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let directory = test.directory + "/run"
        do {
            _ = try ControlListener(.init(socketPath: directory + "/c.sock"))
            #expect(access(directory, F_OK) == 0)
        }
        #expect(rmdir(directory) == 0)
        let message = error {
            _ = try ControlListener(.init(socketPath: test.directory + "/a/b/c.sock"))
        }
        #expect(message.contains("cannot create the directory \(test.directory)/a/b"))
    }
}
