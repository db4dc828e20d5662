import Foundation
import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@testable import AccessoryLinks

@Suite("LinkSupervisor on ttys")
struct LinkSupervisorTests {
    @Test("a device unplugged and plugged in 20 times is opened 20 times, and works each time")
    func replugs() async throws {
        let tty = try PseudoTerminal()
        try await SupervisedLink("serial:\(tty.path)").run { link in
            for round in 1...20 {
                try await link.waitUntilOpen(times: round)
                try await tty.write([UInt8(round)])
                let received = try await link.probe.receive(round)
                #expect(received == (1...UInt8(round)).map { $0 })
                tty.unplug()
                try await link.waitUntilGone()
                try tty.replug()
            }
            try await link.waitUntilOpen(times: 21)
            let seen = link.probe.seen.value
            #expect(seen.configured == 21)
            #expect(seen.active == 21)
            #expect(seen.inactive == 20)
        }
    }

    @Test("a device that is absent at first is opened when it appears, its directory included")
    func appears() async throws {
        let directory = try TemporaryDirectory()
        let byID = directory.path + "/serial/by-id"
        try await SupervisedLink("serial:\(byID)/usb-Test").run { link in
            let reason = try await link.waitUntilWaiting(.absent)
            #expect(reason.message == "\(byID)/usb-Test does not exist")
            mkdir(directory.path + "/serial", 0o755)
            mkdir(byID, 0o755)
            let tty = try PseudoTerminal(path: byID + "/usb-Test")
            try await link.waitUntilOpen()
            // The whole tree goes, as udev removes it with the last device.
            tty.unplug()
            rmdir(byID)
            rmdir(directory.path + "/serial")
            try await link.waitUntilGone()
            mkdir(directory.path + "/serial", 0o755)
            mkdir(byID, 0o755)
            try tty.replug()
            try await link.waitUntilOpen(times: 2)
        }
    }

    @Test("an absent device is not tried again while nothing happens to its node")
    func doesNotPoll() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/tty"
        try await SupervisedLink("serial:\(path)").run { link in
            try await link.waitUntilWaiting(.absent)
            // Other nodes come and go; then the device's own appears, which ends the wait.
            for number in 0..<50 {
                close(open(directory.path + "/other\(number)", O_CREAT | O_CLOEXEC, 0o600))
            }
            let tty = try PseudoTerminal(path: path)
            try await link.waitUntilOpen()
            let failures = link.states.value.compactMap { $0.reason }.count
            #expect(failures == 1)
            withExtendedLifetime(tty) {}
        }
    }

    @Test("a link whose target appears later is followed")
    func followsLinks() async throws {
        let directory = try TemporaryDirectory()
        symlink("devices/ttyX", directory.path + "/stable")
        try await SupervisedLink("serial:\(directory.path)/stable").run { link in
            try await link.waitUntilWaiting(.absent)
            mkdir(directory.path + "/devices", 0o755)
            let tty = try PseudoTerminal(path: directory.path + "/devices/ttyX")
            try await link.waitUntilOpen()
            withExtendedLifetime(tty) {}
        }
    }

    @Test("a regular file in the device's place is named once in the log, then replaced")
    func wrongNode() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/tty"
        close(open(path, O_CREAT | O_CLOEXEC, 0o600))
        try await SupervisedLink("serial:\(path)").run { link in
            try await link.states.wait(for: "three attempts") { states in
                if case .waiting(_, _, let attempts) = states.last { attempts >= 3 } else { false }
            }
            let reason = try #require(link.states.value.last?.reason)
            #expect(reason.code == .notATerminal)
            #expect(
                link.log.value.filter { $0.contains("regular file") }
                    == ["warning: waiting: \(reason)"])
            unlink(path)
            let tty = try PseudoTerminal(path: path)
            try await link.waitUntilOpen()
            withExtendedLifetime(tty) {}
        }
    }

    @Test("a wrong node that is removed is reported as absent, without another attempt")
    func wrongNodeRemoved() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/tty"
        close(open(path, O_CREAT | O_CLOEXEC, 0o600))
        try await SupervisedLink("serial:\(path)").run { link in
            try await link.waitUntilWaiting(.notATerminal)
            unlink(path)
            try await link.waitUntilWaiting(.absent)
        }
    }

    @Test("of two supervisors the second waits, busy, and takes over when the first ends")
    func takesOver() async throws {
        let tty = try PseudoTerminal()
        let first = try SupervisedLink("serial:\(tty.path)")
        let firstTask = Task { await first.supervisor.run() }
        try await first.waitUntilOpen()
        try await SupervisedLink("serial:\(tty.path)").run { second in
            try await second.waitUntilWaiting(.busy)
            #expect(second.probe.seen.value.configured == 0)
            firstTask.cancel()
            try await second.waitUntilOpen()
            try await tty.write([9])
            #expect(try await second.probe.receive(1) == [9])
        }
        await firstTask.value
        #expect(first.probe.seen.value.inactive == 1)
    }

    @Test("reopen closes the open link and opens it again")
    func reopens() async throws {
        let tty = try PseudoTerminal()
        try await SupervisedLink("serial:\(tty.path)").run { link in
            try await link.waitUntilOpen()
            link.supervisor.reopen()
            try await link.waitUntilOpen(times: 2)
            #expect(link.probe.seen.value.inactive == 1)
            #expect(link.states.value.count { $0 == .opening } == 2)
            try await tty.write([7])
            #expect(try await link.probe.receive(1) == [7])
        }
    }

    @Test("a link opened after somebody asked for a new one is that new one")
    func reopenedAlready() async throws {
        let tty = try PseudoTerminal()
        try await SupervisedLink("serial:\(tty.path)").run { link in
            let asked = ContinuousClock.now
            try await link.waitUntilOpen()
            try await #require(link.probe.seen.value.channel).close()
            try await link.waitUntilOpen(times: 2)
            link.supervisor.reopen(askedAt: asked)
            // Requests are handled in order, so the first one has been answered by then.
            link.supervisor.reopen()
            try await link.waitUntilOpen(times: 3)
            #expect(link.probe.seen.value.inactive == 2)
        }
    }

    @Test("a link closed by the hub is reported as closed here and opened again")
    func closedByHub() async throws {
        let tty = try PseudoTerminal()
        try await SupervisedLink("serial:\(tty.path)").run { link in
            try await link.waitUntilOpen()
            let channel = try #require(link.probe.seen.value.channel)
            try await channel.close()
            try await link.waitUntilOpen(times: 2)
            let reasons = link.states.value.compactMap { $0.reason?.code }
            #expect(reasons == [.closedHere])
        }
    }

    @Test("cancelling while the device is absent ends the supervisor")
    func cancelsWhileWaiting() async throws {
        try await SupervisedLink("serial:/dev/ttyRelaydTest").run { link in
            try await link.waitUntilWaiting(.absent)
            // The line is logged after the state is reported.
            let lines = try await link.log.wait(for: "a line") { !$0.isEmpty }
            #expect(lines.count == 1)
            #expect(
                lines.first?.hasPrefix("warning: waiting: /dev/ttyRelaydTest does not exist; ")
                    == true)
            #expect(
                lines.first?.hasSuffix("plug the device in; relayd opens it as soon as it appears")
                    == true)
        }
    }
}

/// A directory that is deleted with the object, including its contents.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/relayd-links-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
            return String(cString: base)
        }
        path = try #require(made)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
