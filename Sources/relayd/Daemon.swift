import AccessoryLinks
import ControlAPI
import Logging
import NIOCore
import OpenXCRelay
import OpenXCTraffic
import RelayCore
import SDLTraffic
import ServiceLifecycle
import UnixSignals

/// One running relayd, and its wiring: builds every part, hands each what it needs, and starts and
/// stops them in order. No other file sees both the links and the hub.
struct Daemon {
    let effective: EffectiveConfig
    let outputs: LogOutputs
    let environment: [String: String]
    /// Reads the configuration again.
    let load: Reloader.Load

    private var config: Config { effective.config }

    /// What is wrong with an accessory's address; nil if a transport accepts it.
    static func problem(withAccessory text: String) -> String? {
        do throws(AddressError) {
            _ = try TransportCatalog.transport(for: AccessoryAddress(text).judged())
            return nil
        } catch {
            return error.message
        }
    }

    /// Runs until SIGTERM or SIGINT; a second one ends relayd at once (see `StopSignals`). SIGHUP
    /// reloads the configuration, or ends a relayd whose terminal is gone (see `HangUp`).
    ///
    /// - Throws: The error that keeps relayd from starting, written for people.
    func run() async throws {
        // Before there is anything to clean up, and before relayd reports that it is running: an
        // early signal must end it as cleanly as a later one.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
        let hangUp = HangUp.now
        outputs.mark(accessory: config.accessory)
        // One loop for the link and its apps, where routing is a method call; one for the control
        // API, one for the decoders, and one for everything else: signals, the supervisor and the
        // watchdog do next to nothing, and must not wait for loops that do a lot.
        LoopExecutor.shared.loop.execute { ThreadScheduling.normalPriority(as: "tasks") }
        let loop = LastingLoop.start()
        loop.execute { ThreadScheduling.relay() }
        let controlLoop = LastingLoop.start()
        controlLoop.execute { ThreadScheduling.lowPriority(as: "control") }
        let observersLoop = LastingLoop.start()
        observersLoop.execute { ThreadScheduling.lowPriority(as: "observers") }
        let logger = Logger(label: "relayd")
        OpenFiles.raiseLimit()
        OpenFiles.warnOfShortage(apps: config.hub.maximumApps, logger)
        let inherited = try InheritedSockets.fromSystemd()
        let address = try AccessoryAddress(config.accessory).judged()
        let openxc = OpenXCSettings(config.openxc.relay)

        // The tap of a vehicle interface and its clients; unused with a head unit.
        let vehicleTap =
            address.language == .openxc
            ? VehicleTap(maximumBytes: config.hub.tapQueueBytes) : nil
        let relay = try await Relay.start(
            on: loop, configuration: config.relay,
            accessoryAddress: config.accessory, logger: Logger(label: "relay"),
            language: config.language(of: address, openxc, vehicleTap))
        let facts = SessionFacts()
        let transport = try TransportCatalog.transport(for: address)
        let accessory = AccessoryMonitor(
            kind: address.scheme, address: config.accessory, language: address.language,
            details: transport.details)
        let adviceLog = AdviceLog(Logger(label: "advice"))
        let ring = MessageRing(maximumBytes: config.limits.ring)
        let events = EventRing(instance: ring.instance)
        let vehicleStatistics = VehicleStatistics()
        let vehicle = vehicleTap.map {
            VehicleHandlers.Source(
                relay: relay, tap: $0,
                traffic: VehicleTraffic(
                    instance: ring.instance, consumers: [vehicleStatistics]))
        }
        let statistics = TrafficStatistics()
        let recorder = Recorder(
            RecordingPolicy(config.record, state: TokenFile.directory(in: environment)),
            relay: relay, events: events, logger: Logger(label: "recorder"),
            accessory: { accessory.address })
        let media = MediaTaps(
            relay: relay, players: controlLoop, logger: Logger(label: "media"))
        let advisor = TrafficAdvisor(facts: facts) { advice in
            adviceLog.add(advice)
            events.add(advice)
            recorder.add(advice)
        }
        try await relay.onLimit { events.add($0, $1) }
        let overflow = ControlOverflow { events.addOverflow($0, count: $1) }
        let specification = SpecificationFile.inForce(config, logger: logger)
        let reporter = StatusReporter(
            relay: relay, accessory: accessory, facts: facts, advisor: advisor,
            outputs: outputs, effective: effective, specification: specification.report,
            overflow: overflow, diskStall: { recorder.diskStall },
            recordingProblem: { recorder.problem }, media: { media.report })
        let stopTime = StopTime { reporter.farewellTimeout }
        let systemd = SystemdNotifier(
            logger: Logger(label: "systemd"), stopTime: stopTime,
            isAlive: {
                // relayd only counts as alive if the relay's own loop responds.
                (try? await loop.submit {}.get()) != nil
            })
        let statusLine = StatusLine(reporter: reporter, systemd: systemd)
        let startScreen = StartScreenPrinter()
        let makeSupervisor: @Sendable (AccessoryAddress, any AccessoryTransport) -> LinkSupervisor =
            {
                address, transport in
                LinkSupervisor(
                    transport: transport, address: address,
                    loop: loop, executor: LoopExecutor.shared, logger: Logger(label: "link"),
                    configure: { channel in
                        relay.configureLink(
                            channel, kernelBytes: LinkOutputQueue.gauge(of: channel))
                    },
                    onStateChange: { state in
                        accessory.changed(to: state)
                        if accessory.current.state != .opening { startScreen.show() }
                        statusLine.refresh()
                    },
                    beforeClose: { reason in await relay.linkWillClose(because: reason) })
            }
        let link = SupervisorRunner(makeSupervisor(address, transport))
        let server = AppServer(
            config.places(for: address), descriptors: inherited.apps, relay: relay,
            terminals: try config.terminals(for: address).map {
                TerminalServer($0, relay: relay, logger: Logger(label: "openxc"))
            },
            report: { condition in
                reporter.changed(to: condition)
                statusLine.refresh()
            })
        let log = try logControl()
        let drive = DriveSwitch(config.drive.enabled)
        let reloader = Reloader(
            running: effective, load: load, systemd: systemd, logger: logger,
            status: { try? await reporter.snapshot().summary },
            refused: { reporter.refused($0) },
            apply: ReloadTargets(
                language: address.language, server: server, link: link, relay: relay, log: log,
                openxc: openxc, recorder: recorder, media: media, drive: drive, reporter: reporter,
                accessory: accessory, outputs: outputs, events: events, logger: logger,
                stateDirectory: TokenFile.directory(in: environment),
                makeSupervisor: makeSupervisor
            ).apply)

        let dashboardPlace = await DashboardEndpoint.place(
            of: config.dashboard, on: LoopExecutor.shared.loop)
        // From here on the machine is changed; a second relayd stops before it changes anything.
        let actions = actions(
            relay: relay, link: link, server: server, reloader: reloader, events: events)
        let catchUp = { @Sendable () async in
            await relay.observersCatchUp(within: ControlLimits.observersPatience)
        }
        let control = try ControlServer(
            configuration: .init(
                socketPath: config.control.socketPath, mode: UInt16(config.control.mode),
                group: config.control.group.isEmpty ? nil : config.control.group,
                isReadOnlyForOthers: config.control.readOnlyForOthers),
            inherited: inherited.control,
            status: { try await reporter.snapshot() },
            apps: AppHandlers(
                status: { try await reporter.snapshot() }, facts: facts, advisor: advisor,
                catchUp: catchUp),
            messages: MessageHandlers(
                ring: ring, catchUp: catchUp, advice: { advisor.told(after: $0, through: $1) }),
            events: EventHandlers(ring: events),
            reports: ReportHandlers(
                status: { try await reporter.snapshot() }, statistics: statistics,
                vehicle: vehicle == nil ? nil : vehicleStatistics, advisor: advisor, ring: ring,
                config: { reporter.configuration }),
            actions: actions, log: log, specification: SpecificationHandlers(specification),
            records: RecordHandlers(recorder),
            vehicle: VehicleHandlers(vehicle) { accessory.address },
            driving: DriveHandlers(
                relay, status: { try await reporter.snapshot() }, facts: facts,
                validator: specification.validator, events: events),
            faults: FaultHandlers(
                relay, facts: facts, address: { accessory.address }, reopen: actions.reopen),
            drive: drive,
            dashboard: DashboardEndpoint(
                config.dashboard, at: dashboardPlace,
                isChosen: config.dashboard.isChosen(effective.origins["dashboard.address"]),
                besides: config.places(for: address),
                stateDirectory: TokenFile.directory(in: environment),
                isTokenOfOwners: config.control.readOnlyForOthers,
                logger: Logger(label: "dashboard")),
            overflow: overflow, limits: (.init(config.control), .init(config.dashboard)),
            eventLoopGroup: controlLoop, executor: LoopExecutor(controlLoop),
            logger: Logger(label: "control")
        )
        reporter.serves(dashboard: control.dashboard.report.url)
        try await relay.serves(dashboard: control.dashboard.report.url)
        try await relay.onLoss { recorder.lost($0) }
        await recorder.apply(recorder.policy, isAlways: config.record.always)
        await media.apply(MediaPolicy(config.media, state: TokenFile.directory(in: environment)))
        let addresses = try await server.start()

        let observer = TrafficObserver(
            limits: config.messageLimits,
            validator: specification.validator,
            consumers: [advisor, statusLine, ring, statistics, events, log, adviceLog])

        announce(
            addresses, control: control, inherited: inherited, accessory: accessory,
            on: startScreen, logger: logger)
        systemd.ready(status: try await reporter.snapshot().summary)
        // Stopped in reverse order: systemd is told first, then sessions end and the last lines are
        // written; the control socket answers until the end.
        let group = ServiceGroupConfiguration(
            services: [
                .init(service: control),
                .init(
                    service: RelayService(
                        relay: relay, server: server, link: link, observer: observer,
                        observers: LoopExecutor(observersLoop), logger: logger,
                        recorder: recorder, media: media, vehicle: vehicle)),
                .init(service: reloader, successTerminationBehavior: .ignore),
                .init(service: statusLine, successTerminationBehavior: .ignore),
                .init(service: systemd, successTerminationBehavior: .ignore),
            ], logger: Self.quiet)
        try await ServiceRun.run(
            ServiceGroup(configuration: group), until: signals, hangUp: hangUp,
            stopTime: stopTime,
            reload: { reloader.request() },
            lastLines: { [outputs] in await outputs.flush() },
            endAtOnce: { [outputs] signal in
                control.removeSocket()
                await outputs.flush()
                StopSignals.end(by: signal.rawValue)
            }, logger: logger)
        logger.info("stopped")
    }

