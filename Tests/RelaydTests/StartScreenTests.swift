// The screen shown to a user who starts relayd on a terminal, for links and addresses of all sorts.
// `StartScreenTests` of ProgramTests cover the screen of the built relayd.

import ControlAPI
import Testing

@testable import relayd

@Suite("The start screen")
struct StartScreenTests {
    private static let simulated = StartScreen(
        headUnit: ("sim:", "open", true), addresses: ["127.0.0.1:2776"],
        dashboard: "http://127.0.0.1:2777/#token=0123456789abcdef0123456789abcdef", socket: nil)

    private func text(_ screen: StartScreen, width: Int) -> String {
        screen.lines(width: width, isColoured: false).joined(separator: "\n")
    }

    @Test("head unit, apps, dashboard and what to type next, aligned")
    func aligned() {
        #expect(
            text(Self.simulated, width: 100) == """
                relayd \(Version.current)
                  head unit   simulated (sim:)            open
                  your app    connect to 127.0.0.1:2776   this machine only; phones: --listen 0.0.0.0:2776
                  dashboard   http://127.0.0.1:2777/#token=0123456789abcdef0123456789abcdef
                  more        relayctl status · tail · doctor
                """)
    }

    @Test("80 columns are enough for five lines") func usual() {
        let lines = Self.simulated.lines(width: 80, isColoured: false)
        #expect(lines.count == 5 && lines.allSatisfy { $0.count <= 80 })
        #expect(
            lines[2] == "  your app    connect to 127.0.0.1:2776   phones: --listen 0.0.0.0:2776")
    }

    @Test("a phone's address comes first, then that there are more")
    func phones() {
        var screen = Self.simulated
        screen.addresses = ["192.168.1.20:2776", "[fd00::20]:2776", "127.0.0.1:2776"]
        #expect(
            screen.lines(width: 80, isColoured: false)[2]
                == "  your app    connect to 192.168.1.20:2776   relayctl status has 2 more")
    }

    @Test("what does not fit stands below; the dashboard's address is never cut")
    func narrow() {
        var screen = Self.simulated
        screen.headUnit = (
            "serial:/dev/ttyUSB9?baud=115200", "waiting: /dev/ttyUSB9 does not exist", false
        )
        screen.socket = "/tmp/relayd-0/relayd.sock"
        #expect(
            text(screen, width: 60) == """
                relayd \(Version.current)
                  head unit   serial:/dev/ttyUSB9?baud=115200
                              waiting: /dev/ttyUSB9 does not exist
                  your app    connect to 127.0.0.1:2776
                              phones: --listen 0.0.0.0:2776
                  dashboard   http://127.0.0.1:2777/#token=0123456789abcdef0123456789abcdef
                  more        relayctl --socket /tmp/relayd-0/relayd.sock status · tail · doctor
                """)
    }

    @Test("without a dashboard, without apps, and with an address that would command the terminal")
    func others() {
        let screen = StartScreen(
            headUnit: ("tcp:\u{1B}[2J:1", "opening", false), addresses: [], dashboard: nil)
        let lines = screen.lines(width: 80, isColoured: false)
        #expect(lines[1] == "  head unit   tcp:\\u{1b}[2J:1   opening")
        #expect(lines[2] == "  your app    cannot connect    relayctl server on")
        #expect(lines[3] == "  dashboard   off; relayctl dashboard has the reason")
    }

    @Test("colours do not move the columns")
    func colours() {
        let plain = Self.simulated.lines(width: 80, isColoured: false)
        let coloured = Self.simulated.lines(width: 80, isColoured: true)
        #expect(coloured.map { $0.replacing(#/\u{1B}\[\d+m/#, with: "") } == plain)
        #expect(coloured[1].contains("\u{1B}[32mopen\u{1B}[0m"))
    }
}
