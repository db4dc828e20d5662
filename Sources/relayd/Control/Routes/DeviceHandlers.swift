package import AccessoryLinks
import ControlAPI

/// The answer to `GET /v1/devices`.
package struct DeviceList: Codable, Sendable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// USB devices, hubs of the computer itself left out.
    package var usb: [USBSurvey.Document.Device]
    /// Ttys with a device behind them.
    package var serial: [SerialSurvey.Device]
    /// Why USB devices cannot be listed, and what to do.
    package var problem: String?
    package var remedy: String?

    package init(
        usb: [USBSurvey.Document.Device] = [], serial: [SerialSurvey.Device] = [],
        problem: LinkProblem? = nil
    ) {
        self.usb = usb
        self.serial = serial
        self.problem = problem?.message
        self.remedy = problem?.remedy
    }

    /// Looks around; blocks, but opens no device.
    package static func survey() -> DeviceList {
        let serial = SerialSurvey().devices
        do throws(LinkProblem) {
            return DeviceList(usb: try USBSurvey.now().document.devices, serial: serial)
        } catch {
            return DeviceList(serial: serial, problem: error)
        }
    }
}

/// Answers what is plugged in, as relayd itself sees it: its user, its groups, its sandbox.
package struct DeviceHandlers: Sendable {
    private let survey: @Sendable () async -> DeviceList

    package init(survey: @escaping @Sendable () async -> DeviceList = Self.surveyOnItsThread) {
        self.survey = survey
    }

    /// One survey after the other, beside all event loops. There from the first one on.
    private static let thread = SerialThread(named: "usb survey")

    @Sendable
    package static func surveyOnItsThread() async -> DeviceList {
        await withCheckedContinuation { found in
            thread.async { found.resume(returning: .survey()) }
        }
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.devices) { _, _ in try ControlResponse.json(await survey()) }
    }
}
