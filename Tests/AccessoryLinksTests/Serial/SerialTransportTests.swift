import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@testable import AccessoryLinks

@Suite("SerialTransport")
struct SerialTransportTests {
    private func open(_ text: String, _ probe: LinkProbe) async throws -> any Channel {
        let transport = try TransportCatalog.transport(for: AccessoryAddress(text))
        return try await transport.open(
            on: MultiThreadedEventLoopGroup.singleton.next(), configure: probe.setup)
    }

    @Test(
        "every byte passes unchanged in both directions, because the tty is raw",
        arguments: ["serial", "rfcomm"])
    func passesAllBytes(scheme: String) async throws {
        let tty = try PseudoTerminal()
        let probe = LinkProbe()
        let channel = try await open("\(scheme):\(tty.path)", probe)
        #expect(try tty.settings().isRaw)

        let all = (0...255).map { UInt8($0) }
        try await tty.write(all + all)
        #expect(try await probe.receive(512) == all + all)
        try await channel.send(all + [0x03, 0x11, 0x13, 0x0D, 0x0A, 0x04, 0x1A])
        #expect(try await tty.read(263) == all + [0x03, 0x11, 0x13, 0x0D, 0x0A, 0x04, 0x1A])

        try await channel.close()
        #expect(probe.seen.value.configured == 1)
        #expect(probe.seen.value.active == 1)
    }

    @Test(
        "standard and non-standard rates, and RTS/CTS, reach the driver",
        arguments: [
            ("", 115_200, false), ("?baud=9600", 9600, false),
            ("?baud=3000000&flow=rtscts", 3_000_000, true), ("?baud=250000", 250_000, false),
            ("?baud=1234567&flow=none&dtr=off", 1_234_567, false),
        ] as [(String, UInt32, Bool)])
    func setsRate(options: String, baud: UInt32, rtsCts: Bool) async throws {
        let tty = try PseudoTerminal()
        let channel = try await open("serial:\(tty.path)\(options)", LinkProbe())
        let settings = try tty.settings()
        #expect(settings.baud == baud)
        #expect(settings.rtsCts == rtsCts)
        try await channel.close()
    }

    @Test("a rate is close enough up to 2.5 per cent")
    func toleratesRounding() {
        #expect(TTY.isCloseEnough(117_647, to: 115_200))
        #expect(TTY.isCloseEnough(975_000, to: 1_000_000))
        #expect(!TTY.isCloseEnough(974_999, to: 1_000_000))
        #expect(!TTY.isCloseEnough(2_500_000, to: 3_000_000))
    }

    @Test("a tty that is open already is busy, and free again after the close")
    func excludesSecondOpener() async throws {
        let tty = try PseudoTerminal()
        let channel = try await open("serial:\(tty.path)", LinkProbe())
        let problem = try await #require(throws: LinkProblem.self) {
            try await open("serial:\(tty.path)", LinkProbe())
        }
        #expect(problem.code == .busy)
        #expect(problem.message.hasPrefix("\(tty.path) is in use by "))
        #expect(problem.remedy != nil)
        // The first link is unaffected.
        try await channel.send([1, 2, 3])
        #expect(try await tty.read(3) == [1, 2, 3])

