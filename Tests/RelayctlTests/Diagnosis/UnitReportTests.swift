import ControlAPI
import Foundation
import Testing

@testable import relayctl

// systemd's report on relayd's unit, and doctor's reading of it.

@Suite("UnitReport")
struct UnitReportTests {
    private static func unit(_ name: String = "relayd.service", _ lines: String...) -> UnitReport? {
        UnitReport(name: name, show: (["LoadState=loaded"] + lines).joined(separator: "\n"))
    }

    private static let shipped = [
        "IPAddressAllow=127.0.0.0/8 ::1/128 169.254.0.0/16 fe80::/64 10.0.0.0/8 172.16.0.0/12 "
            + "192.168.0.0/16 100.64.0.0/10 fc00::/7",
        "IPAddressDeny=0.0.0.0/0 ::/0",
    ]

    @Test(
        "the shipped filter lets this machine and private networks in, and nobody else",
        arguments: [
            ("127.0.0.1:2776", false), ("192.168.77.1:2776", false), ("172.31.0.1:1", false),
            ("[fe80::1%eth0]:2776", false), ("[fd00::1]:2776", false), ("[::1]:2776", false),
            ("203.0.113.7:2776", true), ("172.32.0.1:1", true), ("[2001:db8::1]:2776", true),
            ("100.128.0.1:1", true), ("bench.local:2776", false), ("", false),
        ])
    func filter(endpoint: String, isKeptOut: Bool) throws {
        let unit = try #require(Self.unit("relayd.service", Self.shipped[0], Self.shipped[1]))
        #expect(unit.filter?.keepsOut(endpoint: endpoint) == isKeptOut)
    }

    @Test("a unit without a filter, and one that systemd does not know")
    func none() {
        #expect(Self.unit("relayd.service", "IPAddressAllow=", "IPAddressDeny=")?.filter == nil)
        #expect(UnitReport(name: "relayd.service", show: "LoadState=not-found") == nil)
        #expect(UnitReport(name: "relayd.service", show: "") == nil)
    }

    @Test("doctor does not promise an address that the unit keeps apps from")
    func doctor() throws {
        let unit = try #require(Self.unit("relayd.socket", Self.shipped[0], Self.shipped[1]))
        let server = ServerStatus(
            state: .listening, endpoints: ["192.168.1.5:2776", "203.0.113.7:2776"])
        let status = Samples.snapshot(server: server)
        let port = Diagnosis(status, advice: [], socket: "/x", unit: unit).checks[2]
        #expect(port.state == "hint" && port.text.contains("not from the network of 203.0.113.7"))
        #expect(port.remedy?.contains("systemctl edit relayd.socket, add [Socket]") == true)
        #expect(Diagnosis(status, advice: [], socket: "/x").checks[2].state == "ok")
    }

