import Glibc
import NIOPosix
import Testing

@testable import AccessoryLinks

@Suite("DeviceWatcher")
struct DeviceWatcherTests {
    /// A watcher, and the count of changes it has reported.
    private func watch(_ node: String) async throws -> (DeviceWatcher, Watched<Int>) {
        let told = Watched(0)
        let watcher = try await DeviceWatcher(
            node: node, on: MultiThreadedEventLoopGroup.singleton.next()
        ) { told.update { $0 += 1 } }
        return (watcher, told)
    }

    private func touch(_ path: String) {
        close(open(path, O_CREAT | O_CLOEXEC, 0o600))
    }

    @Test("the node's creation, change of mode, renaming and removal are told")
    func tellsChanges() async throws {
        let directory = try TemporaryDirectory()
        let node = directory.path + "/node"
        let (watcher, told) = try await watch(node)
        touch(node)
        try await told.wait(for: "creation") { $0 >= 1 }
        var before = told.value
        chmod(node, 0o660)
        try await told.wait(for: "chmod") { [before] in $0 > before }
        before = told.value
        rename(node, node + "-away")
        try await told.wait(for: "renaming away") { [before] in $0 > before }
        before = told.value
        rename(node + "-away", node)
        try await told.wait(for: "renaming back") { [before] in $0 > before }
        before = told.value
        unlink(node)
        try await told.wait(for: "removal") { [before] in $0 > before }
        watcher.stop()
    }

    @Test("neighbours are not told")
    func ignoresNeighbours() async throws {
        let directory = try TemporaryDirectory()
        let (watcher, told) = try await watch(directory.path + "/node")
        for number in 0..<100 { touch(directory.path + "/node\(number)") }
        touch(directory.path + "/node")
        try await told.wait(for: "the node's creation") { $0 >= 1 }
        #expect(told.value == 1)
        watcher.stop()
    }

    @Test("a path whose directories do not exist is followed down as they appear")
    func followsDown() async throws {
        let directory = try TemporaryDirectory()
        let (watcher, told) = try await watch(directory.path + "/a/b/c/node")
        for part in ["/a", "/a/b", "/a/b/c"] {
            let before = told.value
            mkdir(directory.path + part, 0o755)
            try await told.wait(for: part) { $0 > before }
        }
        let before = told.value
        touch(directory.path + "/a/b/c/node")
        try await told.wait(for: "the node") { $0 > before }
        watcher.stop()
    }

    @Test("directories made all at once hide nothing")
    func followsQuickly() async throws {
        for _ in 0..<20 {
            let directory = try TemporaryDirectory()
            let node = directory.path + "/a/b/node"
            let found = Watched(false)
            let watcher = try await DeviceWatcher(
                node: node, on: MultiThreadedEventLoopGroup.singleton.next()
            ) { if DeviceNode(node).exists { found.update { $0 = true } } }
            mkdir(directory.path + "/a", 0o755)
            mkdir(directory.path + "/a/b", 0o755)
            touch(node)
            try await found.wait(for: "the node") { $0 }
            watcher.stop()
        }
    }

    @Test("after the directory was removed and made again the node is still watched")
    func survivesRemoval() async throws {
        let directory = try TemporaryDirectory()
        let (watcher, told) = try await watch(directory.path + "/a/node")
        for _ in 0..<3 {
            var before = told.value
            mkdir(directory.path + "/a", 0o755)
            try await told.wait(for: "the directory") { [before] in $0 > before }
            before = told.value
            rmdir(directory.path + "/a")
            try await told.wait(for: "its removal") { [before] in $0 > before }
        }
        watcher.stop()
    }

    @Test("links are followed to the directories of their targets, and loops end")
    func plansLinks() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        symlink("real/tty", path + "/one")
        symlink("one", path + "/two")
        symlink("loop", path + "/loop")
        #expect(DeviceWatchHandler.plan(for: path + "/two") == [path: ["two", "one", "real"]])
        mkdir(path + "/real", 0o755)
        #expect(
            DeviceWatchHandler.plan(for: path + "/two")
                == [path: ["two", "one"], path + "/real": ["tty"]])
        #expect(DeviceWatchHandler.plan(for: path + "/loop") == [path: ["loop"]])
        #expect(DeviceWatchHandler.plan(for: "/no-such-place/x/y") == ["/": ["no-such-place"]])
    }
}
