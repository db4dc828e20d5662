package import AccessoryLinks
import ControlAPI

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
