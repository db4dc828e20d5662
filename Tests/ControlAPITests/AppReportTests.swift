import ControlAPI
import Testing

@Suite struct AppReportTests {
    private let time = Timestamp(millisecondsSince1970: 1_795_257_067_042)

    private var report: AppReport {
        var report = AppReport(
            app: AppStatus(id: 3, peer: "p", connectedAt: time, state: .registered))
        report.registration = RegistrationReport(requestedAt: time)
        report.hmi = [HMIStatusReport(at: time, level: "FULL")]
        report.permissions = [PermissionReport(rpc: "Show")]
        report.files.files = [FileReport(name: "icon")]
        report.subscriptions.vehicleData = [VehicleDatumReport(name: "rpm", isSubscribed: true)]
        report.menu.commands = [CommandReport(id: 1)]
        report.menu.subMenus = [SubMenuReport(id: 2, name: "More")]
        report.menu.choiceSets = [ChoiceSetReport(id: 4, choices: 2)]
        report.services = [ServiceReport(service: "video", session: 1, since: time)]
        report.pending = [
            PendingReport(rpc: "Show", correlationID: 5, from: "app", at: time, entry: 9)
        ]
        report.advice = [
            AdviceReport(
                code: "disallowed", at: time, lastAt: time, text: "t", remedy: "r", entry: 9)
        ]
        return report
    }

    @Test("a report survives its JSON") func roundTrip() throws {
        let bytes = try APICoding.encode(report)
        #expect(try APICoding.decode(AppReport.self, from: bytes) == report)
    }

    @Test("keys are snake_case") func keys() throws {
        let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
        for line in json.split(separator: "\n") {
            guard let key = line.split(separator: "\"").dropFirst().first, line.contains("\" : ")
            else { continue }
            #expect(key.allSatisfy { $0.isLowercase || $0 == "_" || $0.isNumber }, "\(key)")
        }
    }

    @Test("an answer about a permission survives its JSON, words of newer relayds included")
    func permission() throws {
        let answer = PermissionAnswer(
            app: 1, appName: "A", rpc: "Show", answer: MayIt(rawValue: "perhaps"), cause: "c",
            reason: "r", permission: PermissionReport(rpc: "Show"))
        let bytes = try APICoding.encode(answer)
        #expect(try APICoding.decode(PermissionAnswer.self, from: bytes) == answer)
    }
}
