import NIOCore
import Testing

@testable import RelayCore

@Suite("AppAdmission decides who may connect")
struct AppAdmissionTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func admission(_ change: (inout RelayConfiguration) -> Void) -> AppAdmission {
        var configuration = RelayConfiguration()
        change(&configuration)
        return AppAdmission(configuration: configuration)
    }

    private func peer(_ text: String) throws -> PeerAddress {
        try #require(PeerAddress(parsing: text))
    }

    @Test("up to the maximum connections become apps, then they are refused in words, then at once")
    func numbers() throws {
        var admission = admission {
            $0.maximumApps = 300
            $0.maximumSurplus = 1000
        }
        let app = try peer("10.0.0.7")
        #expect(admission.decide(about: app, apps: 299, surplus: 0, at: start) == .admit)
        #expect(admission.decide(about: app, apps: 300, surplus: 0, at: start) == .surplus)
        #expect(admission.decide(about: app, apps: 300, surplus: 999, at: start) == .surplus)
        #expect(
            admission.decide(about: app, apps: 300, surplus: 1000, at: start) == .refuse(.tooMany))
    }

    @Test("only the networks listed may connect; none listed means all")
    func networks() throws {
        let allowed = try Network(parsing: "192.168.0.0/16")
        var closed = admission { $0.allowedNetworks = [allowed] }
        #expect(
            try closed.decide(about: peer("192.168.3.4"), apps: 0, surplus: 0, at: start) == .admit)
        #expect(
            try closed.decide(about: peer("10.0.0.1"), apps: 0, surplus: 0, at: start)
                == .refuse(.notAllowed))
        #expect(closed.decide(about: nil, apps: 0, surplus: 0, at: start) == .admit)
        var open = admission { _ in }
        #expect(try open.decide(about: peer("10.0.0.1"), apps: 0, surplus: 0, at: start) == .admit)
    }

    @Test("changed while it runs, the next connection meets the new limits")
    func reconfigured() throws {
        var admission = admission { $0.connectionsPerSecond = 0 }
        let app = try peer("10.0.0.7")
        #expect(admission.decide(about: app, apps: 5, surplus: 0, at: start) == .admit)
        var configuration = RelayConfiguration()
        configuration.maximumApps = 5
        configuration.connectionsPerSecond = 1
        admission.reconfigure(configuration)
        #expect(admission.decide(about: app, apps: 5, surplus: 0, at: start) == .surplus)
        for _ in 1..<ConnectionRate.burstSeconds {
            #expect(admission.decide(about: app, apps: 4, surplus: 0, at: start) == .admit)
        }
        #expect(admission.decide(about: app, apps: 4, surplus: 0, at: start) == .refuse(.tooFast))
        configuration.allowedNetworks = [try Network(parsing: "192.168.0.0/16")]
        admission.reconfigure(configuration)
        #expect(
            admission.decide(about: app, apps: 0, surplus: 0, at: start) == .refuse(.notAllowed))
    }

    @Test("an address that reconnects without end is refused, others are not")
    func rate() throws {
        var admission = admission { $0.connectionsPerSecond = 2 }
        let (wild, calm) = try (peer("10.0.0.1"), peer("10.0.0.2"))
        let admitted = (0..<100).count { _ in
            admission.decide(about: wild, apps: 0, surplus: 0, at: start) == .admit
        }
        #expect(admitted == 40, "twenty seconds' worth at once")
        #expect(
            admission.decide(about: wild, apps: 0, surplus: 0, at: start) == .refuse(.tooFast))
        #expect(admission.decide(about: calm, apps: 0, surplus: 0, at: start) == .admit)
        let later = start + .seconds(1)
        let again = (0..<10).count { _ in
            admission.decide(about: wild, apps: 0, surplus: 0, at: later) == .admit
        }
        #expect(again == 2)
    }

    @Test("0 connections a second means any number")
    func noRate() throws {
        var rate = ConnectionRate(perSecond: 0)
        let wild = try peer("10.0.0.1")
        let all = (0..<10_000).allSatisfy { _ in rate.allow(wild, at: start) }
        #expect(all)
    }

    @Test("a machine's many IPv6 addresses count as one")
    func prefix() throws {
        var rate = ConnectionRate(perSecond: 1)
        for number in 1...20 {
            let isAllowed = try rate.allow(peer("2001:db8::\(number)"), at: start)
            #expect(isAllowed)
        }
        let next = try rate.allow(peer("2001:db8::ffff"), at: start)
        #expect(!next)
        let other = try rate.allow(peer("2001:db8:0:1::1"), at: start)
        #expect(other)
    }

    @Test("the memory of addresses is bounded, and those that rest are forgotten first")
    func bounded() throws {
        var rate = ConnectionRate(perSecond: 1)
        let wild = try peer("10.99.0.1")
        for _ in 0..<20 { _ = rate.allow(wild, at: start) }
        for number in 0..<5000 {
            _ = try rate.allow(
                peer("10.1.\(number / 250).\(number % 250)"), at: start + .seconds(1))
            _ = rate.allow(wild, at: start + .seconds(1))
        }
        #expect(rate.addresses <= ConnectionRate.maximumAddresses)
        let isAllowed = rate.allow(wild, at: start + .seconds(1))
        #expect(!isAllowed, "it was not forgotten")
    }
}

@Suite("LineLimiter keeps strangers out of the log")
struct LineLimiterTests {
    @Test("five lines in ten seconds, then the number of those that were withheld")
    func lines() {
        var limiter = LineLimiter()
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        let said = (0..<100).compactMap { _ in limiter.allow(at: start) }
        #expect(said == [0, 0, 0, 0, 0])
        #expect(limiter.allow(at: start + .seconds(10)) == 95)
        #expect(limiter.allow(at: start + .seconds(11)) == 0)
    }
}
