import CLibUSB
import Glibc
import Logging

/// The one owner of a libusb context: what is plugged in, what comes and goes, which descriptors to poll.
/// `USBPumpThread` has one, on its thread, as long as it lives; `relayctl devices` for a moment. libusb's messages
/// go to the log at debug level, never to standard error.
package final class USBContext {
    package enum Event {
        case arrived(USBDeviceDescription)
        case left(USBDeviceDescription)
    }

    private struct Doubt {
        let device: USBDeviceDescription
        let until: ContinuousClock.Instant
    }

    /// The bus reports an unplug within some ten milliseconds of the transfers. A device that the bus keeps longer
    /// is still there: the kernel ends transfers this way when the host goes to sleep.
    static let doubtLimit: Duration = .seconds(1)

    let raw: OpaquePointer
    /// Devices that are plugged in, each with one reference of ours.
    private var devices: [OpaquePointer: USBDeviceDescription] = [:]
    /// Devices whose transfers say that they are gone, while the bus has not reported it.
    private var doubted: [OpaquePointer: Doubt] = [:]
    private var events: [Event] = []
    private var watches = false
    /// Set when libusb polls other descriptors than before.
    private var descriptorsHaveChanged = true
    private var descriptors: [pollfd] = []

    package init() throws(LinkProblem) {
        // Set globally as well: with LIBUSB_DEBUG set, libusb logs while the context is being made.
        libusb_set_log_cb(nil, Self.log, CInt(LIBUSB_LOG_CB_GLOBAL.rawValue))
        var context: OpaquePointer?
        let code = libusb_init(&context)
        guard code == 0, let context else { throw USBProblem.library(code) }
        raw = context
        libusb_set_log_cb(context, Self.log, CInt(LIBUSB_LOG_CB_CONTEXT.rawValue))
        _ = relay_usb_set_log_level(context, LIBUSB_LOG_LEVEL_WARNING)
    }

    deinit {
        for device in Array(devices.keys) + doubted.keys { libusb_unref_device(device) }
        libusb_exit(raw)
    }

    private static let logger = Logger(label: "libusb")

    private static let log: libusb_log_cb = { _, _, text in
        guard let text else { return }
        let line = String(cString: text)
        USBContext.logger.debug("\(line.prefix { $0 != "\n" })")
    }
}

// MARK: - What is plugged in

extension USBContext {
    /// Everything that is plugged in now, without watching.
    package func list() throws(LinkProblem) -> [USBDeviceDescription] {
        var list: UnsafeMutablePointer<OpaquePointer?>?
        let count = libusb_get_device_list(raw, &list)
        guard count >= 0, let list else { throw USBProblem.library(CInt(count)) }
        defer { libusb_free_device_list(list, 1) }
        return (0..<count).compactMap { list[$0].map { Self.describe($0) } }
            .sorted { ($0.bus, $0.portPath, $0.number) < ($1.bus, $1.portPath, $1.number) }
    }

