import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct FactsTableTests {
    private let app = AppID(rawValue: 1)
    private let ok = #"{"success":true,"resultCode":"SUCCESS"}"#

    private func facts(_ talk: Dialogue) throws -> AppFacts {
        var table = FactsTable()
        for entry in talk.entries { table.apply(entry) }
        return try #require(table.apps[app])
    }

    private func registered() -> Dialogue {
        var talk = Dialogue()
        talk.opens()
        talk.registers()
        return talk
    }

    /// The recorded session up to the entry before `function`'s `type`.
    private func recorded(until function: FunctionID, _ type: RPCType) throws -> AppFacts {
        var table = FactsTable()
        for entry in try Capture.entries("js-full-1") {
            if case .rpc(let rpc) = entry.content, rpc.message.functionID == function,
                rpc.message.type == type
            {
                break
            }
            table.apply(entry)
        }
        return try #require(table.apps[app])
    }

    @Test("a head unit that says it is off is off until it answers something new")
    func saidOff() throws {
        var table = FactsTable()
        var wasOff = false
        for entry in try Capture.entries("js-core-stops-1") {
            table.apply(entry)
            wasOff = wasOff || table.headUnit.saidOff?.reason == "IGNITION_OFF"
        }
        #expect(wasOff && table.headUnit.saidOff != nil)

        var talk = registered()
        talk.request(.show, 5)
        talk.notification(.onAppInterfaceUnregistered, #"{"reason":"IGNITION_OFF"}"#)
        func isOff() -> Bool {
            var table = FactsTable()
            for entry in talk.entries { table.apply(entry) }
            return table.headUnit.saidOff != nil
        }
        #expect(isOff())
        // The head unit answers what is still open.
        talk.silence(10)
        talk.response(.show, 5, ok)
        #expect(isOff())
        talk.request(.show, 6)
        #expect(isOff())
        talk.response(.show, 6, ok)
        #expect(!isOff())
        talk.notification(.onAppInterfaceUnregistered, #"{"reason":"USER_EXIT"}"#)
        #expect(!isOff())
        talk.notification(.onAppInterfaceUnregistered, #"{"reason":"IGNITION_OFF"}"#)
        talk.control(.fromAccessory, .startServiceACK, session: 2)
        #expect(!isOff())
    }

    @Test("an app that left before it was registered leaves what had gone wrong")
    func departed() {
        var talk = Dialogue()
        talk.receive(.linkOpened(number: 1, address: "sim:", time: talk.time))
        talk.receive(.appConnected(app, peer: "p", time: talk.time))
        talk.control(.fromApp, .startService, session: 0)
        let nak: BSONDocument = ["reason": .string("no answer for 20 s")]
        talk.control(
            .fromAccessory, .startServiceNAK, session: 0, payload: nak.bytes, fate: .byRelay)
        talk.receive(.appClosed(app, reason: "the app closed the connection", time: talk.time))
        var table = FactsTable()
        for entry in talk.entries { table.apply(entry) }
        #expect(
            table.departed.map(\.facts.lastFailure) == ["StartService refused: no answer for 20 s"])
    }

    @Test("the recorded session's files, commands, capabilities and permissions are known")
    func recordedStores() throws {
        let facts = try recorded(until: .unregisterAppInterface, .request)
        #expect(facts.registration?.hmiTypes == ["DEFAULT"])
        #expect(facts.registration?.requestedVersion == SDLVersion(8, 0, 0))
        #expect(facts.registration?.isMediaApplication == false)
        #expect(facts.registration?.resultCode == "SUCCESS")
        #expect(facts.files.files.keys.sorted() == ["cover.png", "icon"])
        #expect(facts.files.files["cover.png"]?.receivedBytes == 300_205)
        #expect(facts.files.files["icon"]?.type == "GRAPHIC_PNG")
        #expect(facts.files.spaceAvailable == 104_554_317)
        #expect(facts.files.listedAt != nil)
        #expect(facts.menu.commands[1001]?.name == "A command")
        #expect(facts.menu.commands[1001]?.vrCommands == ["A command"])
        #expect(facts.menu.choiceSets.isEmpty)
        #expect(facts.permissions.items.count == 56)
        #expect(facts.capabilities.displayName == "GENERIC_DISPLAY")
        #expect(facts.capabilities.displayWidth ?? 0 > 0)
        #expect(facts.capabilities.reported["hmiCapabilities"] != nil)
        #expect(facts.hmiHistory.map(\.level) == [HMILevel.none, .full, .full, .full])
        #expect(facts.hmiHistory.map(\.systemContext) == ["MAIN", "MAIN", "ALERT", "MAIN"])
        #expect(facts.services.map(\.service) == [.rpc])
        #expect(facts.services.first?.mtu == 131_072)
        #expect(facts.openRequests.isEmpty)
        #expect(facts.requestCount == 15)
        #expect(facts.failureCount == 0)
    }

    @Test("the recorded session's vehicle data was subscribed, told and unsubscribed")
    func recordedVehicleData() throws {
        let before = try recorded(until: .unsubscribeVehicleData, .response)
        #expect(before.subscriptions.vehicleData["speed"]?.isSubscribed == true)
        #expect(before.subscriptions.vehicleData["speed"]?.value == "53.0")
        #expect(before.subscriptions.vehicleData["rpm"]?.value == "1930")
        #expect(before.subscriptions.vehicleData["gps"]?.value?.hasPrefix("{\"actual\":") == true)
        #expect(before.openRequests.values.map(\.function) == ["UnsubscribeVehicleData"])
        let after = try recorded(until: .unregisterAppInterface, .request)
        #expect(after.subscriptions.vehicleData["speed"]?.isSubscribed == false)
    }

    @Test("a request that fails changes nothing")
    func failure() throws {
        var talk = registered()
        talk.request(.addCommand, 5, #"{"cmdID":7,"menuParams":{"menuName":"Seven"}}"#)
        talk.response(.addCommand, 5, #"{"success":false,"resultCode":"INVALID_ID"}"#)
        talk.request(.subscribeButton, 6, #"{"buttonName":"OK"}"#)
        let facts = try facts(talk)
        #expect(facts.menu.commands.isEmpty)
        #expect(facts.subscriptions.buttons.isEmpty)
        #expect(facts.failureCount == 1)
        #expect(facts.openRequests.count == 1)
    }

    @Test("menus and subscriptions follow what the head unit accepted")
    func changes() throws {
        var talk = registered()
        var number: Int32 = 10
        func does(_ function: FunctionID, _ json: String, _ answer: String? = nil) {
            number += 1
            talk.request(function, number, json)
            talk.response(function, number, answer ?? ok)
        }
        does(.addSubMenu, #"{"menuID":3,"menuName":"More"}"#)
        does(.addCommand, #"{"cmdID":1,"menuParams":{"menuName":"One","parentID":3}}"#)
        does(.addCommand, #"{"cmdID":2,"vrCommands":["two"]}"#)
        does(.createInteractionChoiceSet, #"{"interactionChoiceSetID":8,"choiceSet":[{},{}]}"#)
        does(.subscribeButton, #"{"buttonName":"OK"}"#)
        does(.subscribeButton, #"{"buttonName":"SEEKLEFT"}"#)
        does(.unsubscribeButton, #"{"buttonName":"OK"}"#)
        does(.subscribeWayPoints, "{}")
        does(
            .subscribeVehicleData, #"{"speed":true,"rpm":true,"gps":false}"#,
            #"{"success":true,"resultCode":"WARNINGS","speed":{"resultCode":"SUCCESS"},"#
                + #""rpm":{"resultCode":"DISALLOWED"}}"#)
        var now = try facts(talk)
        #expect(now.menu.commands[1]?.parentID == 3)
        #expect(now.menu.subMenus == [3: "More"])
        #expect(now.menu.choiceSets == [8: 2])
        #expect(now.subscriptions.buttons == ["SEEKLEFT"])
        #expect(now.subscriptions.hasWayPoints)
        #expect(now.subscriptions.vehicleData.sorted.map(\.name) == ["speed"])
        does(.deleteSubMenu, #"{"menuID":3}"#)
        does(.deleteInteractionChoiceSet, #"{"interactionChoiceSetID":8}"#)
        now = try facts(talk)
        #expect(now.menu.commands.keys.sorted() == [2])
        #expect(now.menu.choiceSets.isEmpty && now.menu.subMenus.isEmpty)
        talk.notification(.onAppInterfaceUnregistered, #"{"reason":"USER_EXIT"}"#)
        now = try facts(talk)
        #expect(now.menu == MenuFacts() && now.subscriptions == SubscriptionFacts())
    }

    @Test("a file in chunks is complete when all have come")
    func chunks() throws {
        var talk = registered()
        func put(_ offset: Int, length: Int, bytes: Int, _ id: Int32) {
            talk.rpc(
                .fromApp, .request, .putFile, id,
                #"{"syncFileName":"f","fileType":"BINARY","offset":\#(offset),"#
                    + #""length":\#(length),"persistentFile":true}"#,
                bulk: ByteBuffer(repeating: 1, count: bytes))
            talk.response(
                .putFile, id, #"{"success":true,"resultCode":"SUCCESS","spaceAvailable":77}"#)
        }
        put(0, length: 10, bytes: 6, 10)
        #expect(try facts(talk).files.files["f"]?.isComplete == false)
        put(6, length: 4, bytes: 4, 11)
        let file = try #require(try facts(talk).files.files["f"])
        #expect(file.isComplete && file.receivedBytes == 10 && file.isPersistent == true)
        #expect(try facts(talk).files.spaceAvailable == 77)
        talk.request(.deleteFile, 12, #"{"syncFileName":"f"}"#)
        talk.response(.deleteFile, 12, ok)
        #expect(try facts(talk).files.files.isEmpty)
    }

    @Test("a video service has its format, rates and end")
    func video() throws {
        var talk = registered()
        let ack: BSONDocument = [
            "mtu": .int64(131_072), "width": .int32(800), "height": .int32(480),
            "videoCodec": .string("H264"), "videoProtocol": .string("RAW"),
        ]
        talk.control(.fromAccessory, .startServiceACK, .video, payload: ack.bytes)
        for _ in 0..<31 {
            talk.says(.fromApp, .data(session: 1, service: .video, bytes: 1250))
            talk.milliseconds += 40
        }
        talk.silence(1000)
        let service = try #require(try facts(talk).services.last)
        #expect(service.format == "800×480 H264 RAW")
        #expect(service.totalFrames == 31)
        #expect(service.bitRate != nil)
        talk.control(.fromApp, .endService, .video)
        talk.control(.fromAccessory, .endServiceACK, .video)
        #expect(try facts(talk).services.map(\.service) == [.rpc])
    }

    @Test("a picture a message makes pictures a second, however many frames each has")
    func messageRate() throws {
        var talk = registered()
        talk.control(.fromAccessory, .startServiceACK, .video)
        for picture in 0..<26 {
            let id = UInt32(picture + 10)
            talk.says(
                .fromApp,
                Frame(
                    version: 5, type: .first, service: .video, sessionID: 1, messageID: id,
                    payload: ByteBuffer(bytes: [0, 0, 0, 2, 0, 0, 0, 2])))
            for info in [1, 0] as [UInt8] {
                talk.says(
                    .fromApp,
                    Frame(
                        version: 5, type: .consecutive, service: .video, info: info, sessionID: 1,
                        messageID: id, payload: ByteBuffer(bytes: [1])))
            }
            talk.milliseconds += 40
        }
        #expect(try facts(talk).services.last?.messageRate.map { ($0 * 10).rounded() } == 250)
    }

    @Test("capabilities of the video stream are read from both answers and updates")
    func videoCapability() throws {
        var talk = registered()
        talk.notification(
            .onSystemCapabilityUpdated,
            #"{"systemCapability":{"systemCapabilityType":"VIDEO_STREAMING","#
                + #""videoStreamingCapability":{"preferredResolution":{"resolutionWidth":800,"#
                + #""resolutionHeight":354},"maxBitrate":10000,"#
                + #""supportedFormats":[{"protocol":"RAW","codec":"H264"}]}}}"#)
        let known = try facts(talk).capabilities
        #expect(known.videoWidth == 800 && known.videoHeight == 354)
        #expect(known.maximumVideoBitRate == 10000)
        #expect(known.videoFormats == ["H264/RAW"])
        #expect(known.reported["VIDEO_STREAMING"] != nil)
    }

    @Test("everything stays bounded, whatever a head unit and an app say")
    func bounded() throws {
        var talk = registered()
        for number in 0..<1200 {
            talk.request(.addCommand, Int32(number), #"{"cmdID":\#(number)}"#)
            talk.response(.addCommand, Int32(number), ok)
        }
        for number in 0..<1500 { talk.request(.show, Int32(number)) }
        for number in 0..<300 {
            talk.notification(.onVehicleData, #"{"item\#(number)":1}"#)
            let context = number % 2 == 0 ? "MAIN" : "MENU"
            talk.notification(
                .onHMIStatus, #"{"hmiLevel":"FULL","systemContext":"\#(context)"}"#)
            talk.notification(
                .onPermissionsChange,
                #"{"permissionItem":[{"rpcName":"A\#(number)"},{"rpcName":"B\#(number)"}]}"#)
        }
        let facts = try facts(talk)
        #expect(facts.menu.commands.count == 1000)
        #expect((768...1024).contains(facts.openRequests.count))
        #expect(facts.subscriptions.vehicleData.count == 128)
        #expect(facts.hmiHistory.count == 32)
        #expect(facts.permissions.items.count == 500)
    }

    @Test("a change of permissions is the app's own, and what it does not mention stays")
    func permissionsChange() throws {
        let all = #"""
            {"permissionItem":[{"rpcName":"Show","hmiPermissions":{"allowed":["FULL"]}},
            {"rpcName":"Speak","hmiPermissions":{"allowed":["FULL"]}}]}
            """#
        var talk = registered()
        talk.notification(.onPermissionsChange, all)
        let first = talk.time
        talk.app = AppID(rawValue: 2)
        talk.session = 2
        talk.opens()
        talk.registers()
        talk.notification(.onPermissionsChange, all)
        talk.milliseconds += 1000
        talk.notification(
            .onPermissionsChange,
            #"{"permissionItem":[{"rpcName":"Speak"},{"rpcName":"Alert"}]}"#)
        var table = FactsTable()
        for entry in talk.entries { table.apply(entry) }

        let one = try #require(table.apps[app]?.permissions)
        #expect(one.items.keys.sorted() == ["Show", "Speak"])
        #expect(one["Speak"]?.allowed == .init(.full) && one.time == first)
        #expect(one.time(of: "Show") == first && one.time(of: "Alert") == nil)
        let other = try #require(table.apps[AppID(rawValue: 2)]?.permissions)
        #expect(other.items.keys.sorted() == ["Alert", "Show", "Speak"])
        #expect(other["Speak"]?.allowed == [] && other["Show"]?.allowed == .init(.full))
        #expect(other.time(of: "Show") == first && other.time(of: "Speak") == talk.time)
    }
}

extension FileFact {
    /// Whether all chunks have arrived.
    fileprivate var isComplete: Bool { totalBytes.map { receivedBytes >= $0 } ?? true }
}
