import CFiles
import ControlAPI
import NIOCore
import NIOHTTP1

/// Answers to the requests on the control socket, one function per request.
///
/// `ControlResponder` passes requests in; the rest of relayd is asked for a snapshot, facts, advice
/// and messages, and to perform actions.
struct ControlHandlers: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    let apps: AppHandlers
    let messages: MessageHandlers
    let events: EventHandlers
    let reports: ReportHandlers
    let writes: WriteHandlers
    let specification: SpecificationHandlers
    let devices: DeviceHandlers
    let records: RecordHandlers
    let vehicle: VehicleHandlers
    let driving: DriveHandlers
    let faults: FaultHandlers
    let scenarios: ScenarioHandlers
    /// Whether anybody may drive the conversation; `ControlResponder` asks it.
    let drive: DriveSwitch
    let dashboard: DashboardEndpoint

    /// Connects every entry of `Routes.all` to its function.
    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.index) { request, _ in
            try DashboardPage.isWanted(request) ? DashboardPage.page : index()
        }
        routes.get(Routes.openAPI) { _, _ in
            ControlResponse(
                .ok, .ofMoment("application/json"),
                body: .whole(ByteBuffer(relay_openapi_description())))
        }
        routes.get(Routes.status) { _, _ in try await statusNow() }
        routes.get(Routes.health) { _, _ in try await health() }
        apps.addRoutes(to: &routes)
        messages.addRoutes(to: &routes)
        events.addRoutes(to: &routes)
        reports.addRoutes(to: &routes)
        writes.addRoutes(to: &routes)
        specification.addRoutes(to: &routes)
        devices.addRoutes(to: &routes)
        records.addRoutes(to: &routes)
        vehicle.addRoutes(to: &routes)
        driving.addRoutes(to: &routes)
        faults.addRoutes(to: &routes)
        scenarios.addRoutes(to: &routes)
        dashboard.addRoutes(to: &routes)
        DashboardPage.addRoutes(to: &routes, drive)
    }

    func index() throws -> ControlResponse {
        var response = try ControlResponse.json(RouteList(routes: Routes.all))
        // Browsers get another answer.
        response.headers.add(name: "Vary", value: "Accept")
        return response
    }

    func statusNow() async throws -> ControlResponse {
        try .json(try await status())
    }

    func health() async throws -> ControlResponse {
        let report = HealthReport(try await status())
        return try .json(report, status: report.health == .ok ? .ok : .serviceUnavailable)
    }
}
