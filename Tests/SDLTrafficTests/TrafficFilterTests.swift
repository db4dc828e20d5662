import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct TrafficFilterTests {
    /// Two apps: Music sends a Show that fails and a PutFile, Maps streams.
    private var entries: [TrafficEntry] {
        var talk = Dialogue()
        talk.opens()
        talk.registers(name: "Music", appID: "m-1")
        talk.request(.show, 2)
        talk.response(.show, 2, #"{"success":false,"resultCode":"REJECTED"}"#)
        talk.rpc(.fromApp, .request, .putFile, 3, "{}", bulk: ByteBuffer(bytes: [1]))
        talk.app = AppID(rawValue: 2)
        talk.session = 2
        talk.request(.registerAppInterface, 1, #"{"appName":"Maps","appID":"m-2"}"#)
        talk.control(.fromApp, .heartbeat, .control)
        talk.receive(.linkClosed(reason: "cut", time: talk.time))
        return talk.entries
    }

    /// The entries that pass, in words.
    private func shown(_ filter: TrafficFilter) -> [String] {
        entries.filter(filter.accepts).map { entry in
            switch entry.content {
            case .rpc(let rpc): "\(rpc.message.type.name) \(rpc.message.functionName)"
            case .control(let control): control.type.name
            default: entry.content.kind
            }
        }
    }

    @Test("without choices everything passes")
    func everything() throws {
        #expect(shown(.everything).count == entries.count)
        #expect(shown(try TrafficFilter()).count == entries.count)
    }

    @Test(
        "an app is chosen by name, app ID or connection",
        arguments: ["Maps", "maps", "M-2", "#2", "2"])
    func byApp(app: String) throws {
        // Entries from before an app's registration can only be found by its connection.
        #expect(
            shown(try TrafficFilter(apps: [app])) == [
                "event", "request RegisterAppInterface", "Heartbeat", "event",
            ])
    }

    @Test("functions are chosen by name, whatever their case, with their responses")
    func byFunction() throws {
        #expect(
            shown(try TrafficFilter(functions: ["show"])) == [
                "event", "event", "request Show", "response Show", "event",
            ])
    }

    @Test("functions are left out with an exclamation mark")
    func withoutFunction() throws {
        let shown = shown(try TrafficFilter(functions: ["!RegisterAppInterface", "!PutFile"]))
        #expect(!shown.contains { $0.hasSuffix("RegisterAppInterface") || $0.hasSuffix("PutFile") })
        #expect(shown.contains("request Show"))
        #expect(shown.contains("Heartbeat"))
    }

    @Test("services are chosen by number's name")
    func byService() throws {
        #expect(
            shown(try TrafficFilter(services: [.bulk])) == [
                "event", "event", "request PutFile", "event",
            ])
    }

    @Test("at warning only what went wrong is shown")
    func byPriority() throws {
        #expect(
            shown(try TrafficFilter(minimumPriority: .warning)) == ["response Show", "event"])
        #expect(!shown(try TrafficFilter(minimumPriority: .info)).contains("Heartbeat"))
    }

    @Test("an unknown function is refused with a suggestion")
    func unknownFunction() {
        let error = #expect(throws: TrafficFilterError.self) {
            try TrafficFilter(functions: ["!OnHMIStats"])
        }
        #expect(error?.description.hasSuffix("did you mean 'OnHMIStatus'?") == true)
        let far = #expect(throws: TrafficFilterError.self) {
            try TrafficFilter(functions: ["Quux"])
        }
        #expect(far?.didYouMean == nil)
    }

    @Test("who looks back gets what was chosen, without what happened to link and apps")
    func strict() throws {
        func strictly(_ filter: TrafficFilter) -> [String] {
            var filter = filter
            filter.isStrict = true
            return shown(filter)
        }
        #expect(
            strictly(try TrafficFilter(functions: ["show"])) == ["request Show", "response Show"])
        #expect(strictly(try TrafficFilter(services: [.bulk])) == ["request PutFile"])
        // An app's arrival or departure concerns the app; the link's end does not.
        #expect(
            strictly(try TrafficFilter(apps: ["Maps"])) == [
                "request RegisterAppInterface", "Heartbeat",
            ])
        #expect(strictly(try TrafficFilter(apps: ["1"])).count { $0 == "event" } == 1)
        let everything = try TrafficFilter(functions: ["!Show"])
        #expect(strictly(everything) == shown(everything), "leaving out one chooses no other")
    }

    @Test("that frames went by unseen is shown whatever is asked for") func missed() throws {
        var talk = Dialogue()
        talk.opens()
        talk.receive(.missed(frames: 3, bytes: 30))
        var filter = try TrafficFilter(apps: ["Maps"], functions: ["Show"], services: [.bulk])
        filter.isStrict = true
        #expect(talk.entries.filter(filter.accepts).count == 1)
    }
}
