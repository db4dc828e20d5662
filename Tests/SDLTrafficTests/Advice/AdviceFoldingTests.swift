// How often advice is given, and how much of it is kept.

import RelayCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import SDLTraffic
import Synchronization
import Testing

@Suite struct AdviceFoldingTests {
    @Test("the same fault is told once a minute and counted meanwhile, per app and cause")
    func limited() throws {
        let told = Mutex<[String]>([])
        var talk = Dialogue(validator: .builtIn)
        talk.starts(level: "NONE")
        for _ in 0..<30 {
            talk.request(.show, 5)
            talk.response(.show, 5, #"{"success":false,"resultCode":"DISALLOWED"}"#)
            talk.silence(3000)
        }
        let advisor = advice(on: talk.entries) { advice in
            told.withLock { $0.append(advice.code.rawValue) }
        }
        // 90 s of it: reported at the beginning and after a minute.
        #expect(told.withLock { $0 } == ["request_in_none", "request_in_none"])
        let kept = advisor.advice(about: AppID(rawValue: 1))
        #expect(kept.map(\.count) == [30])
        #expect(advisor.counts()[.requestInNone] == 30)
        #expect(kept.first?.lastTime ?? WallTime(nanoseconds: 0) > kept.first?.time ?? talk.time)
    }

    @Test("what goes on is told after 1, 2, 4, … minutes; after five quiet minutes it is new")
    func toldEverMoreRarely() {
        let told = Mutex<[Int]>([])
        var talk = Dialogue(validator: .builtIn)
        talk.starts(level: "NONE")
        for _ in 0..<(16 * 60) {
            talk.fails(.show, "DISALLOWED")
            talk.silence(1000)
        }
        talk.silence(5 * 60_000)
        talk.fails(.show, "DISALLOWED")
        let advisor = advice(on: talk.entries) { advice in
            told.withLock { $0.append(advice.count) }
        }
        #expect(told.withLock { $0 } == [1, 61, 181, 421, 901, 961])
        let kept = advisor.advice(about: AppID(rawValue: 1))
        #expect(kept.count == 1 && kept.first?.count == 961)
        #expect(
            kept.first?.time.nanoseconds == talk.entries.first { $0.isFailure }?.time.nanoseconds)
    }

    @Test("file names, which apps choose, neither make advice new nor stay in memory")
    func longNames() async {
        await onOwnThread {
            var talk = Dialogue(validator: .builtIn)
            talk.starts()
            let length = Effort.rounds(2_000_000, orQuickly: 100_000)
            for number in 0..<12 {
                let name = "\(number)" + String(repeating: "x", count: length)
                talk.putsFile(#"{"syncFileName":"\#(name)"}"#, bytes: "")
                talk.fails(.putFile, name)
                let refusal = #"{"success":false,"resultCode":"\#(name)"}"#
                talk.response(.show, Int32(number + 900), refusal)
                let registration = #"{"appName":"\#(name)","appID":"\#(name)"}"#
                talk.request(.registerAppInterface, 70, registration)
                talk.response(.registerAppInterface, 70, refusal)
                talk.notification(.onAppInterfaceUnregistered, #"{"reason":"\#(name)"}"#)
            }
            let advisor = advice(on: talk.entries)
            let all = advisor.recent() + advisor.advice(about: AppID(rawValue: 1))
            #expect(!all.isEmpty)
            for advice in all {
                #expect(advice.cause.utf8.count <= 110 && advice.text.utf8.count <= 510)
                #expect(advice.appName?.utf8.count ?? 0 <= 110)
            }
            let files = all.filter { $0.code == .putFileLength }
            // Each is sent twice, and kept in two lists.
            #expect(files.map(\.count) == [24, 24])
        }
    }

    @Test("the last 20 pieces are kept per app, and those of apps that left among the latest")
    func kept() {
        var talk = Dialogue(validator: .builtIn)
        talk.starts()
        for number in 0..<30 {
            talk.fails(FunctionID.all[number].id, "APPLICATION_NOT_REGISTERED")
        }
        let advisor = advice(on: talk.entries)
        let about = advisor.advice(about: AppID(rawValue: 1))
        #expect(about.count == TrafficAdvisor.keptPerApp)
        #expect(about.last?.text.contains(FunctionID.all[29].name) == true)
        talk.receive(.appClosed(AppID(rawValue: 1), reason: "left", time: talk.time))
        let later = advice(on: talk.entries)
        #expect(later.advice(about: AppID(rawValue: 1)).isEmpty)
        #expect(later.recent().count > TrafficAdvisor.keptPerApp)
    }
}

extension TrafficEntry {
    /// Whether the entry is a failed response.
    fileprivate var isFailure: Bool {
        if case .rpc(let rpc) = content { rpc.outcome?.success == false } else { false }
    }
}
