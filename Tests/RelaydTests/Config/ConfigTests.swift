import Foundation
import Logging
import OpenXCRelay
import RelayCore
import RelayTesting
import Testing

@testable import relayd

// The configuration as a whole: defaults, the shipped file, and how every option gets into `Config`.

@Suite("Config")
struct ConfigTests {
    private static let shippedFile = Checkout.root.appending(path: "config/relayd.yaml").path

    @Test("the shipped file equals the built-in defaults")
    func shippedFileEqualsDefaults() throws {
        #expect(try Config.load(path: Self.shippedFile) == Config())
    }

    @Test("the shipped file names every option")
    func shippedFileIsComplete() {
        var builder = ConfigBuilder()
        builder.add(file: Self.shippedFile)
        let missing = ConfigSchema().options.map(\.path).filter { !builder.pathsSet.contains($0) }
        #expect(missing.isEmpty)
    }

    @Test(
        "a file without content is the defaults",
        arguments: [
            "", "\n\n", "# only a comment\n", "---\n", "--- # start\n...\n", "~\n",
            "apps:\n  # maximum: 5\nlog:\n",
        ])
    func emptyFileIsDefaults(text: String) throws {
        #expect(try Config.decode(text, file: "relayd.yaml") == Config())
    }

    @Test("every option reaches its own property")
    func everyOptionIsRead() throws {
        let text = """
            accessory: serial:/dev/ttyUSB0?baud=115200
            listen: ["0.0.0.0:2776", '[::1]:0', localhost:1]
            rpc_spec: /etc/relayd/MOBILE_API.xml
            rpc_validation: false
            apps:
              when_accessory_absent: refuse
              hold_timeout: 2m
              when_link_lost: keep
              queue_limit: 1 MiB
              stall_grace: 0ms
              when_slow: hold
              maximum: 7
              allow: [10.0.0.0/8, "fd00::/8", 192.168.1.20]
              connections_per_second: 3
              silent_timeout: 0s
              foreign_frames: close
              frames_per_second: 700
              message_limit: 2 GiB
            sessions:
              start_service_timeout: 1500ms
              farewell_timeout: 3 s
              heartbeats: pass
              secondary_transports: pass
            limits:
              maximum_payload: 64KiB
              link_queue: 8192
              tap_queue: 2 MiB
              maximum_message: 1 GiB
              ring: 0
            log:
              format: json
              level: trace
              destination: journald
              color: never
              traffic: false
              filter: app:radio !rpc:On*
              apps: [Music, "8675309", "#3"]
              functions: [Show, "!OnVehicleData"]
              services: [rpc, bulk]
            record:
              directory: /srv/traces
              always: true
              file_size: 10 MiB
              file_time: 60 s
              files: 3
              streams: headers
              mask: [vin, bulk]
              when_behind: miss
              queue: 2 MiB
              last: 64 MiB
              save_on: [app_crash, "advice:message_gap"]
            media:
              save: [video, file]
              directory: /srv/media
              limit: 2 GiB
              files: 50
              queue: 4 MiB
              video_port: 2778
            control:
              socket: /run/bench/relayd.sock
              mode: 0600
              group: bench
              read_only_for_others: false
              connections: 100
              connections_per_peer: 20
              streams_per_peer: 0
            dashboard:
              enabled: false
              address: "[::1]:0"
              token_to_read: false
              token_file: /etc/relayd/dashboard-token
              connections: 8
              connections_per_peer: 7
              streams_per_peer: 6
            drive:
              enabled: true
            openxc:
              listen: "[::1]:50002"
              pty: /run/relayd/openxc0
              pty_group: dialout
              format: protobuf
              queue: 8 KiB
              names: [vehicle_speed, "engine_speed"]
              buses: [1, 2]
              ids: [0x7e8, 256-511]
              on_change: true
              rate: 10
              writes: ["127.0.0.0/8 can:1:0x7e0", "pty name:horn"]
              endpoints:
                - "127.0.0.1:50003 format=lines names=vehicle_speed rate=5 on_change=true"
                - "/run/relayd/openxc1 buses=2 ids=0x700-0x7ff"
            """
        var expected = Config()
        expected.accessory = "serial:/dev/ttyUSB0?baud=115200"
        expected.listen = [
            ListenAddress(host: "0.0.0.0", port: 2776), ListenAddress(host: "::1", port: 0),
            ListenAddress(host: "localhost", port: 1),
        ]
        expected.rpcSpec = "/etc/relayd/MOBILE_API.xml"
        expected.rpcValidation = false
        expected.hub.whenAccessoryAbsent = .refuse
        expected.hub.holdTimeout = .seconds(120)
        expected.hub.whenLinkLost = .keep
        expected.hub.appQueueBytes = 1_048_576
        expected.hub.stallGrace = .zero
        expected.hub.whenSlow = .hold
        expected.hub.maximumApps = 7
        expected.hub.allowedNetworks = try ["10.0.0.0/8", "fd00::/8", "192.168.1.20"].map {
            try Network(parsing: $0)
        }
        expected.hub.connectionsPerSecond = 3
        expected.hub.silentTimeout = .zero
        expected.hub.foreignFrames = .close
        expected.hub.framesPerSecond = 700
        expected.hub.messageBytes = 2_147_483_648
        expected.hub.startServiceTimeout = .milliseconds(1500)
        expected.hub.farewellTimeout = .seconds(3)
        expected.hub.heartbeats = .pass
        expected.hub.secondaryTransports = .pass
        expected.hub.maximumPayloadBytes = 65_536
        expected.hub.linkQueueBytes = 8192
        expected.hub.tapQueueBytes = 2_097_152
        expected.limits.maximumMessage = 1_073_741_824
        expected.limits.ring = 0
        expected.log.format = .json
        expected.log.level = .trace
        expected.log.destination = .journald
        expected.log.color = .never
        expected.log.traffic = false
        expected.log.filter = "app:radio !rpc:On*"
        expected.log.apps = ["Music", "8675309", "#3"]
        expected.log.functions = ["Show", "!OnVehicleData"]
        expected.log.services = [.rpc, .bulk]
        expected.record.directory = "/srv/traces"
        expected.record.always = true
        expected.record.fileSize = 10_485_760
        expected.record.fileTime = .seconds(60)
        expected.record.files = 3
        expected.record.streams = .headers
        expected.record.mask = ["vin", "bulk"]
        expected.record.whenBehind = .miss
        expected.record.queue = 2_097_152
        expected.record.last = 67_108_864
        expected.record.saveOn = [.appCrash, .advice(.messageGap)]
        expected.media.save = [.video, .file]
        expected.media.directory = "/srv/media"
        expected.media.limit = 2_147_483_648
        expected.media.files = 50
        expected.media.queue = 4_194_304
        expected.media.videoPort = 2778
        expected.control.socket = .path("/run/bench/relayd.sock")
        expected.control.mode = 0o600
        expected.control.group = "bench"
        expected.control.readOnlyForOthers = false
        expected.control.connections = 100
        expected.control.connectionsPerPeer = 20
        expected.control.streamsPerPeer = 0
        expected.dashboard.enabled = false
        expected.dashboard.address = ListenAddress(host: "::1", port: 0)
        expected.dashboard.tokenToRead = false
        expected.dashboard.tokenFile = "/etc/relayd/dashboard-token"
        expected.dashboard.connections = 8
        expected.dashboard.connectionsPerPeer = 7
        expected.dashboard.streamsPerPeer = 6
        expected.drive.enabled = true
        expected.openxc.listen = [ListenAddress(host: "::1", port: 50002)]
        expected.openxc.relay.framing = .protobuf
        expected.openxc.relay.queueBytes = 8 << 10
        expected.openxc.relay.subscription.names = ["vehicle_speed", "engine_speed"]
        expected.openxc.relay.subscription.buses = [1, 2]
        expected.openxc.relay.subscription.ids = ["0x7e8", "256-511"].compactMap {
            IdentifierRange($0)
        }
        expected.openxc.relay.subscription.onChange = true
        expected.openxc.relay.subscription.maximumRate = 10
        expected.openxc.pty = "/run/relayd/openxc0"
        expected.openxc.ptyGroup = "dialout"
        expected.openxc.relay.writes = try ["127.0.0.0/8 can:1:0x7e0", "pty name:horn"].map {
            try #require(ClientWrites($0))
        }
        var lines = OpenXCEndpoint(
            .address(ListenAddress(host: "127.0.0.1", port: 50003)),
            description: "127.0.0.1:50003 format=lines names=vehicle_speed rate=5 on_change=true")
        (lines.framing, lines.names) = (.lines, ["vehicle_speed"])
        (lines.maximumRate, lines.onChange) = (5, true)
        var terminal = OpenXCEndpoint(
            .terminal("/run/relayd/openxc1"),
            description: "/run/relayd/openxc1 buses=2 ids=0x700-0x7ff")
        (terminal.buses, terminal.ids) = ([2], [try #require(IdentifierRange("0x700-0x7ff"))])
        expected.openxc.relay.endpoints = [lines, terminal]
        #expect(try Config.decode(text, file: "relayd.yaml") == expected)

        var builder = ConfigBuilder()
        builder.add(yaml: text, file: "relayd.yaml")
        #expect(builder.pathsSet == Set(ConfigSchema().options.map(\.path)))
    }

    @Test("words that other YAML readers take for booleans or numbers stay text")
    func noNorwayProblem() throws {
        let text = "log:\n  apps: [no, yes, on, 0x1F, 1e3, 2026-11-21, 1.20]\n"
        #expect(
            try Config.decode(text, file: "relayd.yaml").log.apps
                == ["no", "yes", "on", "0x1F", "1e3", "2026-11-21", "1.20"])
    }

    @Test("a value is read as it was written: quotes, blocks, anchors, tags of YAML")
    func scalars() throws {
        let text = """
            log:
              apps: ["a\\tb\\x00é", 'it''s', &x plain text, !!str 5, !!int 6, ! 7, "~", "<<"]
              functions:
                - >-
                  Show
                - |-
                  Alert
            """
        let log = try Config.decode(text, file: "relayd.yaml").log
        #expect(log.apps == ["a\tb\0é", "it's", "plain text", "5", "6", "7", "~", "<<"])
        #expect(log.functions == ["Show", "Alert"])
    }

    @Test("a file may have a version, a byte order mark, and any line ends")
    func dialects() throws {
        for text in [
            "%YAML 1.1\n---\nlog:\n  level: trace\n...\n",
            "\u{FEFF}log:\r\n  level: trace\r\n", "log:\r  level: trace\r",
            "? log\n: {level: trace}\n",
        ] {
            #expect(try Config.decode(text, file: "relayd.yaml").log.level == .trace)
        }
    }

    @Test("no two options have the same path, and each is a section and a key at most")
    func pathsAreUnique() {
        let paths = ConfigSchema().options.map(\.path)
        #expect(Set(paths).count == paths.count)
        #expect(paths.allSatisfy { $0.split(separator: ".").count <= 2 })
    }
}
