/// What an interface or a kernel driver is known to be for, from its descriptors alone. `USBPipes` passes
/// over interfaces that are no link; `relayctl devices` and the reasons in the status name their purpose.
extension USBDeviceDescription.Interface {
    /// Set when a bulk pair is surely not for a link (USB-IF, "Defined Class Codes"; adb and MTP as Android
    /// describes them): it is opened only when the address names it.
    package var otherPurpose: String? {
        switch (classCode, subclass, protocolCode) {
        case (0x06, _, _): "pictures and files (PTP or MTP)"
        case (0x07, _, _): "a printer"
        case (0x08, _, _): "mass storage"
        case (0x0B, _, _): "a smart card reader"
        case (0x0E, _, _): "video"
        case (0xE0, _, _): "a radio, such as Bluetooth"
        case (0xFF, 0x42, 0x01): "adb"
        case (0xFF, 0x42, 0x03): "fastboot"
        // Older Androids describe MTP like an accessory, except for the name.
        case (0xFF, 0xFF, 0x00) where name == "MTP": "pictures and files (MTP)"
        default: nil
        }
    }
}

extension USBDeviceDescription {
    /// The device offers pictures and files, or adb: an Android phone, or a camera.
    package var looksLikePhone: Bool {
        !isInAccessoryMode
            && interfaces.contains { interface in
                interface.classCode == 0x06 || interface.name == "MTP"
                    || (interface.classCode, interface.subclass, interface.protocolCode)
                        == (0xFF, 0x42, 0x01)
            }
    }
}

/// Kernel drivers.
package enum USBDriver {
    /// Whether the driver makes a tty of the interface.
    package static func isSerial(_ name: String) -> Bool {
        serial.contains(name) || name.hasSuffix("serial")
    }

    /// The common ones of Linux, drivers/usb/serial and drivers/usb/class/cdc-acm.c.
    private static let serial: Set = [
        "cdc_acm", "ch341", "cp210x", "f81232", "ftdi_sio", "mct_u232", "mos7720", "mos7840",
        "option", "oti6858", "pl2303", "qcserial", "sierra", "spcp8x5", "ti_usb_3410_5052",
        "usb_serial_simple", "usbserial_generic",
    ]

    /// What to do about a driver that has the interface.
    ///
    /// - Parameter tty: the node that the driver made, if it is known.
    package static func remedy(
        _ name: String?, address: String, tty: String? = nil
    ) -> String {
        let separator = address.contains("?") ? "&" : "?"
        let detach = "add \(separator)detach=yes to take it from the driver"
        return name.map(isSerial) == true
            ? "open it as \(tty.map { "serial:\($0)" } ?? "serial:/dev/ttyACM0 or the like"), "
                + "or \(detach)"
            : detach
    }
}