    /// The actions people may trigger through the control socket.
    private func actions(
        relay: Relay, link: SupervisorRunner, server: AppServer, reloader: Reloader,
        events: EventRing
    ) -> ControlActions {
        ControlActions(
            disconnect: { app, reason in
                try await relay.disconnect(app, because: .byOperator(reason))
            },
            reopen: { reason in
                // The hub goes first, so that apps and the log get the reason; the link may have
                // reopened by itself before the supervisor is asked.
                let now = ContinuousClock.now
                let why = "reopened through the control API" + (reason.map { ": \($0)" } ?? "")
                try await relay.reopenLink(reason: why)
                link.reopen(askedAt: now)
                events.add(.control, "the link is \(why)")
            },
            setServer: { isActive in
                let done = try await server.setActive(isActive)
                events.add(.control, done)
                return done
            },
            reload: { try await reloader.reload() })
    }

    private func logControl() throws -> LogControl {
        let format: TrafficFormat
        let hasColours: Bool
        switch outputs.trafficFormat {
        case .text(let color): (format, hasColours) = (.text, color)
        case .json: (format, hasColours) = (.json, false)
        }
        let writer = outputs.traffic
        return try LogControl(
            config.log, threshold: outputs.threshold,
            format: .init(format: format, hasColours: hasColours)
        ) { lines in
            writer.write(lines)
        }
    }

