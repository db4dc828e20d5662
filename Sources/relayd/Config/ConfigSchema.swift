package import ControlAPI
import Media
import OpenXCProtocol
import OpenXCRelay
import RelayCore
import Traces

// Every option of the configuration in one list: its key, where it goes in `Config`, and which
// values make sense. A new option is a property in `Config`, a line here and one in relayd.yaml.

/// One option: a key, and how its value gets into a `Config`.
package struct ConfigOption {
    /// Section and key, such as `apps.hold_timeout`.
    package let path: String
    /// Reads the value into the configuration, or reports what is wrong with it.
    package let apply: (ConfigValue, inout Config, inout [ConfigProblem]) -> Void
    /// Its value as it would be written in the file.
    package let text: (Config) -> String
    /// Its value in the form of the control API.
    package let value: (Config) -> ConfigOptionValue
    /// The values it accepts.
    package let shape: ConfigShape
    /// The unit of its number.
    package let unit: ConfigUnit?
    /// Whether two configurations have the same value.
    package let isEqual: (Config, Config) -> Bool
    /// Copies its value.
    package let copy: (_ from: Config, _ to: inout Config) -> Void

    init<Value: Equatable>(
        _ path: String, _ keyPath: WritableKeyPath<Config, Value>, _ reader: ConfigReader<Value>
    ) {
        self.path = path
        self.text = { Self.text($0[keyPath: keyPath], of: path) }
        self.value = { Self.value($0[keyPath: keyPath], of: path) }
        shape = reader.shape
        unit =
            switch reader.shape {
            case .duration: .milliseconds
            case .bytes: .bytes
            default: nil
            }
        self.apply = { value, config, problems in
            guard let read = reader.read(value, path, &problems) else { return }
            config[keyPath: keyPath] = read
        }
        isEqual = { $0[keyPath: keyPath] == $1[keyPath: keyPath] }
        copy = { $1[keyPath: keyPath] = $0[keyPath: keyPath] }
    }
}

