import ControlAPI
import Testing

@testable import relayctl

@Suite("PermissionText")
struct PermissionTextTests {
    private func headline(_ hmi: [HMIStatusReport]) -> String? {
        var report = AppReport(app: Samples.registeredApp)
        report.hmi = hmi
        var (allowed, refused) = (PermissionReport(rpc: "Show"), PermissionReport(rpc: "Speak"))
        (allowed.answer, refused.answer) = (.yes, .no)
        report.permissions = [allowed, refused]
        return PermissionText(width: 200).render(report).split(separator: "\n").first
            .map(String.init)
    }

    @Test("the list says at which level it holds, and why that is NONE")
    func level() throws {
        let time = Timestamp(millisecondsSince1970: 0)
        let full = HMIStatusReport(at: time, level: "FULL")
        let unnamed = HMIStatusReport(at: time)
        #expect(headline([full, unnamed])?.hasSuffix(" may use 1 of 2 RPCs in FULL") == true)
        #expect(
            headline([])?.hasSuffix(" may use 1 of 2 RPCs before its first OnHMIStatus") == true)
        #expect(
            headline([unnamed, full])?.hasSuffix(
                " may use 1 of 2 RPCs in NONE: its newest OnHMIStatus names no known level") == true
        )
    }
}