    /// Shows the first thing a person sees: where apps connect, and where to look next. On a terminal this
    /// is a screen of its own; elsewhere it is log lines, which never contain the dashboard's token.
    private func announce(
        _ addresses: [ListenAddress], control: ControlServer, inherited: InheritedSockets,
        accessory: AccessoryMonitor, on startScreen: StartScreenPrinter, logger: Logger
    ) {
        let reachable = ReachableAddresses.ofThisMachine.of(addresses).map(\.description)
        let columns = outputs.screenColumns
        let spoken = accessory.language.spoken
        let (unit, client) = (spoken.accessory, spoken.client)
        if columns == nil {
            logger.notice(
                """
                relayd \(Version.current): \(unit) \(config.accessory), \
                \(client)s connect by TCP to \(reachable.joined(separator: ", "))
                """)
        }
        if !inherited.apps.isEmpty {
            logger.notice(
                """
                the apps' sockets are systemd's; listen in the configuration \
                (\(config.listen.map(\.description).joined(separator: ", "))) is ignored
                """)
        }
        if inherited.control != nil {
            logger.notice(
                """
                the control socket is systemd's, \(control.path); its path, mode and group in the \
                configuration are ignored
                """)
        }
        let dashboard = control.dashboard.report
        guard let columns else {
            logger.info("relayctl --socket \(control.path) status shows \(unit) and \(client)s")
            if let url = dashboard.url {
                logger.notice(
                    "dashboard: \(url); relayctl dashboard prints the address with its token")
            }
            return
        }
        let places = (try? ControlSocket.forTool()) ?? []
        let socket = places.contains { $0.path == control.path } ? nil : control.path
        startScreen.arm { [outputs] in
            let (state, _, reason, _) = accessory.current
            let words = reason.map { "\(state.words): \($0.message)" } ?? state.words
            let screen = StartScreen(
                headUnit: (accessory.address, words, state == .open),
                isVehicle: spoken == .openxc, addresses: reachable,
                dashboard: dashboard.addressWithToken, socket: socket)
            outputs.show(screen.lines(width: columns, isColoured: outputs.hasColours))
        }
        LoopExecutor.shared.loop.scheduleTask(in: TimeAmount(StartScreenPrinter.patience)) {
            startScreen.show()
        }
    }

    /// Discards the service group's own messages, which are about its internals.
    private static let quiet = Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }
}
