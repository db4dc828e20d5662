import AccessoryLinks
import ControlAPI
import Logging
import OpenXCRelay
import RelayCore

/// The parts of relayd that a reload changes while they run. Steps that may fail come first, so that a
/// refused reload has changed nothing.
struct ReloadTargets: Sendable {
    /// The accessory's language, fixed while relayd runs.
    let language: AccessoryAddress.Language
    let server: AppServer
    let link: SupervisorRunner
    let relay: Relay
    let log: LogControl
    let openxc: OpenXCSettings
    let recorder: Recorder
    let media: MediaTaps
    let drive: DriveSwitch
    let reporter: StatusReporter
    let accessory: AccessoryMonitor
    let outputs: LogOutputs
    let events: EventRing
    let logger: Logger
    /// Where recordings and media files go if the configuration does not say.
    let stateDirectory: String?
    let makeSupervisor: @Sendable (AccessoryAddress, any AccessoryTransport) -> LinkSupervisor

    /// - Throws: The error that keeps the new configuration from being used, written for people.
    func apply(_ plan: ReloadPlan) async throws {
        let config = plan.config
        let address = try AccessoryAddress(config.accessory).judged()
        guard address.language == language else {
            throw AddressError(
                "\(address) speaks another language than the previous address; restart relayd")
        }
        let next =
            plan.applied.contains("accessory")
            ? try TransportCatalog.transport(for: address) : nil
        if !Config.placeOptions.isDisjoint(with: plan.applied) {
            try await server.change(
                to: config.places(for: address), terminals: config.terminals(for: address) ?? [])
        }
        openxc.configuration = config.openxc.relay
        try await log.change(plan)
        try await relay.reconfigure(config.relay, accessoryAddress: config.accessory)
        await recorder.apply(
            RecordingPolicy(config.record, state: stateDirectory), isAlways: config.record.always)
        await media.apply(MediaPolicy(config.media, state: stateDirectory))
        drive.isOn = config.drive.enabled
        if !config.drive.enabled {
            // Nobody may remove fault rules any more.
            let count = try await relay.removeFaults()
            if count > 0 {
                logger.notice(
                    "drive: removed all \(count) fault rules, because drive.enabled is off now")
            }
        }
        reporter.reconfigure(plan.effective)
        if plan.applied.contains("apps.maximum") {
            OpenFiles.warnOfShortage(apps: config.hub.maximumApps, logger)
        }
        if server.isInherited, plan.applied.contains("listen") {
            logger.notice("listen is ignored: systemd holds the sockets for apps")
        }
        if let next {
            accessory.moved(
                toKind: address.scheme, address: config.accessory, details: next.details)
            outputs.mark(accessory: config.accessory)
            link.replace(
                with: makeSupervisor(address, next),
                because: "the configuration names another head unit: \(config.accessory)")
        }
        events.add(.control, "configuration reloaded: \(plan.summary())")
    }
}
