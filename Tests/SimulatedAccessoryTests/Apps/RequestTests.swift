import NIOCore
import SDLProtocol
import SimulatedAccessory
import Testing

@Suite struct RequestTests {
    private func registered(_ options: [String: String] = [:]) throws -> PaperLink {
        var link = try PaperLink(options)
        _ = try link.registers("A", appID: "1")
        _ = link.passes(.seconds(1))
        return link
    }

    @Test("more JSON than any RPC has is refused without being read")
    func hugeJSON() throws {
        var link = try registered(["lenient": "on"])
        func show(_ length: Int) -> String {
            #"{"mainField1":"\#(String(repeating: "x", count: length))"}"#
        }
        let wrapping = show(0).utf8.count
        let most = 256 << 10
        #expect(link.requests(.show, show(most - wrapping)).map(\.result) == ["SUCCESS"])
        #expect(link.requests(.show, show(most + 1 - wrapping)).map(\.result) == ["INVALID_DATA"])
    }

    @Test(
        "every request of the specification is answered exactly once, now or in time",
        arguments: ["on", "off"])
    func everyRequest(lenient: String) throws {
        let requests = FunctionID.all.map(\.id).filter {
            $0.rawValue & 0x8000 == 0 && $0 != .genericResponse && $0 != .unregisterAppInterface
        }
        for function in requests {
            var link = try registered(["lenient": lenient])
            var heard = link.requests(function, #"{"maxDuration":500,"samplingRate":"16KHZ"}"#)
            while let deadline = link.accessory.nextDeadline {
                link.now = deadline
                heard += answers(link.accessory.advance(to: deadline))
            }
            let responses = heard.filter { $0.type == .response }
            #expect(responses.map(\.function) == [function])
            #expect(responses.first?.correlationID == 7)
            #expect(responses.first?.result != nil)
        }
    }

    @Test("malformed parameters are INVALID_DATA, a negative correlation ID is INVALID_ID")
    func malformed() throws {
        var link = try registered()
        #expect(link.requests(.show, "{\"a\":").map(\.result) == ["INVALID_DATA"])
        #expect(link.requests(.show, correlationID: -2).map(\.result) == ["INVALID_ID"])
        #expect(link.requests(.addCommand).map(\.result) == ["INVALID_DATA"])
        // JSON size beyond the message.
        #expect(
            try link.says(hex: "51070001 0000000e 00000063  0000000d 00000001 000000ff 7b7d")
                .count == 1)
        #expect(try link.says(hex: "51070001 00000002 00000064 7b7d").isEmpty)
        #expect(link.accessory.counters.malformedMessages == 1)
    }

    @Test("vehicle data flows only while somebody is subscribed")
    func vehicleData() throws {
        var link = try registered()
        #expect(link.accessory.nextDeadline == nil)
        let answer = try #require(
            link.requests(.subscribeVehicleData, #"{"speed":true,"gps":true,"rpm":false}"#).first)
        #expect(answer.result == "SUCCESS")
        let speed = try #require(answer.parameters.object("speed"))
        #expect(speed.string("dataType") == "VEHICLEDATA_SPEED")
        #expect(speed.string("resultCode") == "SUCCESS")
        #expect(answer.parameters.object("rpm") == nil)
        #expect(link.accessory.nextDeadline == link.now + .seconds(1))

        let data = try #require(answers(link.passes(.seconds(1))).first)
        #expect(data.function == .onVehicleData && data.type == .notification)
        #expect(data.parameters.double("speed") != nil)
        #expect(data.parameters.object("gps")?.double("latitudeDegrees") != nil)
        #expect(answers(link.passes(.seconds(60))).count == 1, "nothing is caught up")

        let again = link.requests(.subscribeVehicleData, #"{"speed":true}"#)
        #expect(again.map(\.result) == ["IGNORED"])
        let some = link.requests(.subscribeVehicleData, #"{"rpm":true,"myKey":true}"#)
        #expect(some.first?.result == "WARNINGS")
        let read = link.requests(.getVehicleData, #"{"vin":true,"speed":true}"#)
        #expect(read.first?.parameters.string("vin")?.count == 17)

        _ = link.requests(
            .unsubscribeVehicleData, #"{"speed":true,"gps":true,"rpm":true}"#)
        #expect(link.accessory.nextDeadline == nil)
    }

    @Test("a session that ends takes its subscriptions along")
    func subscriptionsEnd() throws {
        var link = try PaperLink()
        let grant = try link.opensSession()
        _ = link.requests(.registerAppInterface, registration("A", appID: "1"))
        _ = link.passes(.seconds(1))
        _ = link.requests(.subscribeVehicleData, #"{"speed":true}"#)
        #expect(link.accessory.nextDeadline != nil)
        _ = link.says(.endService(version: 5, sessionID: 1, hashID: grant.hashID))
        #expect(link.accessory.nextDeadline == nil)
    }

    @Test("audio pass-thru sends sound on the bulk service until it is ended")
    func audioPassThru() throws {
        var link = try registered()
        let parameters = """
            {"samplingRate":"16KHZ","maxDuration":60000,"bitsPerSample":"16_BIT","audioType":"PCM"}
            """
        let begun = link.requests(.performAudioPassThru, parameters)
        #expect(begun.statuses == ["1 FULL NOT_AUDIBLE NOT_STREAMABLE HMI_OBSCURED"])
        let frames = link.passes(.milliseconds(200))
        #expect(frames.map(\.service) == [.bulk])
        #expect(answers(frames).first?.bulkBytes == 6400)
        let ended = link.requests(.endAudioPassThru, correlationID: 8)
        #expect(
            ended.map(\.function) == [.endAudioPassThru, .performAudioPassThru, .onHMIStatus])
        #expect(ended.prefix(2).map(\.correlationID) == [8, 7])
        #expect(link.accessory.nextDeadline == nil)
    }

    @Test("capabilities are told, and what the car lacks is refused")
    func capabilities() throws {
        var link = try registered()
        let video = link.requests(
            .getSystemCapability, #"{"systemCapabilityType":"VIDEO_STREAMING"}"#)
        let capability = video.first?.parameters.object("systemCapability")
        #expect(capability?.object("videoStreamingCapability") != nil)
        let seats = link.requests(
            .getSystemCapability, #"{"systemCapabilityType":"SEAT_LOCATION"}"#)
        #expect(seats.map(\.result) == ["UNSUPPORTED_RESOURCE"])
    }

    @Test("messages above the MTU are cut into frames of at most mtu - 13 bytes")
    func smallMTU() throws {
        var link = try PaperLink(["mtu": "512"])
        let grant = try link.opensSession()
        let frames = link.says(
            .rpc(
                version: 5, sessionID: grant.sessionID, messageID: 1, type: .request,
                functionID: FunctionID.registerAppInterface.rawValue, correlationID: 1,
                json: registration("A", appID: "1")))
        #expect(frames.allSatisfy { $0.payloadBytes <= 499 })
        #expect(frames.contains { $0.type == .first })
        #expect(answers(frames).first?.result == "SUCCESS")
    }
}
