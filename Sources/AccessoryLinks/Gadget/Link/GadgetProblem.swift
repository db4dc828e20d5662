import Glibc

/// What keeps the gadget from working, in words.
enum GadgetProblem {
    static func opening(_ path: String, errno error: CInt) -> LinkProblem {
        switch error {
        case ENOENT, ENOTDIR:
            LinkProblem(
                .absent, "this machine has not been set up as a phone: \(path) does not exist",
                remedy: "run, as root: relayctl setup gadget")
        case EACCES, EPERM:
            LinkProblem(
                .permissionDenied,
                "\(path) may not be opened by user \(DeviceNode.userName(geteuid())): it was set up for another",
                remedy: "set it up for this one, as root: relayctl setup gadget")
        case EBUSY:
            LinkProblem(
                .busy, "\(path) is still being let go by an earlier relayd", remedy: "wait a moment"
            )
        default: .system("\(path) could not be opened", errno: error)
        }
    }

    static func writing(_ path: String, errno error: CInt) -> LinkProblem {
        switch error {
        case EROFS:
            LinkProblem(
                .permissionDenied, "\(path) may not be written: relayd's unit keeps it read-only",
                remedy: "enable the drop-in for this role, as root: relayctl setup gadget")
        case EACCES, EPERM:
            LinkProblem(
                .permissionDenied,
                "\(path) may not be written by user \(DeviceNode.userName(geteuid()))",
                remedy: "set it up for this one, as root: relayctl setup gadget")
        case ENOENT:
            LinkProblem(
                .absent, "this machine is not set up as a phone any more: \(path) does not exist",
                remedy: "run, as root: relayctl setup gadget")
        default: .system("\(path) could not be written", errno: error)
        }
    }

    static func binding(
        _ controller: String, errno error: CInt, _ places: GadgetLayout.Places
    ) -> LinkProblem {
        switch error {
        case EBUSY:
            let user = GadgetFile.read("\(places.controllers)/\(controller)/function") ?? ""
            return LinkProblem(
                .busy,
                "the USB device controller \(controller) is in use"
                    + (user.isEmpty ? "" : " by the gadget \(user)"),
                remedy: "remove the other gadget, or name another controller with udc=")
        case ENODEV:
            return absent(controller)
        default:
            let file = "the USB device controller \(controller)"
            return error == EROFS || error == EACCES || error == EPERM
                ? writing(file, errno: error)
                : .system("\(file) did not take the gadget", errno: error)
        }
    }

    static func absent(_ controller: String) -> LinkProblem {
        LinkProblem(
            .absent, "the USB device controller \(controller) is not there",
            remedy: "relayd goes on when it appears; ls /sys/class/udc prints those there are")
    }

    /// Why a link ended.
    static func ended(
        _ end: AccessoryOnEndpointZero.LinkEnd, unsent: Int, undelivered: Int
    ) -> LinkProblem {
        let lost = USBProblem.lossWords(unsent: unsent, undelivered: undelivered, isMost: true)
        switch end {
        case .left:
            return LinkProblem(
                .closedByPeer,
                "the head unit left: its cable was pulled, or it was switched off, restarted or reset"
                    + lost,
                remedy: "relayd waits for it to come back")
        case .reset:
            return LinkProblem(
                .closedByPeer, "the head unit reset the accessory and began anew\(lost)")
        case .startsAnew:
            return LinkProblem(
                .closedByPeer, "the head unit told the accessory to start once more\(lost)")
        case .lostController:
            return LinkProblem(
                .vanished, "the USB device controller was taken away from relayd\(lost)",
                remedy: "relayd goes on when it is back")
        }
    }

    static func failed(_ error: CInt, unsent: Int, undelivered: Int) -> LinkProblem {
        LinkProblem(
            .other,
            "a transfer between the gadget and the head unit failed: \(systemMessage(error))"
                + USBProblem.lossWords(unsent: unsent, undelivered: undelivered, isMost: true),
            remedy: "check the cable; the kernel's log (dmesg) may say more")
    }

    /// EAGAIN comes from io_setup(2): all processes together have no more transfers left.
    static func settingUp(errno error: CInt) -> LinkProblem {
        LinkProblem(
            .other, "the gadget's transfers could not be set up: \(systemMessage(error))",
            remedy: error == EAGAIN
                ? "set fs.aio-max-nr higher, with sysctl; fs.aio-nr is how much of it is in use"
                : nil)
    }

    /// Why one direction was refused, when the other may already have moved bytes.
    static func refused(_ problem: LinkProblem, unsent: Int, undelivered: Int) -> LinkProblem {
        LinkProblem(
            problem.code,
            problem.message
                + USBProblem.lossWords(unsent: unsent, undelivered: undelivered, isMost: true),
            remedy: problem.remedy)
    }
}
