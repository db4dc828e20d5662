import CLibUSB

/// The one owner of an opened device and of the interface claimed on it: released and closed
/// exactly once, on every path. `USBLink` and `USBOpening` hold one, on the pump's thread.
struct USBHandle: ~Copyable {
    let raw: OpaquePointer
    private var claimed: CInt?

    /// Opens the device; changes nothing on it.
    init(
        _ device: OpaquePointer, _ description: USBDeviceDescription
    ) throws(LinkProblem) {
        var handle: OpaquePointer?
        let code = libusb_open(device, &handle)
        guard code == 0, let handle else { throw USBProblem.opening(description, code) }
        raw = handle
    }

    /// Claims the one interface, in the setting that has the endpoints.
    mutating func claim(
        _ pipes: USBPipes, of description: USBDeviceDescription, for selector: USBSelector
    ) throws(LinkProblem) {
        let interface = CInt(pipes.interface)
        if selector.detachesDriver {
            // The driver comes back when the interface is released.
            _ = libusb_set_auto_detach_kernel_driver(raw, 1)
        } else if libusb_kernel_driver_active(raw, interface) == 1 {
            throw USBProblem.heldByDriver(
                pipes.driver, description, interface: pipes.interface, address: selector.address)
        }
        let code = libusb_claim_interface(raw, interface)
        guard code == 0 else { throw USBProblem.opening(description, code) }
        claimed = interface
        if pipes.choosesAlternate {
            let code = libusb_set_interface_alt_setting(raw, interface, CInt(pipes.alternate))
            guard code == 0 else { throw USBProblem.opening(description, code) }
        }
    }

    deinit {
        if let claimed { libusb_release_interface(raw, claimed) }
        libusb_close(raw)
    }
}
