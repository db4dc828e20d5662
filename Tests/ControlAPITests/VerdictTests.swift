import ControlAPI
import Testing

@Suite struct VerdictTests {
    private func verdict(
        _ accessory: AccessoryStatus = Samples.accessory(),
        _ server: ServerStatus = Samples.listening,
        _ apps: [AppStatus] = []
    ) -> Verdict {
        Verdict(accessory: accessory, server: server, apps: apps)
    }

    @Test("an open head unit and a listening server are well, even without apps")
    func idleBench() {
        #expect(verdict().health == .ok)
        #expect(
            verdict().summary
                == "head unit open (sim:), no app connected, listening on 127.0.0.1:2776")
    }

    @Test("a head unit that said it is off is not connected, although its link is open")
    func saidOff() {
        var accessory = Samples.accessory()
        accessory.saidOff = "IGNITION_OFF"
        #expect(verdict(accessory).health == .notConnected)
        #expect(verdict(accessory).summary.hasPrefix("the head unit said IGNITION_OFF (sim:)"))
    }

    @Test(
        "apps are counted in words",
        arguments: [
            ([AppState.registered], "1 app registered"),
            ([.registered, .registered], "2 apps registered"),
            ([.connected, .sessionOpen], "2 apps connected"),
            ([.connected, .registered], "1 of 2 apps registered"),
        ])
    func countsApps(states: [AppState], words: String) {
        let apps = states.enumerated().map { Samples.app($0, $1) }
        #expect(verdict(apps: apps).summary.contains(", \(words), "))
    }

    private func verdict(apps: [AppStatus]) -> Verdict {
        verdict(Samples.accessory(), Samples.listening, apps)
    }

    @Test("a missing head unit is not connected, and the reason is in the sentence")
    func missingHeadUnit() {
        let reason = AccessoryReason(
            code: "not_found", message: "no such\ndevice", remedy: "plug it in")
        let result = verdict(Samples.accessory(.waiting, reason: reason))
        #expect(result.health == .notConnected)
        #expect(
            result.summary.hasPrefix(
                "waiting for the head unit (sim:: no such device → plug it in), "))
    }

    @Test("a head unit that has not called yet is not connected, and nothing is wrong")
    func listening() {
        let result = verdict(Samples.accessory(.listening))
        #expect(result.health == .notConnected)
        #expect(result.summary.hasPrefix("waiting for the head unit to connect (sim:), "))
    }

    @Test("a server that cannot listen is not connected, whatever the head unit does")
    func deafServer() {
        let server = ServerStatus(state: .failed, reason: "127.0.0.1:2776: address already in use")
        #expect(verdict(Samples.accessory(), server).health == .notConnected)
        #expect(
            verdict(Samples.accessory(), server).summary.hasSuffix(
                "not listening for apps: 127.0.0.1:2776: address already in use"))
    }

    @Test("of several endpoints the sentence names one and counts the others")
    func severalEndpoints() {
        let server = ServerStatus(
            state: .listening, endpoints: ["127.0.0.1:2776", "10.0.0.2:2776", "[::1]:2776"])
        #expect(
            verdict(Samples.accessory(), server).summary.hasSuffix(
                "listening on 127.0.0.1:2776 and 2 other addresses"))
    }
}