/// The options relayd knows.
package struct ConfigSchema {
    package let options: [ConfigOption]

    /// - Parameter validateAccessory: says what is wrong with an accessory's address, or `nil`.
    ///   Only the transports know, and the configuration does not depend on them.
    package init(validateAccessory: @escaping (String) -> String? = { _ in nil }) {
        options =
            Self.connections(validateAccessory) + Self.apps + Self.sessions + Self.limits
            + Self.log + Self.record + Self.media + Self.control + Self.dashboard + Self.drive
            + Self.openxc
    }

    package subscript(path: String) -> ConfigOption? {
        options.first { $0.path == path }
    }

    /// Keys allowed in the section at `prefix` ("" is the top of the file).
    package func keys(in prefix: String) -> [String] {
        let start = prefix.isEmpty ? "" : prefix + "."
        var keys: [String] = []
        for option in options where option.path.hasPrefix(start) {
            let key = String(option.path.dropFirst(start.count).prefix { $0 != "." })
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }

    private static func connections(
        _ validateAccessory: @escaping (String) -> String?
    ) -> [ConfigOption] {
        [
            ConfigOption("accessory", \.accessory, .accessory(validateAccessory)),
            ConfigOption(
                "listen", \.listen,
                .list(
                    of: .listenAddress(port: 2776), expected: "HOST:PORT or a list of them",
                    mayBeEmpty: false,
                    mayBeOne: true, check: checkListen)),
            ConfigOption(
                "rpc_spec", \.rpcSpec,
                .file("the absolute path of an XML file, or \"\" for the built-in specification")),
            ConfigOption("rpc_validation", \.rpcValidation, .flag),
        ]
    }

    private static var apps: [ConfigOption] {
        [
            ConfigOption(
                "apps.when_accessory_absent", \.hub.whenAccessoryAbsent,
                .choice(RelayConfiguration.WhenAccessoryAbsent.allCases)),
            ConfigOption(
                "apps.hold_timeout", \.hub.holdTimeout,
                .duration(.seconds(1)...(.seconds(3600)))),
            ConfigOption(
                "apps.when_link_lost", \.hub.whenLinkLost,
                .choice(RelayConfiguration.WhenLinkLost.allCases)),
            ConfigOption("apps.queue_limit", \.hub.appQueueBytes, .bytes(64 << 10...1 << 30)),
            ConfigOption(
                "apps.stall_grace", \.hub.stallGrace, .duration(.zero...(.seconds(10)))),
            ConfigOption(
                "apps.when_slow", \.hub.whenSlow,
                .choice(RelayConfiguration.WhenSlow.allCases)),
            ConfigOption("apps.maximum", \.hub.maximumApps, .count(1...10_000)),
            ConfigOption(
                "apps.allow", \.hub.allowedNetworks,
                .list(of: .network, expected: "a list of networks such as 192.168.0.0/16")),
            ConfigOption(
                "apps.connections_per_second", \.hub.connectionsPerSecond, .count(0...100_000)),
            ConfigOption(
                "apps.silent_timeout", \.hub.silentTimeout,
                .duration(.zero...(.seconds(3600)))),
            ConfigOption(
                "apps.frames_per_second", \.hub.framesPerSecond, .count(0...1_000_000)),
            ConfigOption("apps.message_limit", \.hub.messageBytes, .bytes(64 << 10...4 << 30)),
            ConfigOption(
                "apps.foreign_frames", \.hub.foreignFrames,
                .choice(RelayConfiguration.ForeignFrames.allCases)),
        ]
    }

    private static var sessions: [ConfigOption] {
        [
            ConfigOption(
                "sessions.start_service_timeout", \.hub.startServiceTimeout,
                .duration(.seconds(1)...(.seconds(600)))),
            ConfigOption(
                "sessions.farewell_timeout", \.hub.farewellTimeout,
                .duration(.zero...StopTime.maximumFarewell)),
            ConfigOption(
                "sessions.heartbeats", \.hub.heartbeats,
                .choice(RelayConfiguration.Heartbeats.allCases)),
            ConfigOption(
                "sessions.secondary_transports", \.hub.secondaryTransports,
                .choice(RelayConfiguration.SecondaryTransports.allCases)),
        ]
    }

    private static var limits: [ConfigOption] {
        [
            // Below 1488, the payload size of protocol version 1, no app could even register.
            ConfigOption(
                "limits.maximum_payload", \.hub.maximumPayloadBytes, .bytes(1488...16 << 20)),
            ConfigOption("limits.link_queue", \.hub.linkQueueBytes, .bytes(4 << 10...64 << 20)),
            ConfigOption("limits.tap_queue", \.hub.tapQueueBytes, .bytes(64 << 10...1 << 30)),
            ConfigOption(
                "limits.maximum_message", \.limits.maximumMessage, .bytes(64 << 10...1 << 30)),
            ConfigOption("limits.ring", \.limits.ring, .bytes(0...1 << 30)),
        ]
    }

    private static var log: [ConfigOption] {
        [
            ConfigOption("log.format", \.log.format, .choice(Config.Log.Format.allCases)),
            ConfigOption("log.level", \.log.level, .choice(Config.Log.levels)),
            ConfigOption(
                "log.destination", \.log.destination, .choice(Config.Log.Destination.allCases)),
            ConfigOption("log.color", \.log.color, .choice(Config.Log.Color.allCases)),
            ConfigOption("log.traffic", \.log.traffic, .flag),
            ConfigOption("log.filter", \.log.filter, .filter),
            ConfigOption(
                "log.apps", \.log.apps,
                .list(
                    of: .name("an app's name, app ID or #connection"),
                    expected: "a list of app names, app IDs or #connections")),
            ConfigOption(
                "log.functions", \.log.functions,
                .list(of: .functionName, expected: "a list of function names")),
            ConfigOption(
                "log.services", \.log.services,
                .list(
                    of: .choice(Config.Log.Service.allCases),
                    expected: "a list of control, rpc, audio, video, bulk")),
        ]
    }

    private static var record: [ConfigOption] {
        [
            ConfigOption(
                "record.directory", \.record.directory,
                .fileOrAuto("auto, the absolute path of a directory, or \"\" for none")),
            ConfigOption("record.always", \.record.always, .flag),
            ConfigOption("record.file_size", \.record.fileSize, .bytes(0...1 << 40)),
            ConfigOption(
                "record.file_time", \.record.fileTime, .duration(.zero...(.seconds(7 * 86_400)))),
            ConfigOption("record.files", \.record.files, .count(0...100_000)),
            ConfigOption("record.streams", \.record.streams, .choice(TraceStreams.allCases)),
            ConfigOption(
                "record.mask", \.record.mask,
                .list(
                    of: .name("a parameter's name such as vin"),
                    expected: "a list of parameters' names")),
            ConfigOption(
                "record.when_behind", \.record.whenBehind,
                .choice(RecordingPolicy.WhenBehind.allCases)),
            ConfigOption("record.queue", \.record.queue, .bytes(1 << 20...1 << 30)),
            ConfigOption("record.last", \.record.last, .bytes(0...4 << 30)),
            ConfigOption(
                "record.save_on", \.record.saveOn,
                .list(of: .saveTrigger, expected: "a list of \(SaveTrigger.expected)")),
        ]
    }

    private static var media: [ConfigOption] {
        [
            ConfigOption(
                "media.save", \.media.save,
                .list(
                    of: .choice(MediaKind.allCases),
                    expected: "a list of video, audio, speech, file")),
            ConfigOption(
                "media.directory", \.media.directory,
                .fileOrAuto("auto, the absolute path of a directory, or \"\" for none")),
            ConfigOption("media.limit", \.media.limit, .bytes(1 << 20...1 << 40)),
            ConfigOption("media.files", \.media.files, .count(1...100_000)),
            ConfigOption("media.queue", \.media.queue, .bytes(1 << 20...1 << 30)),
            ConfigOption("media.video_port", \.media.videoPort, .count(0...65_535)),
        ]
    }

    private static var control: [ConfigOption] {
        [
            ConfigOption("control.socket", \.control.socket, .socketPath),
            ConfigOption("control.mode", \.control.mode, .fileMode),
            ConfigOption("control.group", \.control.group, .group),
            ConfigOption("control.read_only_for_others", \.control.readOnlyForOthers, .flag),
            // Below 8, the four places reserved for root would leave next to nothing.
            ConfigOption("control.connections", \.control.connections, .count(8...10_000)),
            ConfigOption(
                "control.connections_per_peer", \.control.connectionsPerPeer, .count(1...10_000)),
            ConfigOption(
                "control.streams_per_peer", \.control.streamsPerPeer, .count(0...10_000)),
        ]
    }

    private static var dashboard: [ConfigOption] {
        [
            ConfigOption("dashboard.enabled", \.dashboard.enabled, .flag),
            ConfigOption("dashboard.address", \.dashboard.address, .listenAddress(port: 2777)),
            ConfigOption("dashboard.token_to_read", \.dashboard.tokenToRead, .flag),
            ConfigOption(
                "dashboard.token_file", \.dashboard.tokenFile,
                .fileOrAuto(
                    "auto, the absolute path of a file with the token, or \"\" for a new token at each "
                        + "start")),
            ConfigOption("dashboard.connections", \.dashboard.connections, .count(8...10_000)),
            ConfigOption(
                "dashboard.connections_per_peer", \.dashboard.connectionsPerPeer,
                .count(1...10_000)),
            ConfigOption(
                "dashboard.streams_per_peer", \.dashboard.streamsPerPeer, .count(0...10_000)),
        ]
    }

    private static var drive: [ConfigOption] {
        [ConfigOption("drive.enabled", \.drive.enabled, .flag)]
    }

    private static var openxc: [ConfigOption] {
        [
            ConfigOption(
                "openxc.listen", \.openxc.listen,
                .list(
                    of: .listenAddress(port: 50001), expected: "HOST:PORT or a list of them",
                    mayBeEmpty: false,
                    mayBeOne: true, check: checkListen)),
            ConfigOption(
                "openxc.pty", \.openxc.pty,
                .file("the absolute path of a link that relayd makes, or \"\" for none")),
            ConfigOption("openxc.pty_group", \.openxc.ptyGroup, .group),
            ConfigOption(
                "openxc.format", \.openxc.relay.framing, .choice(MessageFraming.allCases)),
            ConfigOption("openxc.queue", \.openxc.relay.queueBytes, .bytes(4 << 10...64 << 20)),
            ConfigOption(
                "openxc.names", \.openxc.relay.subscription.names,
                .list(
                    of: .name("a signal's name such as vehicle_speed"),
                    expected: "a list of signals' names")),
            ConfigOption(
                "openxc.buses", \.openxc.relay.subscription.buses,
                .list(of: .count(1...255), expected: "a list of numbers of CAN buses")),
            ConfigOption(
                "openxc.ids", \.openxc.relay.subscription.ids,
                .list(
                    of: .identifiers, expected: "a list of identifiers such as 0x7e8 or 0x700-0x7ff"
                )),
            ConfigOption("openxc.on_change", \.openxc.relay.subscription.onChange, .flag),
            ConfigOption(
                "openxc.rate", \.openxc.relay.subscription.maximumRate, .count(0...10_000)),
            ConfigOption(
                "openxc.writes", \.openxc.relay.writes,
                .list(
                    of: .writes, expected: "a list of networks and what may be written from there")),
            ConfigOption(
                "openxc.endpoints", \.openxc.relay.endpoints,
                .list(
                    of: .endpoint, expected: "a list of places and what clients hear there",
                    check: checkEndpoints)),
        ]
    }

    private static func checkEndpoints(
        _ endpoints: [(OpenXCEndpoint, ConfigValue)]
    ) -> [(ConfigValue, String)] {
        endpoints.enumerated().compactMap { index, entry in
            let place = entry.0.place
            guard endpoints[..<index].contains(where: { $0.0.place == place }) else { return nil }
            return (entry.1, "\(place) is listed twice; remove one")
        }
    }

    private static func checkListen(
        _ addresses: [(ListenAddress, ConfigValue)]
    ) -> [(ConfigValue, String)] {
        addresses.enumerated().compactMap { index, entry in
            let (address, value) = entry
            // Port 0 is a different port each time.
            guard address.port != 0, addresses[..<index].contains(where: { $0.0 == address })
            else { return nil }
            return (value, "\(address) is listed twice; remove one")
        }
    }

    /// Problems that involve several options: sizes that do not fit each other, and two options that
    /// want one port.
    ///
    /// - Parameter origins: where each option was set last.
    package static func contradictions(
        in config: Config, _ origins: [String: ConfigOrigin] = [:]
    ) -> [(path: String, text: String)] {
        sizes(in: config) + flightRecorder(config.record) + onePort(config, origins)
            + endpoints(config.openxc)
    }

    /// Endpoints on a place where clients already connect.
    private static func endpoints(_ openxc: Config.OpenXC) -> [(path: String, text: String)] {
        let text = "is listed in openxc.endpoints and in openxc."
        let path = "openxc.endpoints"
        return openxc.relay.endpoints.compactMap { endpoint in
            switch endpoint.place {
            case .address(let address):
                openxc.listen.contains { $0 == address }
                    ? (path, "\(address) \(text)listen; remove one") : nil
            case .terminal(let pty):
                openxc.pty == pty ? (path, "\(pty) \(text)pty; remove one") : nil
            }
        }
    }

    private static func flightRecorder(
        _ record: Config.Record
    ) -> [(path: String, text: String)] {
        let (last, least) = (record.last, Config.Record.leastLast)
        if last > 0, last < least {
            return [
                (
                    "record.last",
                    "\(Quantity.text(bytes: last)) keep next to nothing; expected 0 or at least "
                        + Quantity.text(bytes: least)
                )
            ]
        }
        guard last == 0, let trigger = record.saveOn.first else { return [] }
        return [
            (
                "record.save_on",
                "\(trigger.rawValue) would save nothing, because record.last is 0; "
                    + "set record.last to the amount of memory to use, such as 64 MiB"
            )
        ]
    }

    /// The dashboard on a port where apps connect. Only a chosen address is a problem: otherwise
    /// the dashboard finds another port by itself.
    private static func onePort(
        _ config: Config, _ origins: [String: ConfigOrigin]
    ) -> [(path: String, text: String)] {
        let address = config.dashboard.address
        guard config.dashboard.isChosen(origins["dashboard.address"]), config.dashboard.enabled,
            let rival = config.listen.first(where: { address.overlaps($0) })
        else { return [] }
        let place = origins["listen"].map { "\($0)" } ?? "listen"
        var next = address
        next.port += address.port < 65_535 ? 1 : -1
        let text =
            "\(address) is taken: apps connect to \(rival) (\(place)); "
            + "give the dashboard another port, such as \(next)"
        return [("dashboard.address", text)]
    }

    private static func sizes(in config: Config) -> [(path: String, text: String)] {
        let payload = config.hub.maximumPayloadBytes
        // A frame is its payload plus a header of 12 bytes.
        let frame = payload + 12
        let atLeast = "limits.maximum_payload (\(Quantity.text(bytes: payload)))"
        var found: [(path: String, text: String)] = []
        for (path, bytes) in [
            ("apps.queue_limit", config.hub.appQueueBytes),
            ("limits.tap_queue", config.hub.tapQueueBytes),
            ("limits.maximum_message", config.limits.maximumMessage),
        ] where bytes < frame {
            found.append(
                (
                    path,
                    "\(Quantity.text(bytes: bytes)) cannot hold one frame of \(atLeast);"
                        + " expected at least \(frame)"
                ))
        }
        return found
    }
}
