import CLibUSB
import Foundation
import RelayTesting
import Testing

@testable import AccessoryLinks

@Suite("USBProblem")
struct USBProblemTests {
    private let device = USBDevice.openXC()

    @Test("a device that may not be opened has the very line that would allow it")
    func access() {
        let problem = USBProblem.opening(device, LIBUSB_ERROR_ACCESS.rawValue)
        #expect(problem.code == .permissionDenied)
        #expect(
            problem.message.hasPrefix(
                "/dev/bus/usb/001/005 (OpenXC Vehicle Interface at port 1-1) may not be opened by "
                    + "user "))
        let rule = USBAccessRule.line(vendor: 0x1BC4, product: 1)
        #expect(problem.remedy?.hasSuffix(": \(rule)") == true)
        #expect(rule.contains(#"ATTR{idVendor}=="1bc4", ATTR{idProduct}=="0001", MODE="0660""#))
    }

    @Test("the line goes into a file that does not stand in for the one relayd brings")
    func ruleFile() throws {
        let name = try #require(USBAccessRule.file.split(separator: "/").last)
        let remedy = USBProblem.opening(device, LIBUSB_ERROR_ACCESS.rawValue).remedy
        #expect(remedy?.contains("into \(USBAccessRule.file),") == true)
        let brought = Checkout.root.appending(path: "systemd").path
        let files = try FileManager.default.contentsOfDirectory(atPath: brought)
        #expect(files.contains("70-relayd.rules"))
        #expect(!files.contains(String(name)))
        // udev evaluates uaccess in 73-seat-late.rules.
        #expect(name > "70-relayd.rules" && name < "73-seat-late.rules")
    }

    @Test("each way of not being opened has its code and a remedy")
    func codes() {
        let expected: [(libusb_error, LinkProblem.Code)] = [
            (LIBUSB_ERROR_BUSY, .busy), (LIBUSB_ERROR_NO_DEVICE, .vanished),
            (LIBUSB_ERROR_NOT_FOUND, .vanished), (LIBUSB_ERROR_NOT_SUPPORTED, .unsupported),
            (LIBUSB_ERROR_IO, .other),
        ]
        for (error, code) in expected {
            let problem = USBProblem.opening(device, error.rawValue)
            #expect(problem.code == code)
            #expect(problem.message.contains("OpenXC Vehicle Interface at port 1-1"))
            #expect(problem.remedy?.isEmpty == false)
        }
    }

    @Test("a kernel driver is named, with the tty where there is one")
    func driver() {
        let serial = USBProblem.heldByDriver(
            "cdc_acm", .board, interface: 1, address: "usb:2341:0043?bus=2-4")
        #expect(
            serial.description
                == "interface 1 of 2341:0043 at port 2-4 is in use by the kernel's cdc_acm driver; "
                + "open it as serial:/dev/ttyACM0 or the like, or add &detach=yes to take it from "
                + "the driver")
    }

    @Test("the drivers that make ttys are told from those that do not")
    func drivers() {
        for name in ["cdc_acm", "ftdi_sio", "cp210x", "pl2303", "ch341", "keyspan_serial"] {
            #expect(USBDriver.remedy(name, address: "usb:1:1").hasPrefix("open it as serial:"))
        }
        for name in ["usb-storage", "usblp", nil] {
            #expect(
                USBDriver.remedy(name, address: "usb:1:1")
                    == "add ?detach=yes to take it from the driver")
        }
    }

    @Test("a holder that cannot be seen is to be looked for as root")
    func unknownHolder() {
        // There is no such node, so no process has it open.
        let absent = device.with { $0.bus = 255 }
        let problem = USBProblem.opening(absent, LIBUSB_ERROR_BUSY.rawValue)
        #expect(
            problem.description
                == "OpenXC Vehicle Interface at port 255-1 is in use by another program; find it "
                + "with: sudo fuser -v /dev/bus/usb/255/005 (relayd sees its own user's programs "
                + "only)")
    }

    @Test("the end of a link says what was lost, each way")
    func losses() {
        func message(_ fault: USBFault, _ unsent: Int, _ undelivered: Int) -> String {
            USBProblem.ended(fault, device, unsent: unsent, undelivered: undelivered).message
        }
        let name = "OpenXC Vehicle Interface at port 1-1"
        #expect(message(.vanished, 0, 0) == "\(name) went away")
        #expect(message(.vanished, 7, 0) == "\(name) went away; lost: 7 bytes for it")
        #expect(
            message(.vanished, 7, 9) == "\(name) went away; lost: 7 bytes for it, 9 bytes from it")
        let faults: [USBFault] = [
            .stalled(endpoint: 0x82), .overflow(endpoint: 0x82), .failed(endpoint: 0x05),
            .interrupted, .outOfOrder, .refused(code: LIBUSB_ERROR_NO_MEM.rawValue),
        ]
        #expect(Set(faults.map { message($0, 0, 0) }).count == faults.count)
        for fault in faults {
            #expect(message(fault, 1, 0).hasSuffix("; lost: 1 bytes for it"))
        }
    }
}
