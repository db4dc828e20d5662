// What each part of relayd takes of the configuration.

import AccessoryLinks
import ControlAPI
import OpenXCRelay
import OpenXCTraffic
import RelayCore
import SDLProtocol

extension Config.Control {
    var socketPath: String? {
        if case .path(let path) = socket { path } else { nil }
    }
}

extension Config {
    /// The hub's share, as far as this machine lets it have it.
    var relay: RelayConfiguration {
        var relay = hub
        relay.maximumSurplus = OpenFiles.surplus(of: hub.maximumSurplus, apps: hub.maximumApps)
        return relay
    }

    /// What the hub speaks.
    func language(
        of address: AccessoryAddress, _ tap: VehicleTap?
    ) -> @Sendable (Switchboard) -> any AccessoryLanguage {
        let settings = openxc.relay
        return switch address.language {
        case .sdl: Relay.sdl
        case .openxc: { OpenXCLanguage($0, configuration: settings, tap: tap) }
        }
    }

    /// Where apps or clients connect.
    func places(for address: AccessoryAddress) -> [ListenAddress] {
        address.language == .openxc ? openxc.listen : listen
    }

    var messageLimits: MessageAssembler.Limits {
        var messageLimits = MessageAssembler.Limits()
        messageLimits.maximumMessageBytes = limits.maximumMessage
        messageLimits.maximumKeptBytes = max(
            messageLimits.maximumKeptBytes, limits.maximumMessage)
        return messageLimits
    }
}
