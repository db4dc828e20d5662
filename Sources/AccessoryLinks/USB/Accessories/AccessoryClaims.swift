/// Which devices in accessory mode may be the phone of `usb:VID:PID?aoa=switch`, for an address
/// without `serial=` and `bus=`. `USBPumpThread` keeps one up to date, `USBSelector` asks it.
///
/// A phone in accessory mode has Google's VID:PID and no longer says which phone it is; what tells
/// is the port at which relayd has switched it. One that was in accessory mode before relayd looked
/// may be taken as well while it is the only one: a phone stays in that mode when relayd is
/// restarted, and a bench on which it then has to be pulled out by hand would be of no use. But not
/// if another program has it, and not one that appears later where relayd has switched none:
/// somebody else has switched it, another relayd for its own phone, say.
package struct AccessoryClaims: Hashable, Sendable {
    package enum Claim: Hashable, Sendable {
        /// relayd has switched it.
        case own
        /// It was there before relayd looked.
        case found
        /// Somebody else's.
        case none
    }

    /// Ports at which relayd has switched a phone, and what the phone was before: `04e8:6860`.
    private var switched: [String: String] = [:]
    /// Ports with a device that was in accessory mode before relayd looked.
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

    /// A device has appeared. What comes back in accessory mode at the same port is the same phone
    /// after a reset or a sleep of the host; anything else is the end of a claim.
    package mutating func appeared(_ device: USBDeviceDescription) {
        guard !device.isInAccessoryMode else { return }
        found.remove(device.portPath)
        if switched[device.portPath] != device.identifier { switched[device.portPath] = nil }
    }

    /// Another program has it.
    package mutating func heldByAnother(_ device: USBDeviceDescription) {
        found.remove(device.portPath)
    }
}
