import CLibUSB
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
