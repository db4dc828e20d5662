// Apps of relayd's own that are coming or going, at a head unit that takes its time.

import ControlAPI
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import relayd

@Suite("Apps of relayd's own that come and go")
struct OwnAppsTests {
    @Test("an app that has left can come again at once, each time as a new one")
    func again() async throws {
        let times = 200
        try await DriveBench.run { bench in
            let heard = Task { try await bench.answerAll() }
            for time in 1...times {
                let (report, isNew) = try await bench.driving.register(
                    OwnAppRequest(name: "Tester"), bench.context)
                #expect(isNew && report.app == time)
                let left = try await bench.driving.register(
                    OwnAppRequest(name: "Tester", leave: true), bench.context)
                #expect(left.report.summary == "\"Tester\" unregistered and left")
            }
            await bench.headUnit.close()
            #expect(try await heard.value.count { $0 == .registerAppInterface } == times)
        }
    }

    @Test("the name of an app that is leaving is free when it has left, and not before")
    func leaving() async throws {
        try await DriveBench.run { bench in
            try await bench.register("Tester", session: 1)
            let (left, goodbye) = try await bench.beginToLeave("Tester")
            await bench.expectComingOrGoing("Tester")
            await bench.expectComingOrGoing("Tester", leave: true)
            try await bench.letGo(goodbye)
            #expect(try await left.value.app == nil)
            try await bench.register("Tester", session: 2)
        }
    }

    @Test("so is that of an app that ends because driving was turned off")
    func ending() async throws {
        try await DriveBench.run { bench in
            try await bench.register("Tester", session: 1)
            bench.drive.isOn = false
            _ = try await bench.goodbye()
            bench.drive.isOn = true
            await bench.expectComingOrGoing("Tester")
            await bench.expectComingOrGoing("Tester", leave: true)
        }
    }

    @Test("an app that is leaving takes one place, not two")
    func places() async throws {
        try await DriveBench.run { bench in
            for number in 1..<OwnApps.maximum {
                try await bench.register("App \(number)", session: UInt8(number))
            }
            let (left, goodbye) = try await bench.beginToLeave("App 1")
            try await bench.register("App 8", session: 8)
            let error = await #expect(throws: APIError.self) {
                try await bench.driving.register(OwnAppRequest(name: "App 9"), bench.context)
            }
            #expect(error?.error.message.hasPrefix("relayd is 8 apps already: App 1, ") == true)
            try await bench.letGo(goodbye)
            _ = try await left.value
            try await bench.register("App 9", session: 9)
        }
    }

    @Test("a sample app that has only begun counts once the head unit has taken it")
    func sample() async throws {
        try await DriveBench.run { bench in
            try await bench.driving.startSample("Tester", appID: "tester", bench.context)
            let isTaken = Atomic(false)
            async let registered = {
                let (report, isNew) = try await bench.driving.register(
                    OwnAppRequest(name: "Tester"), bench.context)
                let wasTaken = isTaken.load(ordering: .acquiring)
                #expect(wasTaken && report.app == 1 && !isNew)
            }()
            try await bench.headUnit.grant(session: 1)
            let registration = try await bench.headUnit.next()
            #expect(registration.function == .registerAppInterface)
            isTaken.store(true, ordering: .releasing)
            try await bench.headUnit.answer(registration)
            try await registered
        }
    }

    @Test("whoever stops waiting for a sample app does not end it")
    func impatience() async throws {
        try await DriveBench.run { bench in
            try await bench.driving.startSample("Tester", appID: "tester", bench.context)
            let asked = Task {
                _ = try await bench.driving.register(
                    OwnAppRequest(name: "Tester"), bench.context)
            }
            asked.cancel()
            await #expect(throws: APIError.self) { try await asked.value }
            try await bench.headUnit.grant(session: 1)
            try await bench.headUnit.answer(bench.headUnit.next())
            let (report, isNew) = try await bench.driving.register(
                OwnAppRequest(name: "Tester"), bench.context)
            #expect(report.app == 1 && !isNew)
        }
    }

    @Test("a sample app that the head unit refuses is refused to those who wait for it, too")
    func refusedSample() async throws {
        try await DriveBench.run { bench in
            let heard = Task { try await bench.answerAll { $0.refusal } }
            try await bench.driving.startSample("Tester", appID: "tester", bench.context)
            let error = await #expect(throws: APIError.self) {
                try await bench.driving.register(OwnAppRequest(name: "Tester"), bench.context)
            }
            #expect(error?.error.code == .conflict)
            #expect(error?.error.message.contains("DISALLOWED") == true)
            await bench.headUnit.close()
            // What relayd says for the app that failed may come too late to be answered.
            _ = await heard.result
        }
    }
}

extension Frame {
    /// The head unit's answer DISALLOWED to this request.
    fileprivate var refusal: Frame? {
        guard let function, let header = rpcHeader else { return nil }
        return .rpc(
            session: sessionID, .response, function, correlation: header.correlationID,
            json: #"{"success":false,"resultCode":"DISALLOWED"}"#)
    }
}
