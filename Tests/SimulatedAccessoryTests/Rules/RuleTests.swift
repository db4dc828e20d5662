import SDLProtocol
import SimulatedAccessory
import Testing

/// Requests that the session's state forbids, and conditions between parameters.
@Suite struct RuleTests {
    private func link(media: Bool = false, version: Int = 8) throws -> PaperLink {
        var link = try PaperLink()
        try link.brings(media: media, version: version)
        return link
    }

    // MARK: HMI levels

    @Test("before the user chooses an app, it may only prepare itself")
    func none() throws {
        var link = try PaperLink(["activate": "off"])
        _ = try link.registers("A", appID: "1")
        link.stores("icon")
        #expect(link.result(.setAppIcon, #"{"syncFileName":"icon"}"#) == "SUCCESS")
        #expect(link.result(.listFiles) == "SUCCESS")
        let type = #"{"systemCapabilityType":"DISPLAYS"}"#
        #expect(link.result(.getSystemCapability, type) == "SUCCESS")
        let show = try #require(link.requests(.show, #"{"mainField1":"a"}"#).first)
        #expect(show.result == "DISALLOWED")
        #expect(show.info == "Show is not allowed in HMI level NONE")
        #expect(link.result(.subscribeVehicleData, #"{"speed":true}"#) == "DISALLOWED")
    }

    @Test("what takes the screen or the ear is not allowed in the background")
    func background() throws {
        var link = try PaperLink()
        try link.brings("First")
        try link.brings("Second")
        #expect(link.result(.show, #"{"mainField1":"a"}"#) == "SUCCESS")
        #expect(link.result(.speak, #"{"ttsChunks":[{"type":"TEXT","text":"a"}]}"#) == "DISALLOWED")
        let slider = #"{"numTicks":3,"position":1,"sliderHeader":"a"}"#
        #expect(link.result(.slider, slider) == "DISALLOWED")
    }

    @Test("what OnPermissionsChange says is what is allowed")
    func permissions() throws {
        var link = try PaperLink(["activate": "off"])
        let heard = try link.registers("A", appID: "1")
        let told = try #require(heard.first { $0.function == .onPermissionsChange })
        let items = try #require(told.parameters.array("permissionItem"))
        for item in items.elements.compactMap(items.object) {
            let levels = try #require(item.object("hmiPermissions")?.array("allowed"))
            let isAllowed = levels.elements.compactMap(levels.string).contains("NONE")
            let function = try #require(item.string("rpcName").flatMap(FunctionID.init(name:)))
            // Requests without preconditions, so that the level decides.
            guard [.show, .listFiles, .closeApplication, .showAppMenu].contains(function) else {
                continue
            }
            let json = function == .show ? #"{"mainField1":"a"}"# : "{}"
            #expect((link.result(function, json) != "DISALLOWED") == isAllowed, "\(function)")
        }
    }

    @Test("an app that closes itself is NONE, and closing it again is not allowed")
    func close() throws {
        var link = try link()
        let heard = link.requests(.closeApplication)
        #expect(heard.results == ["CloseApplication SUCCESS"])
        #expect(heard.statuses == ["1 NONE NOT_AUDIBLE NOT_STREAMABLE MAIN"])
        #expect(link.result(.closeApplication) == "DISALLOWED")
    }

    // MARK: Menu

