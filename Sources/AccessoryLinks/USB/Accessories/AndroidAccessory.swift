/// The constants of Android Open Accessory: the device identity of a phone in accessory mode and the control
/// requests that lead there (Android's AOA documentation, "Attempt to start in accessory mode"). `USBSelector` and
/// `AccessorySwitch` use them.
package enum AndroidAccessory {
    package static let vendor: UInt16 = 0x18D1

    /// Products with an accessory interface: alone, with adb, with audio, with both.
    package static let products: [UInt16] = [0x2D00, 0x2D01, 0x2D04, 0x2D05]

    /// Products with audio but no accessory interface: they cannot carry a link.
    package static let audioOnlyProducts: [UInt16] = [0x2D02, 0x2D03]

    /// Vendor requests to the device; all with index and value 0 unless said otherwise.
    package enum Request {
        /// Device to host, two bytes, little endian: the protocol version, 0 = none.
        package static let getProtocol: UInt8 = 51
        /// Host to device: one string, its number in wIndex, ended by a zero byte.
        package static let sendString: UInt8 = 52
        /// Host to device, no data: leave the bus and come back as an accessory.
        package static let start: UInt8 = 53
    }

    /// The longest string, with its zero byte.
    package static let maximumStringBytes = 256

    /// How the head unit introduces itself to the phone. Android starts the app whose accessory
    /// filter has this manufacturer, model and version.
    package struct Identity: Hashable, Sendable {
        package var manufacturer = "SDL"
        package var model = "Core"
        package var description = "SmartDeviceLink Core Component USB"
        package var version = "1.0"
        package var uri = "http://www.smartdevicelink.org"
        package var serial = "N000000"

        /// sdl_core's own defaults, which SDL apps declare in their filters.
        package init() {}

        /// In the order of their indices, 0…5.
        package var strings: [String] {
            [manufacturer, model, description, version, uri, serial]
        }
    }
}