    @Test("who lets other machines in is whoever holds the port: the program, its unit, its socket")
    func opening() throws {
        func remedy(_ unit: UnitReport?) -> String? {
            let server = ServerStatus(state: .listening, endpoints: ["127.0.0.1:2970"])
            return Diagnosis(
                Samples.snapshot(server: server), advice: [], socket: "/x", unit: unit
            ).checks[2].remedy
        }
        let service = try #require(Self.unit())
        let socket = try #require(Self.unit("relayd.socket"))
        let tunnel = "or ssh -L 2970:127.0.0.1:2970 from there"
        #expect(remedy(nil) == "for others: relayd --listen 0.0.0.0:2970, \(tunnel)")
        #expect(
            remedy(service)
                == "for others: listen: [\"0.0.0.0:2970\"] in its configuration, then relayctl reload, "
                + tunnel)
        #expect(
            remedy(socket)
                == "for others: sudo systemctl edit relayd.socket, add ListenStream=0.0.0.0:2970 "
                + "below [Socket], restart it, \(tunnel)")
    }

    @Test("why it does not run is what it said last, with what to do about the unit")
    func failed() throws {
        let absent = ControlClientError.notRunning([.init(path: "/x.sock", problem: .absent)])
        let taken = "StatusText=cannot listen on 127.0.0.1:2776: another program uses this port"
        let unit = Self.unit("relayd@left.service", "ActiveState=failed", "Result=exit-code", taken)
        let check = try #require(Diagnosis(unreachable: absent, unit: unit).checks.last)
        #expect(check.name == "daemon" && check.text.contains("another program uses this port"))
        #expect(check.remedy?.contains("reset-failed relayd@left.service") == true)
        let stopped = Self.unit("relayd.service", "ActiveState=inactive", "SubState=dead")
        let other = Diagnosis(unreachable: absent, unit: stopped).checks.last
        #expect(other?.remedy?.hasPrefix("start it") == true)
        let trying = Self.unit(
            "relayd.service", "ActiveState=activating", "SubState=auto-restart", taken)
        #expect(
            Diagnosis(unreachable: absent, unit: trying).checks.last?.text
                .contains("systemd keeps trying") == true)
    }

    @Test("an instance is known by where its socket lies")
    func names() {
        #expect(UnitReport.name(ofSocket: "/run/relayd-left/relayd.sock") == "relayd@left.service")
        for path in ["/run/relayd/relayd.sock", "/tmp/relayd-0/relayd.sock", nil] {
            #expect(UnitReport.name(ofSocket: path) == "relayd.service")
        }
    }

    @Test("a udev rule in a remedy stays one line, to be copied")
    func rule() {
        let rule =
            #"SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", ATTR{idVendor}=="1bc4", "#
            + #"ATTR{idProduct}=="0001", MODE="0660", GROUP="relayd", TAG+="uaccess", "#
            + #"ENV{ID_MM_DEVICE_IGNORE}="1""#
        let reason = AccessoryReason(
            code: "permission_denied", message: "may not be opened",
            remedy: "put this line into /etc/udev/rules.d/71-relayd-local.rules, run 'sudo udevadm "
                + "control --reload' and plug the device in again: \(rule)")
        let status = Samples.snapshot(
            accessory: AccessoryStatus(
                kind: "usb", address: "usb:1bc4:0001", state: .waiting, since: Samples.start,
                reason: reason, attempts: 2))
        let text = StatusText(width: 80).render(status)
        #expect(text.split(separator: "\n").contains { $0 == rule }, "\(text)")
        let doctor = Diagnosis(status, advice: [], socket: "/x").text(width: 60, style: .plain)
        #expect(doctor.split(separator: "\n").contains { $0 == rule }, "\(doctor)")
    }

    @Test("a reload that was refused is told by status and doctor")
    func refused() {
        var status = Samples.snapshot(apps: [Samples.registeredApp])
        status.relayd.refusedConfiguration = "/e.yaml:3:1: lisen: unknown key"
        let text = StatusText(width: 80).render(status)
        #expect(text.contains("Config") && text.contains("/e.yaml:3:1: lisen: unknown key"))
        let diagnosis = Diagnosis(status, advice: [], socket: "/x")
        #expect(diagnosis.broken == nil)
        #expect(diagnosis.checks[1].text.contains("the latest reload was refused"))
    }
}

@Suite("Archive")
struct ArchiveTests {
    @Test("the file of a bug report is the one that was made, whatever its name stands for by then")
    func swapped() throws {
        let directory = NSTemporaryDirectory() + "relayctl-archive.\(UUID())"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (report, precious) = (directory + "/report.gz", directory + "/precious")
        try "precious".write(toFile: precious, atomically: false, encoding: .utf8)
        guard let archive = Archive(report) else {
            Issue.record("\(report) cannot be made")
            return
        }
        try FileManager.default.moveItem(atPath: report, toPath: directory + "/made.gz")
        try FileManager.default.createSymbolicLink(
            atPath: report, withDestinationPath: precious)
        let isWritten = archive.write(Array("all of it".utf8))
        #expect(isWritten)
        #expect(try String(contentsOf: URL(filePath: precious), encoding: .utf8) == "precious")
        let made = try Data(contentsOf: URL(filePath: directory + "/made.gz"))
        #expect(made.prefix(2) == Data([0x1F, 0x8B]))
    }
}
