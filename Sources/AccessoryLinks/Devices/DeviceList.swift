/// What is plugged in: the answer to `GET /v1/devices`, and the JSON of `relayctl devices`.
package struct DeviceList: Codable, Sendable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// USB devices, without the hubs of the computer itself.
    package var usb: [USBSurvey.Document.Device]
    /// Ttys with a device behind them.
    package var serial: [SerialSurvey.Device]
    /// Why USB devices cannot be listed, or the address that was asked for cannot be opened.
    package var problem: String?
    /// What to do about it.
    package var remedy: String?
    /// From `relayctl devices` only: whose rights decide what may be opened, "relayd" or "relayctl".
    package var judgedFor: String?
    /// From `relayctl devices` only: the address that a running relayd is set to, and the port of the USB device
    /// that it means.
    package var accessory: String?
    package var accessoryPort: String?

    enum CodingKeys: String, CodingKey {
        case schema, usb, serial, problem, remedy, accessory
        case judgedFor = "judged_for"
        case accessoryPort = "accessory_port"
    }

    package init(
        usb: [USBSurvey.Document.Device] = [], serial: [SerialSurvey.Device] = [],
        problem: LinkProblem? = nil
    ) {
        self.usb = usb
        self.serial = serial
        self.problem = problem?.message
        self.remedy = problem?.remedy
    }

    /// Surveys what is plugged in; blocks, but opens no device.
    package static func survey() -> DeviceList {
        let serial = SerialSurvey().devices
        do throws(LinkProblem) {
            return DeviceList(usb: try USBSurvey.now().document.devices, serial: serial)
        } catch {
            return DeviceList(serial: serial, problem: error)
        }
    }
}
