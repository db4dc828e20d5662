// What each part of relayd takes from the configuration.

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
    /// The hub's share, within the limits of this machine.
    var relay: RelayConfiguration {
        var relay = hub
        relay.maximumSurplus = OpenFiles.surplus(of: hub.maximumSurplus, apps: hub.maximumApps)
        return relay
    }

    /// The language the hub speaks.
    func language(
        of address: AccessoryAddress, _ settings: OpenXCSettings, _ tap: VehicleTap?
    ) -> @Sendable (Switchboard) -> any AccessoryLanguage {
        switch address.language {
        case .sdl: Relay.sdl
        case .openxc: { OpenXCLanguage($0, settings: settings, tap: tap) }
        }
    }

    /// Options that say where apps or clients connect.
    static let placeOptions: Set<String> = [
        "listen", "openxc.listen", "openxc.pty", "openxc.pty_group", "openxc.endpoints",
    ]

    /// Where apps or clients connect.
    func places(for address: AccessoryAddress) -> [ListenAddress] {
        guard address.language == .openxc else { return listen }
        let more = openxc.relay.endpoints.compactMap { endpoint -> ListenAddress? in
            if case .address(let address) = endpoint.place { address } else { nil }
        }
        return openxc.listen + more
    }

    /// The pseudo-terminals clients may open; nil if the accessory has no such clients.
    ///
    /// - Throws: `UnknownGroup`.
    func terminals(for address: AccessoryAddress) throws -> [TerminalPlace]? {
        guard address.language == .openxc else { return nil }
        let more = openxc.relay.endpoints.compactMap { endpoint -> String? in
            if case .terminal(let path) = endpoint.place { path } else { nil }
        }
        let paths = (openxc.pty.isEmpty ? [] : [openxc.pty]) + more
        guard !paths.isEmpty else { return [] }
        var group: UInt32?
        if !openxc.ptyGroup.isEmpty {
            group = SystemGroup.number(of: openxc.ptyGroup)
            guard group != nil else { throw UnknownGroup(name: openxc.ptyGroup) }
        }
        return paths.map { TerminalPlace(path: $0, group: group) }
    }

    var messageLimits: MessageAssembler.Limits {
        var messageLimits = MessageAssembler.Limits()
        messageLimits.maximumMessageBytes = limits.maximumMessage
        messageLimits.maximumKeptBytes = max(
            messageLimits.maximumKeptBytes, limits.maximumMessage)
        return messageLimits
    }
}

/// The configuration names a group that this machine does not have.
struct UnknownGroup: Error, CustomStringConvertible {
    let name: String

    var description: String {
        "openxc.pty_group: there is no group \"\(name)\" on this machine; "
            + "create it (sudo groupadd --system \(name)), or name another one"
    }
}