    /// Fills `present` and keeps it up to date from now on: libusb calls back while it handles events, on the
    /// thread that makes it do so.
    func watch() throws(LinkProblem) {
        guard !watches else { return }
        libusb_set_pollfd_notifiers(
            raw,
            { _, _, context in USBContext.from(context)?.descriptorsHaveChanged = true },
            { _, context in USBContext.from(context)?.descriptorsHaveChanged = true },
            Unmanaged.passUnretained(self).toOpaque())
        let code = libusb_hotplug_register_callback(
            raw,
            CInt(
                LIBUSB_HOTPLUG_EVENT_DEVICE_ARRIVED.rawValue
                    | LIBUSB_HOTPLUG_EVENT_DEVICE_LEFT.rawValue),
            CInt(LIBUSB_HOTPLUG_ENUMERATE.rawValue), LIBUSB_HOTPLUG_MATCH_ANY,
            LIBUSB_HOTPLUG_MATCH_ANY, LIBUSB_HOTPLUG_MATCH_ANY,
            { _, device, event, context in
                guard let device else { return 0 }
                USBContext.from(context)?.changed(device, event)
                return 0
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
        guard code == 0 else { throw USBProblem.library(code) }
        watches = true
    }

    /// The context outlives its callbacks: libusb_exit in `deinit` ends them.
    private static func from(_ pointer: UnsafeMutableRawPointer?) -> USBContext? {
        pointer.map { Unmanaged<USBContext>.fromOpaque($0).takeUnretainedValue() }
    }

    private func changed(_ device: OpaquePointer, _ event: libusb_hotplug_event) {
        if event == LIBUSB_HOTPLUG_EVENT_DEVICE_ARRIVED {
            guard devices[device] == nil, doubted[device] == nil else { return }
            libusb_ref_device(device)
            let description = Self.describe(device)
            devices[device] = description
            events.append(.arrived(description))
        } else {
            forget(device)
        }
    }

    /// The device seems to be gone, but the bus has not reported it; it counts as gone until the bus does, or until
    /// `settleDoubts`.
    func doubt(_ description: USBDeviceDescription, at now: ContinuousClock.Instant = .now) {
        guard let device = device(description),
            let description = devices.removeValue(forKey: device)
        else { return }
        doubted[device] = Doubt(device: description, until: now + Self.doubtLimit)
        events.append(.left(description))
    }

    /// When to call `settleDoubts`.
    var doubtDeadline: ContinuousClock.Instant? { doubted.values.map(\.until).min() }

    /// A doubted device that the bus still has counts as plugged in again.
    func settleDoubts(at now: ContinuousClock.Instant) {
        for (device, doubt) in doubted where doubt.until <= now {
            doubted[device] = nil
            devices[device] = doubt.device
            events.append(.arrived(doubt.device))
        }
    }

    private func forget(_ device: OpaquePointer) {
        if doubted.removeValue(forKey: device) != nil { return libusb_unref_device(device) }
        guard let description = devices.removeValue(forKey: device) else { return }
        libusb_unref_device(device)
        events.append(.left(description))
    }

    var present: [USBDeviceDescription] { Array(devices.values) }

    func device(_ description: USBDeviceDescription) -> OpaquePointer? {
        devices.first { $0.value.bus == description.bus && $0.value.number == description.number }?
            .key
    }

    func takeEvents() -> [Event] {
        guard !events.isEmpty else { return [] }
        defer { events.removeAll() }
        return events
    }
}

// MARK: - Waiting

extension USBContext {
    /// The descriptors that libusb wants polled; its timeouts are among them (a timerfd).
    func pollDescriptors() -> [pollfd] {
        guard descriptorsHaveChanged else { return descriptors }
        descriptorsHaveChanged = false
        descriptors.removeAll(keepingCapacity: true)
        guard let list = libusb_get_pollfds(raw) else { return descriptors }
        defer { libusb_free_pollfds(list) }
        var next = list
        while let entry = next.pointee {
            descriptors.append(
                pollfd(fd: entry.pointee.fd, events: entry.pointee.events, revents: 0))
            next += 1
        }
        return descriptors
    }

    /// Carries out what is ready, without waiting: transfers return, devices come and go.
    func handleEvents() {
        _ = relay_usb_handle_events_now(raw)
    }
}

// MARK: - Descriptions

extension USBContext {
    /// Made from the descriptors that the kernel has read; the device is not opened.
    private static func describe(_ device: OpaquePointer) -> USBDeviceDescription {
        var descriptor = libusb_device_descriptor()
        libusb_get_device_descriptor(device, &descriptor)
        // USB allows five hubs between the root hub and a device.
        let maximumDepth = 7
        let ports = [UInt8](unsafeUninitializedCapacity: maximumDepth) { buffer, count in
            let depth = libusb_get_port_numbers(device, buffer.baseAddress, CInt(maximumDepth))
            count = max(0, Int(depth))
        }
        var description = USBDeviceDescription(
            bus: libusb_get_bus_number(device), number: libusb_get_device_address(device),
            ports: ports, vendor: descriptor.idVendor, product: descriptor.idProduct)
        let folder = "/sys/bus/usb/devices/\(description.portPath)"
        description.serial = SystemFile.line("\(folder)/serial")
        description.manufacturer = SystemFile.line("\(folder)/manufacturer")
        description.productName = SystemFile.line("\(folder)/product")

        var configuration: UnsafeMutablePointer<libusb_config_descriptor>?
        guard libusb_get_active_config_descriptor(device, &configuration) == 0, let configuration
        else {
            description.isConfigured = false
            return description
        }
        defer { libusb_free_config_descriptor(configuration) }
        let value = configuration.pointee.bConfigurationValue
        for index in 0..<Int(configuration.pointee.bNumInterfaces) {
            guard let interface = configuration.pointee.interface?[index] else { continue }
            for setting in 0..<Int(interface.num_altsetting) {
                guard let found = interface.altsetting?[setting] else { continue }
                let own = "\(folder):\(value).\(found.bInterfaceNumber)"
                description.interfaces.append(
                    Self.interface(
                        found, driver: SystemFile.linkName("\(own)/driver"),
                        name: SystemFile.line("\(own)/interface")))
            }
        }
        return description
    }

    private static func interface(
        _ descriptor: libusb_interface_descriptor, driver: String?, name: String?
    ) -> USBDeviceDescription.Interface {
        let endpoints = (0..<Int(descriptor.bNumEndpoints)).compactMap { index in
            descriptor.endpoint.map { list in
                USBDeviceDescription.Endpoint(
                    address: list[index].bEndpointAddress,
                    kind: .init(rawValue: list[index].bmAttributes & 3) ?? .control,
                    // Bits 11 and 12 count extra transactions of interrupt endpoints.
                    packetBytes: Int(list[index].wMaxPacketSize & 0x7FF))
            }
        }
        return .init(
            number: descriptor.bInterfaceNumber, alternate: descriptor.bAlternateSetting,
            classCode: descriptor.bInterfaceClass, subclass: descriptor.bInterfaceSubClass,
            protocolCode: descriptor.bInterfaceProtocol, endpoints: endpoints,
            // usbfs is the driver of programs such as relayd itself.
            driver: driver == "usbfs" ? nil : driver, name: name)
    }
}

/// Small files in /sys.
enum SystemFile {
    /// The first line, without characters that a terminal might obey; nil when there is none.
    static func line(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        // A USB string has at most 126 characters, of up to 3 bytes each.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
            guard let base = buffer.baseAddress, fgets(base, CInt(buffer.count), file) != nil
            else { return nil }
            let clean = printable(String(cString: base).prefix { $0 != "\n" })
            return clean.isEmpty ? nil : clean
        }
    }

    /// A device's own text, without characters that a terminal might obey.
    static func printable(_ text: some StringProtocol) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map {
                    $0.properties.generalCategory == .control
                        || $0.properties.generalCategory == .format ? "?" : $0
                }))
    }

    /// The last part of what a symbolic link points to.
    static func linkName(_ path: String) -> String? {
        SymbolicLink.target(of: path)?.split(separator: "/").last.map { String($0) }
    }
}
