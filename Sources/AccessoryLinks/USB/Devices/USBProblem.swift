import CLibUSB
import Glibc
import SDLProtocol

/// Why a USB device cannot be used as a link, in words that name the device, its node, and what to do.
enum USBProblem {
    /// libusb itself could not be started, or has no memory.
    static func library(_ code: CInt) -> LinkProblem {
        LinkProblem(
            .unsupported, "libusb could not be started: \(words(code))",
            remedy: "check that this machine has USB, and that nothing keeps relayd from netlink "
                + "sockets (RestrictAddressFamilies needs AF_NETLINK)")
    }

    /// A call to open or claim the device failed.
    static func opening(_ device: USBDeviceDescription, _ code: CInt) -> LinkProblem {
        switch code {
        case LIBUSB_ERROR_ACCESS.rawValue:
            permissionDenied(device)
        case LIBUSB_ERROR_BUSY.rawValue:
            busy(device)
        case LIBUSB_ERROR_NO_DEVICE.rawValue, LIBUSB_ERROR_NOT_FOUND.rawValue:
            LinkProblem(
                .vanished, "\(device.placeAndName) went away while it was being opened",
                remedy: "plug the device in again")
        case LIBUSB_ERROR_NOT_SUPPORTED.rawValue:
            LinkProblem(
                .unsupported, "this system's USB cannot do what \(device.placeAndName) needs",
                remedy: "use a host controller of this machine itself: passed-through or remote "
                    + "USB may lack it")
        default:
            LinkProblem(
                .other, "\(device.placeAndName) could not be opened: \(words(code))",
                remedy: "plug the device in again; the kernel's log (dmesg) may say more")
        }
    }

    /// The kernel has a driver of its own on the interface.
    static func heldByDriver(
        _ driver: String?, _ device: USBDeviceDescription, interface: UInt8, address: String
    ) -> LinkProblem {
        return LinkProblem(
            .busy,
            "interface \(interface) of \(device.placeAndName) is in use by the kernel's "
                + "\(driver ?? "own") driver",
            remedy: USBDriver.remedy(driver, address: address))
    }

    /// Words to append to why a link ended; empty when nothing was lost.
    ///
    /// - Parameters:
    ///   - unsent: bytes for the device that had been handed over and did not reach it.
    ///   - undelivered: bytes from the device that were read and did not reach the hub.
    ///   - isMost: whether some of the unsent bytes may have arrived after all.
    static func lossWords(unsent: Int, undelivered: Int, isMost: Bool = false) -> String {
        var loss: [String] = []
        if unsent > 0 { loss.append("\(isMost ? "at most " : "")\(unsent) bytes for it") }
        if undelivered > 0 { loss.append("\(undelivered) bytes from it") }
        return loss.isEmpty ? "" : "; lost: \(loss.joined(separator: ", "))"
    }

    /// The open link ended.
    static func ended(
        _ fault: USBFault, _ device: USBDeviceDescription, unsent: Int, undelivered: Int
    ) -> LinkProblem {
        let lost = lossWords(unsent: unsent, undelivered: undelivered)
        let name = device.placeAndName
        switch fault {
        case .vanished:
            return LinkProblem(
                .vanished, "\(name) went away\(lost)",
                remedy: "plug the device in again; relayd opens it as soon as it appears")
        case .stalled(let endpoint):
            return LinkProblem(
                .other,
                "\(name) refuses transfers on endpoint \(USBText.byte(endpoint)) "
                    + "(\(maximumUSBStalls + 1) stalls in a row)\(lost)",
                remedy: "restart the device; check in= and out= in the head unit's address")
        case .overflow(let endpoint):
            return LinkProblem(
                .other,
                "\(name) sent more than was asked for on endpoint \(USBText.byte(endpoint))\(lost)",
                remedy: "the device's USB is faulty: try another cable, port or firmware")
        case .failed(let endpoint):
            return LinkProblem(
                .other,
                "a transfer on endpoint \(USBText.byte(endpoint)) of \(name) failed\(lost)",
                remedy: "check cable, hub and power; the kernel's log (dmesg) may say more")
        case .interrupted:
            return LinkProblem(
                .other, "the kernel took \(name) away from relayd\(lost)",
                remedy: "it is opened again; this happens when the machine slept")
        case .outOfOrder:
            return LinkProblem(
                .other, "\(name) took a transfer in part and the next one whole\(lost)",
                remedy: "the device's USB is faulty: try another cable, port or firmware")
        case .refused(let code):
            return LinkProblem(
                .other, "the kernel refused a transfer to \(name): \(words(code))\(lost)",
                remedy: code == LIBUSB_ERROR_NO_MEM.rawValue
                    ? "raise /sys/module/usbcore/parameters/usbfs_memory_mb"
                    : "the kernel's log (dmesg) may say more")
        }
    }