        try await channel.close()
        let second = try await open("serial:\(tty.path)", LinkProbe())
        try await second.close()
    }

    @Test("a closed tty is free, even while a program that is being started has a copy of it")
    func freesDespiteCopies() async throws {
        struct Refused: Error {}
        let tty = try PseudoTerminal()
        let address = "serial:\(tty.path)"
        for fails in [false, true] {
            // The copies that fork(2) leaves in a child until it executes another program.
            let copies = Watched<[CInt]>([])
            defer { for copy in copies.value { close(copy) } }
            let transport = try TransportCatalog.transport(for: AccessoryAddress(address))
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let channel = try? await transport.open(on: loop) { channel in
                copies.update { $0 = Self.copies(of: tty.path) }
                return fails
                    ? channel.eventLoop.makeFailedFuture(Refused())
                    : channel.eventLoop.makeSucceededVoidFuture()
            }
            #expect((channel == nil) == fails)
            try await channel?.close()
            #expect(copies.value.count >= 2)
            let second = try await open(address, LinkProbe())
            try await second.close()
        }
    }

    /// Duplicates of all of this process's descriptors for a device node.
    private static func copies(of path: String) -> [CInt] {
        var node = stat()
        guard stat(path, &node) == 0 else { return [] }
        return (0..<CInt(4096)).compactMap { descriptor in
            var file = stat()
            guard fstat(descriptor, &file) == 0, file.st_mode & S_IFMT == S_IFCHR,
                file.st_rdev == node.st_rdev
            else { return nil }
            return fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        }
    }

    @Test("a busy tty's message names the program that has it")
    func namesHolder() async throws {
        let tty = try PseudoTerminal()
        let holder = try await HoldingProcess(path: tty.path)
        defer { holder.end() }
        try await holder.waitUntilHeld()
        let problem = try await #require(throws: LinkProblem.self) {
            try await open("serial:\(tty.path)", LinkProbe())
        }
        #expect(problem.code == .busy)
        #expect(
            problem.message == "\(tty.path) is in use by sh (process \(holder.processID))")
        #expect(problem.remedy == "close that program")
    }

    @Test("unplugging makes the channel inactive")
    func unplug() async throws {
        let tty = try PseudoTerminal()
        let probe = LinkProbe()
        let channel = try await open("serial:\(tty.path)", probe)
        tty.unplug()
        try await probe.seen.wait(for: "inactive channel") { $0.inactive == 1 }
        #expect(!channel.isActive)
    }

    @Test("unplugging is noticed while the hub does not read")
    func unplugWithoutReading() async throws {
        let tty = try PseudoTerminal()
        let channel = try await open("serial:\(tty.path)", LinkProbe())
        try await channel.setOption(.autoRead, value: false).get()
        tty.unplug()
        try await withDeadline("closed channel") { try await channel.closeFuture.get() }
    }

    @Test(
        "what is no tty is refused by name",
        arguments: [
            ("/dev/null", "a character device but no terminal"), ("/tmp", "a directory"),
            ("/etc/passwd", "a regular file"),
        ])
    func refusesNonTTY(path: String, found: String) async throws {
        let problem = try await #require(throws: LinkProblem.self) {
            try await open("serial:\(path)", LinkProbe())
        }
        #expect(problem.code == .notATerminal)
        #expect(problem.message == "\(path) is \(found); expected a tty such as /dev/ttyUSB0")
    }

    @Test("an absent node is absent")
    func absent() async throws {
        let problem = try await #require(throws: LinkProblem.self) {
            try await open("serial:/dev/ttyRelaydTest", LinkProbe())
        }
        #expect(problem.code == .absent)
        // Other devices plugged in on this machine may be listed after it.
        #expect(problem.message.hasPrefix("/dev/ttyRelaydTest does not exist"))
        #expect(problem.remedy == "plug the device in; relayd opens it as soon as it appears")
    }

    @Test("permission problems name the group and the command")
    func permissions() {
        let dialout = DeviceNode.permissionDenied(
            path: "/dev/ttyUSB0", user: "relayd", owner: "root", group: "dialout", mode: 0o660)
        #expect(dialout.code == .permissionDenied)
        #expect(
            dialout.message
                == "/dev/ttyUSB0 belongs to root:dialout with mode 0660; "
                + "user relayd may not open it")
        #expect(
            dialout.remedy
                == "add the user to group dialout: sudo usermod -aG dialout relayd, "
                + "then log in again or restart relayd")
        let rootOnly = DeviceNode.permissionDenied(
            path: "/dev/ttyUSB0", user: "relayd", owner: "root", group: "root", mode: 0o600)
        #expect(
            rootOnly.remedy
                == "give a group access with a udev rule, for example "
                + "SUBSYSTEM==\"tty\", GROUP=\"dialout\", MODE=\"0660\"")
    }

    @Test("a group that relayd's unit hides is never named by the name of what hides it")
    func hiddenGroup() {
        let problem = DeviceNode.permissionDenied(
            path: "/dev/ttyUSB0", user: "relayd", owner: "root", group: nil, mode: 0o660)
        #expect(
            problem.message
                == "/dev/ttyUSB0 belongs to root:(hidden by PrivateUsers=) with mode 0660; "
                + "user relayd may not open it")
        #expect(
            problem.remedy
                == "add the user to the device's group: "
                + "sudo usermod -aG $(stat -Lc %G /dev/ttyUSB0) relayd, then restart relayd")
    }

    @Test("a device policy is told from permissions, which would not help")
    func policy() {
        // Any character device will do.
        let forbidden = DeviceNode("/dev/null").problem(opening: EPERM)
        #expect(forbidden.code == .permissionDenied)
        // By the driver's number: a rule by path allows nothing while nothing is plugged in there.
        #expect(forbidden.remedy?.contains("DeviceAllow=char-1 rw") == true)
        #expect(DeviceNode("/dev/null").problem(opening: EACCES).message.contains("with mode 0666"))
    }

    @Test("an attempt that fails leaves no descriptor open, whatever step it fails at")
    func leaksNothing() async throws {
        struct Refused: Error {}
        let tty = try PseudoTerminal()
        let transport = try TransportCatalog.transport(
            for: AccessoryAddress("serial:\(tty.path)"))
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        for _ in 0..<20 {
            let problem = try await #require(throws: LinkProblem.self) {
                try await transport.open(on: loop) { $0.eventLoop.makeFailedFuture(Refused()) }
            }
            #expect(problem.code == .other || problem.code == .busy)
        }
        // If a descriptor were left, the lock would be, too. A child that another test is just starting has a
        // copy of everything, including the lock, until it executes its program.
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                let channel = try await transport.open(on: loop, configure: LinkProbe().setup)
                try await channel.close()
                return
            } catch let problem as LinkProblem where problem.code == .busy {
                try #require(ContinuousClock.now < deadline, "\(problem)")
                await Task.yield()
            }
        }
    }
}

/// Another process that holds a lock on a device node: flock(1), which becomes a shell.
private struct HoldingProcess {
    private let process: ChildProcess

    var processID: Int32 { process.pid }

    init(path: String) async throws {
        process = try await ChildProcess.start(
            "flock", ["--no-fork", path, "sh", "-c", "echo held; kill -STOP $$"],
            environment: ["PATH": "/usr/bin:/bin"])
    }

    /// Waits until the process has opened and locked the device and has its final name.
    func waitUntilHeld() async throws {
        _ = try await process.output.first(containing: "held")
    }

    func end() {
        process.signal(SIGKILL)
    }
}
