/// Which devices in accessory mode may be the phone of `usb:VID:PID?aoa=switch`, for an address
/// without `serial=` and `bus=`. `USBPumpThread` keeps one up to date, `USBSelector` asks it.
///
/// A phone in accessory mode has Google's VID:PID and no longer says which phone it is; it is recognised by the
/// port at which relayd has switched it. A phone that was in accessory mode before relayd looked may be taken as
/// well while it is the only one: phones stay in that mode when relayd is restarted, and a bench on which they then
/// had to be unplugged by hand would be of no use. But a phone that another program has is not taken, nor one that
/// appears later at a port where relayd has switched none: another program has switched it, for example another
/// relayd for its own phone.
package struct AccessoryClaims: Hashable, Sendable {
    package enum Claim: Hashable, Sendable {
        /// relayd has switched the phone.
        case own
        /// The phone was there before relayd looked.
        case found
        /// The phone belongs to another program.
        case none
    }

    /// Ports at which relayd has switched a phone, and what the phone was before: `04e8:6860`.
    private var switched: [String: String] = [:]
    /// Ports of devices that were in accessory mode before relayd looked.
    private var found: Set<String> = []

    /// - Parameter devices: what is plugged in when relayd looks for the first time.
    package init(among devices: [USBDeviceDescription] = []) {
        found = Set(devices.filter(\.isInAccessoryMode).map(\.portPath))
    }

    package func claim(on device: USBDeviceDescription) -> Claim {
        if switched[device.portPath] != nil { return .own }
        return found.contains(device.portPath) ? .found : .none
    }

    /// The phone is being led into accessory mode.
    package mutating func switches(_ phone: USBDeviceDescription) {
        switched[phone.portPath] = phone.identifier
    }

    /// The phone at this port has no accessory mode.
    package mutating func refused(port: String) {
        switched[port] = nil
    }

    /// A device has appeared. One that comes back in accessory mode at the same port is the same phone after a
    /// reset or a sleep of the host. Any other device ends the claim, except that a phone which relayd has switched
    /// may be back as it was before.
    package mutating func appeared(_ device: USBDeviceDescription) {
        guard !device.isInAccessoryMode else { return }
        found.remove(device.portPath)
        if switched[device.portPath] != device.identifier { switched[device.portPath] = nil }
    }

    /// Another program has the device.
    package mutating func heldByAnother(_ device: USBDeviceDescription) {
        found.remove(device.portPath)
    }
}
