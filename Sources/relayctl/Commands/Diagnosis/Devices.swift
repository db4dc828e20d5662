import AccessoryLinks
import ArgumentParser
import ControlAPI

/// `relayctl devices`: what is plugged in, and how relayd would classify it.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List USB devices and serial lines, and what relayd would open for an address.",
        discussion: """
            No device is opened; the list shows what the kernel already knows about the devices. \
            relayd does not have to run. If it does, its rights decide what may be opened, because \
            relayd has to open the device, and the device that it is configured to use is named.

            Every device is listed with the address that opens it or with the reason why relayd \
            cannot open it. If a USB device may not be opened, the udev rule that would allow it \
            is printed. With an address, only devices of its kind are listed: the one that it \
            means is marked, and the others have the reason why not. If USB devices cannot be \
            listed at all, a line says so, and the exit code is 1.

            EXAMPLES
              relayctl devices
              relayctl devices usb:openxc
              relayctl devices 'usb:04e8:6860?aoa=switch&serial=R58M'
              relayctl devices serial:/dev/ttyUSB0
              relayctl devices --json | jq -r '.serial[].address'

            EXIT CODES
              0  done; with an address: exactly one device fits, and it may be opened
              1  with an address: no device fits, several do, or it may not be opened
              64 the command line is wrong
            """)

    @Argument(
        help:
            "An address as for relayd's --accessory: usb:…, serial:… or rfcomm:…; without a kind, USB."
    )
    var address: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        _ = try asked()
    }

    func run() async throws {
        let asked = try asked()
        let running = await running()
        var found = DeviceFindings(asked: asked, running: running?.accessory, seen: running?.seen)
        found.look()
        try output.show(String(decoding: APICoding.encode(found.list), as: UTF8.self)) {
            DevicesText(output).render(found)
        }
        if found.problem != nil { throw ExitCode(ExitStatus.notConnected.rawValue) }
    }

    /// The address a running relayd is set to, and the devices it sees. This command also works without
    /// one.
    private func running() async -> (accessory: String, seen: DeviceList)? {
        guard let client = try? socket.client(),
            let accessory = try? await client.status().value.accessory,
            let seen = try? await client.ask(DeviceList.self, Routes.devices).value
        else { return nil }
        return (accessory.address, seen)
    }

    private func asked() throws -> DeviceFindings.Asked? {
        guard let address else { return nil }
        do throws(AddressError) {
            return try DeviceFindings.Asked(typed: address)
        } catch {
            throw ValidationError(SafeText.clean(error.message))
        }
    }
}

/// The findings of `relayctl devices`; `DevicesText` shows them.
struct DeviceFindings {
    /// The address that was asked for.
    enum Asked {
        case usb(USBSelector)
        /// A tty, by its node.
        case tty(address: String, node: String)

        /// - Parameter text: An address as people type it: without a scheme it is USB, a path is a tty.
        init(typed text: String) throws(AddressError) {
            let lowercase = text.lowercased()
            if lowercase.hasPrefix("/") {
                self = .tty(address: "serial:\(text)", node: text)
            } else if lowercase.hasPrefix("\(SerialTransport.scheme):") {
                let node = try SerialTransport(AccessoryAddress(text)).deviceNode
                self = .tty(address: text, node: node ?? "")
            } else if lowercase.hasPrefix("\(RFCOMMTransport.scheme):") {
                let node = try RFCOMMTransport(AccessoryAddress(text)).deviceNode
                self = .tty(address: text, node: node ?? "")
            } else if let other = ["sim:", "tcp:"].first(where: { lowercase.hasPrefix($0) }) {
                throw AddressError(
                    "\"\(text)\" is not a device: \(other) needs none; expected usb:…, serial:… or rfcomm:…"
                )
            } else {
                self = .usb(try USBSelector(typed: text))
            }
        }
    }

    let asked: Asked?
    /// The address a running relayd is set to.
    let running: String?
    /// The devices it sees.
    let seen: DeviceList?
    /// nil when USB devices cannot be listed, or were not asked for.
    private(set) var usb: USBSurvey?
    private(set) var serial: [SerialSurvey.Device] = []
    /// Why USB devices cannot be listed, or the address that was asked for cannot be opened.
    private(set) var problem: LinkProblem?

    init(asked: Asked? = nil, running: String? = nil, seen: DeviceList? = nil) {
        (self.asked, self.running, self.seen) = (asked, running, seen)
    }

    /// Surveys the devices; blocks, but opens none.
    mutating func look() {
        var selector: USBSelector?
        if case .usb(let wanted) = asked { selector = wanted }
        do throws(LinkProblem) {
            // The device that a running relayd is set to matters only where no address was given.
            let survey = try USBSurvey.now(
                selector: selector, accessory: asked == nil ? usbAccessory : nil, judgedBy: seen)
            take(usb: survey, serial: seen?.serial ?? SerialSurvey(asService: true).devices)
        } catch {
            take(usb: nil, serial: seen?.serial ?? SerialSurvey(asService: true).devices)
            if ttyAsked == nil { problem = error }
        }
    }

    mutating func take(usb: USBSurvey?, serial: [SerialSurvey.Device]) {
        (self.usb, self.serial) = (usb, serial)
        problem = usb?.problem
        guard let node = ttyAsked?.node else { return }
        if let device = serial.first(where: { $0.node == node || $0.link == node }) {
            // Judged for whoever listed the device: relayd, or else this user.
            problem = device.reason.map {
                LinkProblem(.permissionDenied, $0, remedy: device.remedy ?? "")
            }
        } else {
            problem = SerialSurvey.problem(opening: node)
        }
    }

    var ttyAsked: (address: String, node: String)? {
        if case .tty(let address, let node) = asked { (address, node) } else { nil }
    }

    private var usbAccessory: USBSelector? {
        guard let running, running.hasPrefix("\(USBTransport.scheme):") else { return nil }
        return try? USBSelector(AccessoryAddress(running))
    }

    var list: DeviceList {
        var list = DeviceList(
            usb: usb?.document.devices ?? [], serial: serial, problem: problem)
        list.judgedFor = seen == nil ? "relayctl" : "relayd"
        list.accessory = running
        list.accessoryPort = usb?.accessory?.port
        return list
    }
}
