// What fault rules mean, and the error messages for those that mean nothing.

import NIOCore
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Fault rules are read as people write them")
struct FaultRuleTests {
    private func rule(
        _ filter: String, _ action: String, isReal: Bool = false, mayHarm: Bool = false
    ) throws(FaultRuleError) -> FaultRule {
        try FaultRule(
            filter: filter, action: action, mayHarmOthers: mayHarm, isHeadUnitReal: isReal)
    }

    @Test(
        "every action is understood, and written again as it was",
        arguments: [
            "delay 2s", "delay 2s jitter 500ms", "drop", "answer REJECTED",
            #"answer REJECTED "no \"space\" left""#, #"nak"#, "corrupt", "duplicate", "reorder",
            "truncate", "disconnect", "hold", "hold 3m", "rate 20KB/s", "rate 1500B/s",
            "rate 3MB/s",
        ])
    func actions(text: String) throws {
        let filter = text == "nak" ? "app:radio" : "app:radio rpc:PutFile"
        #expect(try rule(filter, text).action.description == text)
    }

    @Test("options stand behind the action, in any order")
    func options() throws {
        let rule = try rule(
            "rpc:Show", "delay 1.5s until 1m probability 30% from 10s count 5")
        #expect(rule.action == .delay(.milliseconds(1500), jitter: .zero))
        #expect(rule.probability == 0.3)
        #expect(rule.count == 5)
        #expect(rule.from == .seconds(10))
        #expect(rule.until == .minutes(1))
        #expect(try self.rule("rpc:Show", "drop probability 0.25").probability == 0.25)
        #expect(try self.rule("rpc:Show", "hold count 1").action == .hold(nil))
        #expect(
            try self.rule("rpc:Show", "answer rejected").action
                == .answer(code: "REJECTED", info: nil))
        #expect(try self.rule("rpc:Show", "rate 20KiB/s").action == .rate(bytesPerSecond: 20_480))
    }

    @Test(
        "an error says what was found, what is expected, and where",
        arguments: [
            ("rpc:Show", "", FaultRuleError.Part.action, 0..<0, "expected delay, drop"),
            ("rpc:Show", "dealy 2s", .action, 0..<5, "did you mean delay?"),
            ("rpc:Show", "delay", .action, 5..<5, "expected a time"),
            ("rpc:Show", "delay 2", .action, 6..<7, ""),
            ("rpc:Show", "delay fast", .action, 6..<10, "'fast' is no time up to 10m"),
            ("rpc:Show", "delay 11m", .action, 6..<9, "no time up to 10m"),
            ("rpc:Show", "delay 9m jitter 2m", .action, 0..<5, "together"),
            ("rpc:Show", "answer", .action, 6..<6, "expected a result code"),
            ("rpc:Show", "answer REJECTD", .action, 7..<14, "did you mean REJECTED?"),
            ("rpc:Show", "answer REJECTED \"no", .action, 16..<17, "never closed"),
            ("rpc:Show", "rate 20", .action, 5..<7, "such as 20KB/s"),
            ("rpc:Show", "rate 1B/s", .action, 5..<9, "from 250B/s"),
            ("rpc:Show", "drop probability 0", .action, 17..<18, "more than 0"),
            ("rpc:Show", "drop probability 101%", .action, 17..<21, "at most 100%"),
            ("rpc:Show", "drop count 0", .action, 11..<12, "from 1"),
            ("rpc:Show", "drop count 1 count 2", .action, 13..<18, "twice"),
            ("rpc:Show", "drop from 2s until 1s", .action, 0..<21, "later than from"),
            ("rpc:Show", "drop now", .action, 5..<8, "expected the end, or one of probability"),
            ("", "drop", .filter, 0..<0, "expected what the rule takes"),
            ("rcp:Show", "drop", .filter, 0..<3, "did you mean 'rpc'?"),
            ("rpc:Show !ok", "drop", .filter, 0..<12, "ok asks for the answer"),
            ("ms>200", "drop", .filter, 0..<6, "ms asks for the answer"),
            ("n>5", "drop", .filter, 0..<3, "use count"),
            ("priority:warning", "drop", .filter, 0..<16, "priority is decided"),
            ("kind:event", "drop", .filter, 0..<10, "nothing that passes"),
            ("@slow", "drop", .filter, 0..<5, "relayctl fills in saved filters"),
            ("rpc:Show", "nak", .filter, 0..<8, "nak refuses StartService"),
            ("from:unit rpc:Show", "answer REJECTED", .filter, 0..<18, "never takes"),
        ])
    func errors(
        filter: String, action: String, part: FaultRuleError.Part, range: Range<Int>, words: String
    ) throws {
        guard action != "delay 2" else {
            // A number alone is milliseconds, as in filters.
            #expect(try rule(filter, action).action == .delay(.milliseconds(2), jitter: .zero))
            return
        }
        let error = #expect(throws: FaultRuleError.self) { try rule(filter, action) }
        #expect(error?.part == part)
        #expect(error?.range == range)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test("a rule that could hurt all apps of a real head unit says so, or is refused")
    func harm() throws {
        for action in ["corrupt", "truncate"] {
            #expect(throws: Never.self) { try rule("rpc:Show", action) }
            let error = #expect(throws: FaultRuleError.self) {
                try rule("rpc:Show", action, isReal: true)
            }
            #expect(error?.message.contains("--may-harm-others") == true)
            #expect(throws: Never.self) {
                try rule("rpc:Show", action, isReal: true, mayHarm: true)
            }
            #expect(throws: Never.self) { try rule("from:unit rpc:Show", action, isReal: true) }
        }
        #expect(throws: Never.self) { try rule("rpc:Show", "drop", isReal: true) }
        #expect(!Switchboard.isReal("sim:"))
        #expect(!Switchboard.isReal("replay:drive.pcapng"))
        #expect(Switchboard.isReal("tcp:192.168.1.5:12345"))
    }

    @Test("faults of the link have words of their own")
    func linkFaults() throws {
        #expect(try FaultRule.link("unplug") == nil)
        let freeze = try #require(try FaultRule.link("freeze 5s"))
        #expect(freeze.action == .hold(.seconds(5)))
        #expect(freeze.until == .seconds(5))
        #expect(try FaultRule.link("slow 20KB/s")?.action == .rate(bytesPerSecond: 20_000))
        #expect(try FaultRule.link("half-open until 1m")?.until == .minutes(1))
        for (text, words, range) in [
            ("burn", "no fault of the link is called 'burn'", 0..<4),
            ("freeze", "expected for how long", 0..<6),
            ("freeze soon", "no time", 7..<11),
            ("slow fast", "no rate", 5..<9),
            ("unplug now", "stands alone", 0..<6),
            ("slow 20KB/s count 5", "no probability, count or from", 0..<4),
        ] {
            let error = #expect(throws: FaultRuleError.self) { try FaultRule.link(text) }
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            #expect(error?.range == range, "\(text)")
        }
    }
}