    @Test("an ID can be given once, and only what exists can be deleted")
    func commands() throws {
        var link = try link()
        let one = #"{"cmdID":1,"menuParams":{"menuName":"Play"},"vrCommands":["Play"]}"#
        #expect(link.result(.addCommand, one) == "SUCCESS")
        let again = try #require(link.requests(.addCommand, one).first)
        #expect(again.result == "INVALID_ID" && again.info == "command 1 already exists")
        #expect(link.result(.addCommand, #"{"cmdID":2}"#) == "INVALID_DATA")
        #expect(link.result(.addCommand, #"{"cmdID":2,"vrCommands":["PLAY"]}"#) == "DUPLICATE_NAME")
        #expect(
            link.result(.addCommand, #"{"cmdID":2,"menuParams":{"menuName":"Play"}}"#) == "SUCCESS",
            "names in the menu may repeat")
        #expect(
            link.result(.addCommand, #"{"cmdID":3,"menuParams":{"menuName":"a","parentID":9}}"#)
                == "INVALID_ID")
        #expect(
            link.result(.addCommand, #"{"cmdID":3,"menuParams":{"menuName":"a\nb"}}"#)
                == "INVALID_DATA")
        #expect(link.result(.deleteCommand, #"{"cmdID":1}"#) == "SUCCESS")
        #expect(link.result(.deleteCommand, #"{"cmdID":1}"#) == "INVALID_ID")
        #expect(link.result(.addCommand, one) == "SUCCESS")
    }

    @Test("a submenu that goes takes along what is in it")
    func subMenus() throws {
        var link = try link()
        #expect(link.result(.addSubMenu, #"{"menuID":1,"menuName":"Outer"}"#) == "SUCCESS")
        #expect(link.result(.addSubMenu, #"{"menuID":1,"menuName":"Other"}"#) == "INVALID_ID")
        let inner = #"{"menuID":2,"menuName":"Inner","parentID":1}"#
        #expect(link.result(.addSubMenu, inner) == "SUCCESS")
        #expect(
            link.result(.addSubMenu, #"{"menuID":3,"menuName":"Lost","parentID":7}"#)
                == "INVALID_ID")
        let command = #"{"cmdID":1,"menuParams":{"menuName":"a","parentID":2}}"#
        #expect(link.result(.addCommand, command) == "SUCCESS")
        #expect(link.result(.showAppMenu, #"{"menuID":2}"#) == "SUCCESS")
        #expect(link.result(.deleteSubMenu, #"{"menuID":1}"#) == "SUCCESS")
        #expect(link.result(.deleteSubMenu, #"{"menuID":2}"#) == "INVALID_ID")
        #expect(link.result(.deleteCommand, #"{"cmdID":1}"#) == "INVALID_ID")
        #expect(link.result(.showAppMenu, #"{"menuID":2}"#) == "INVALID_ID")
    }

    @Test(
        "two submenus may have one name from RPC 7.1 on",
        arguments: [(6, "DUPLICATE_NAME"), (8, "SUCCESS")])
    func names(version: Int, result: String) throws {
        var link = try link(version: version)
        #expect(link.result(.addSubMenu, #"{"menuID":1,"menuName":"Same"}"#) == "SUCCESS")
        #expect(link.result(.addSubMenu, #"{"menuID":2,"menuName":"Same"}"#) == result)
    }

    // MARK: Choices

    private func set(_ id: Int, _ choices: String...) -> String {
        #"{"interactionChoiceSetID":\#(id),"choiceSet":[\#(choices.joined(separator: ","))]}"#
    }

