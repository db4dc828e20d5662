import Testing

@testable import relayd

// The unit this process belongs to, as reported by the kernel.

@Suite("SystemdUnit")
struct SystemdUnitTests {
    @Test(
        "the unit is the last part of the path",
        arguments: [
            ("0::/system.slice/relayd.service\n", "systemctl restart relayd"),
            (
                "0::/system.slice/system-relayd.slice/relayd@left.service\n",
                "systemctl restart relayd@left"
            ),
            (
                "12:pids:/x\n1:name=systemd:/system.slice/relayd.service\n0::/other.scope\n",
                "systemctl restart relayd"
            ),
            (
                "9:name=systemd:/\n8:pids:/\n0::/system.slice/relayd.service\n",
                "systemctl restart relayd"
            ),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/relayd.service\n",
                "systemctl --user restart relayd"
            ),
        ])
    func units(text: String, command: String) {
        #expect(SystemdUnit(cgroups: text)?.command("restart") == command)
    }

    @Test(
        "a shell, a container and nothing are no service",
        arguments: [
            "", "0::/\n", "0::/user.slice/user-1000.slice/session-3.scope\n", "nonsense",
            "0::/system.slice/docker.service/abc\n",
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope\n",
        ])
    func none(text: String) {
        #expect(SystemdUnit(cgroups: text) == nil)
    }

    @Test("tests are not run by systemd itself")
    func here() {
        #expect(SystemdUnit.ofThisProcess == nil)
    }
}
