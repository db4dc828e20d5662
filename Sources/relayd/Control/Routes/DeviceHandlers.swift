package import AccessoryLinks
import ControlAPI

/// Lists the devices that are plugged in, as relayd itself sees them: with its user, groups and
/// sandbox.
package struct DeviceHandlers: Sendable {
    private let survey: @Sendable () async -> DeviceList

    package init(survey: @escaping @Sendable () async -> DeviceList = Self.surveyOnItsThread) {
        self.survey = survey
    }

    /// Runs one survey after the other, off all event loops. Created by the first survey.
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
