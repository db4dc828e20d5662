package import RelayCore
import SDLProtocol

/// Facts that the head unit reports about itself, learnt from each StartServiceACK and registration of any
/// app; kept by `FactsTable`.
package struct HeadUnitFacts: Hashable, Sendable {
    /// The number of the link on which they were learnt, counted since relayd started; nil while there is
    /// none.
    package var link: Int?
    package var make: String?
    package var model: String?
    package var modelYear: String?
    package var trim: String?
    package var softwareVersion: String?
    package var hardwareVersion: String?
    /// The version of its SDL implementation, from a registration: "SmartDeviceLink_Core_Version_8.2.0".
    package var sdlVersion: String?
    /// The highest full protocol version that it granted.
    package var protocolVersion: String?
    /// Set when it told an app that it is switched off, and has answered nothing since.
    package var saidOff: SaidOff?
    /// When it last sent something that is not an SDL frame.
    package var garbageAt: WallTime?

    /// An OnAppInterfaceUnregistered with a reason that concerns the head unit itself.
    package struct SaidOff: Hashable, Sendable {
        package var reason: String
        package var time: WallTime
    }

    /// MOBILE_API, "AppInterfaceUnregisteredReason".
    private static let offReasons: Set<String> = [
        "IGNITION_OFF", "MASTER_RESET", "FACTORY_DEFAULTS",
    ]

    /// Learns from OnAppInterfaceUnregistered.
    mutating func learn(unregistered reason: String?, at time: WallTime) {
        guard let reason, Self.offReasons.contains(reason) else { return }
        // Every app is told; the first time counts.
        saidOff = saidOff ?? SaidOff(reason: reason, time: time)
    }

    /// Notes that it granted a session, or answered a request made since then.
    mutating func answered(requestedAt: WallTime?) {
        guard let saidOff else { return }
        if requestedAt.map({ $0 > saidOff.time }) ?? true { self.saidOff = nil }
    }

    /// Learns from a StartServiceACK of protocol 5.4 or later.
    mutating func learn(from document: BSONDocument?, version: String?) {
        protocolVersion = version ?? protocolVersion
        guard let document else { return }
        make = FactLimits.text(document.string(ControlKey.make)) ?? make
        model = FactLimits.text(document.string(ControlKey.model)) ?? model
        modelYear = FactLimits.text(document.string("modelYear")) ?? modelYear
        trim = FactLimits.text(document.string("trim")) ?? trim
        softwareVersion =
            FactLimits.text(document.string("systemSoftwareVersion")) ?? softwareVersion
        hardwareVersion =
            FactLimits.text(document.string("systemHardwareVersion")) ?? hardwareVersion
    }

    /// Learns from the response to a RegisterAppInterface.
    mutating func learn(from parameters: JSONObject) {
        softwareVersion =
            FactLimits.text(parameters.string("systemSoftwareVersion")) ?? softwareVersion
        hardwareVersion =
            FactLimits.text(parameters.string("systemHardwareVersion")) ?? hardwareVersion
        sdlVersion = FactLimits.text(parameters.string("sdlVersion")) ?? sdlVersion
        guard let vehicle = parameters.object("vehicleType") else { return }
        make = FactLimits.text(vehicle.string("make")) ?? make
        model = FactLimits.text(vehicle.string("model")) ?? model
        modelYear = FactLimits.text(vehicle.string("modelYear")) ?? modelYear
        trim = FactLimits.text(vehicle.string("trim")) ?? trim
    }
}