    private func choice(_ id: Int, voice: String? = nil) -> String {
        let words = voice.map { #","vrCommands":["\#($0)"]"# } ?? ""
        return #"{"choiceID":\#(id),"menuName":"Choice"\#(words)}"#
    }

    @Test("choice sets: IDs once, words once, voice for all or for none")
    func choiceSets() throws {
        var link = try link()
        let create = FunctionID.createInteractionChoiceSet
        #expect(link.result(create, set(1, choice(1), choice(2))) == "SUCCESS")
        #expect(link.result(create, set(1, choice(3))) == "INVALID_ID")
        #expect(link.result(create, set(2, choice(1), choice(1))) == "INVALID_ID")
        #expect(link.result(create, set(2, choice(3, voice: "a"), choice(4))) == "INVALID_DATA")
        let twice = set(2, choice(3, voice: "a"), choice(4, voice: "A"))
        #expect(link.result(create, twice) == "DUPLICATE_NAME")
        let gone = #"{"interactionChoiceSetID":1}"#
        #expect(link.result(.deleteInteractionChoiceSet, gone) == "SUCCESS")
        #expect(link.result(.deleteInteractionChoiceSet, gone) == "INVALID_ID")
    }

    private func interaction(_ sets: String, mode: String = "MANUAL_ONLY", more: String = "")
        -> String
    {
        #"""
        {"initialText":"Choose","interactionMode":"\#(mode)",\#
        "interactionChoiceSetIDList":[\#(sets)]\#(more)}
        """#
    }

    @Test("an interaction needs choice sets that exist, fit together and can be said")
    func interactions() throws {
        var link = try link()
        _ = link.requests(.createInteractionChoiceSet, set(1, choice(1)))
        _ = link.requests(.createInteractionChoiceSet, set(2, choice(1)))
        func result(_ json: String) -> String? { link.result(.performInteraction, json) }
        #expect(result(interaction("7")) == "INVALID_ID")
        #expect(result(interaction("1,2")) == "INVALID_ID", "choice 1 is in both")
        #expect(result(interaction("")) == "INVALID_DATA")
        #expect(result(interaction("1", mode: "BOTH")) == "INVALID_DATA", "nothing to say")
        let keyboard = #","interactionLayout":"KEYBOARD""#
        #expect(result(interaction("", mode: "VR_ONLY", more: keyboard)) == "INVALID_DATA")
        #expect(result(interaction("1")) == nil, "it is on the screen")
        let shown = #"{"interactionChoiceSetID":1}"#
        #expect(link.result(.deleteInteractionChoiceSet, shown) == "IN_USE")
    }

    // MARK: Single functions

    @Test(
        "requests that say nothing, or too much, are refused",
        arguments: [
            (.show, "{}", "INVALID_DATA"),
            (.show, #"{"mainField1":"a\tb"}"#, "INVALID_DATA"),
            (.show, #"{"mainField1":"a","windowID":3}"#, "INVALID_ID"),
            (.alert, #"{"duration":3000}"#, "INVALID_DATA"),
            (.subtleAlert, "{}", "INVALID_DATA"),
            (.slider, #"{"numTicks":3,"position":4,"sliderHeader":"a"}"#, "INVALID_DATA"),
            (
                .slider,
                #"{"numTicks":3,"position":1,"sliderHeader":"a","sliderFooter":["a","b"]}"#,
                "INVALID_DATA"
            ),
            (.setGlobalProperties, "{}", "INVALID_DATA"),
            (.setGlobalProperties, #"{"vrHelpTitle":"Help"}"#, "REJECTED"),
            (.setMediaClockTimer, #"{"updateMode":"CLEAR"}"#, "REJECTED"),
            (.subscribeButton, #"{"buttonName":"SEEKLEFT"}"#, "REJECTED"),
            (.subscribeButton, #"{"buttonName":"SEARCH"}"#, "UNSUPPORTED_RESOURCE"),
            (.unsubscribeButton, #"{"buttonName":"OK"}"#, "IGNORED"),
            (.cancelInteraction, #"{"functionID":13}"#, "INVALID_ID"),
            (.cancelInteraction, #"{"functionID":12}"#, "IGNORED"),
            (
                .speak, #"{"ttsChunks":[{"type":"FILE","text":"bell.wav"}]}"#, "FILE_NOT_FOUND"
            ),
            (
                .show, #"{"softButtons":[{"type":"BOTH","softButtonID":1,"text":"a"}]}"#,
                "INVALID_DATA"
            ),
        ] as [(FunctionID, String, String)])
    func single(function: FunctionID, json: String, result: String) throws {
        var link = try link()
        #expect(link.result(function, json) == result)
    }

    @Test("a media app has a clock, whose end lies in its direction, and media buttons")
    func media() throws {
        var link = try link(media: true)
        func clock(_ mode: String, _ more: String = "") -> String? {
            link.result(.setMediaClockTimer, #"{"updateMode":"\#(mode)"\#(more)}"#)
        }
        func time(_ name: String, _ minutes: Int) -> String {
            #","\#(name)":{"hours":0,"minutes":\#(minutes),"seconds":0}"#
        }
        #expect(clock("COUNTUP") == "INVALID_DATA")
        #expect(clock("COUNTUP", time("startTime", 0) + time("endTime", 3)) == "SUCCESS")
        #expect(clock("COUNTUP", time("startTime", 3) + time("endTime", 3)) == "INVALID_DATA")
        #expect(clock("COUNTDOWN", time("startTime", 3) + time("endTime", 0)) == "SUCCESS")
        #expect(clock("COUNTDOWN", time("startTime", 3) + time("endTime", 4)) == "INVALID_DATA")
        #expect(clock("PAUSE") == "SUCCESS")
        #expect(link.result(.subscribeButton, #"{"buttonName":"SEEKLEFT"}"#) == "SUCCESS")
        #expect(link.result(.subscribeButton, #"{"buttonName":"SEEKLEFT"}"#) == "IGNORED")
        #expect(link.result(.unsubscribeButton, #"{"buttonName":"SEEKLEFT"}"#) == "SUCCESS")
    }

    // MARK: Images

    @Test("an image that is not stored is a warning that names it")
    func images() throws {
        var link = try link()
        let image = #"{"value":"cover.png","imageType":"DYNAMIC"}"#
        let show = #"{"mainField1":"a","graphic":\#(image)}"#
        let warned = try #require(link.requests(.show, show).first)
        #expect(warned.result == "WARNINGS" && warned.parameters.bool("success") == true)
        #expect(warned.info == "Requested image(s) not found: \"cover.png\"")
        let command = #"{"cmdID":1,"menuParams":{"menuName":"a"},"cmdIcon":\#(image)}"#
        #expect(link.result(.addCommand, command) == "WARNINGS")
        let button = #"{"softButtons":[{"type":"IMAGE","softButtonID":1,"image":\#(image)}]}"#
        #expect(link.result(.show, button) == "WARNINGS")
        link.stores("cover.png")
        #expect(link.result(.show, show) == "SUCCESS")
        let own = #"{"mainField1":"a","graphic":{"value":"0x11","imageType":"STATIC"}}"#
        #expect(link.result(.show, own) == "SUCCESS", "the head unit's own pictures")
        let many = (1...5).map {
            #"{"type":"IMAGE","softButtonID":\#($0),"image":{"value":"\#($0)","imageType":"DYNAMIC"}}"#
        }
        let five = link.requests(.show, #"{"softButtons":[\#(many.joined(separator: ","))]}"#)
        #expect(
            five.first?.info == #"Requested image(s) not found: "1", "2", "3" and 2 more"#)
    }

    // MARK: Leniency

    @Test("a lenient head unit accepts all of it, and picks for the user")
    func lenient() throws {
        var link = try PaperLink(["activate": "off", "lenient": "on"])
        _ = try link.registers("A", appID: "1")
        #expect(link.result(.show, "{}") == "SUCCESS")
        #expect(link.result(.addCommand, #"{"cmdID":1}"#) == "SUCCESS")
        #expect(link.result(.addCommand, #"{"cmdID":1}"#) == "SUCCESS")
        #expect(link.result(.deleteCommand, #"{"cmdID":9}"#) == "SUCCESS")
        _ = link.requests(.createInteractionChoiceSet, set(4, choice(17)))
        let picked = try #require(link.requests(.performInteraction, interaction("4")).first)
        #expect(picked.result == "SUCCESS" && picked.parameters.integer("choiceID") == 17)
        let slider = link.requests(.slider, #"{"numTicks":3,"position":2,"sliderHeader":"a"}"#)
        #expect(slider.first?.parameters.integer("sliderPosition") == 2)
        #expect(link.result(.speak, #"{"ttsChunks":[]}"#) == "SUCCESS")
    }
}