    static func words(_ code: CInt) -> String {
        guard let text = libusb_strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}

// MARK: - Permissions

extension USBProblem {
    private static func permissionDenied(_ device: USBDeviceDescription) -> LinkProblem {
        LinkProblem(
            .permissionDenied,
            "\(device.nodePath) (\(device.placeAndName)) may not be opened by user "
                + "\(DeviceNode.userName(geteuid()))",
            remedy: "put this line into \(USBAccessRule.file), run 'sudo udevadm "
                + "control --reload' and plug the device in again: "
                + USBAccessRule.line(vendor: device.vendor, product: device.product))
    }

    private static func busy(_ device: USBDeviceDescription) -> LinkProblem {
        guard let holder = DeviceNode(device.nodePath).findHolder() else {
            return LinkProblem(
                .busy, "\(device.placeAndName) is in use by another program",
                remedy: DeviceNode.remedyForUnknown(device.nodePath))
        }
        return LinkProblem(
            .busy,
            "\(device.placeAndName) is in use by \(holder.name) (process \(holder.processID))",
            remedy: holder.name == "adb"
                ? "stop it with: adb kill-server" : "close that program")
    }
}

/// The line of a udev rule that lets relayd open a device.
package enum USBAccessRule {
    /// The file for a person to put it in. It must not have the name of the file that relayd brings,
    /// 70-relayd.rules: udev would read this one instead, and a phone would be refused as soon as it is in
    /// accessory mode. It sorts before 73, which is where the desktop's udev rules look for `uaccess`.
    package static let file = "/etc/udev/rules.d/71-relayd-local.rules"

    /// Gives access to the group of relayd's service if there is one, else to this process's own; and to whoever
    /// sits at the machine.
    package static func line(vendor: UInt16, product: UInt16) -> String {
        let group = getgrnam("relayd") != nil ? "relayd" : DeviceNode.groupName(getegid())
        return line(vendor: vendor, product: product, group: group)
    }

    package static func line(vendor: UInt16, product: UInt16, group: String) -> String {
        "SUBSYSTEM==\"usb\", ENV{DEVTYPE}==\"usb_device\", "
            + "ATTR{idVendor}==\"\(vendor.hexDigits)\", "
            + "ATTR{idProduct}==\"\(product.hexDigits)\", "
            + "MODE=\"0660\", GROUP=\"\(group)\", TAG+=\"uaccess\", "
            + "ENV{ID_MM_DEVICE_IGNORE}=\"1\""
    }

    /// Whether this process may open the device, without opening it. For root, who may open everything, the answer
    /// is that of relayd's service if there is one.
    package static func mayOpen(_ device: USBDeviceDescription) -> Bool {
        mayOpen(node: device.nodePath)
    }

    static func mayOpen(node path: String) -> Bool {
        guard let service else { return access(path, R_OK | W_OK) == 0 }
        var info = stat()
        guard stat(path, &info) == 0 else { return false }
        let mask: mode_t =
            if info.st_uid == service.user {
                0o600
            } else if service.groups.contains(info.st_gid) {
                0o060
            } else {
                0o006
            }
        return info.st_mode & mask == mask
    }

    /// Whose permissions `mayOpen` checks, worded for a sentence.
    package static var judgedUser: String { service == nil ? "this user" : "user \(serviceUser)" }

    /// The user that the package creates.
    static let serviceUser = "relayd"

    /// The user of relayd's service and its groups; nil unless this process runs as root.
    private static var service: (user: uid_t, groups: [gid_t])? {
        guard geteuid() == 0, let entry = getpwnam(serviceUser)?.pointee else { return nil }
        var count: CInt = 64
        var groups = [gid_t](repeating: 0, count: Int(count))
        guard getgrouplist(serviceUser, entry.pw_gid, &groups, &count) >= 0 else {
            return (entry.pw_uid, [entry.pw_gid])
        }
        return (entry.pw_uid, Array(groups.prefix(Int(count))))
    }
}
