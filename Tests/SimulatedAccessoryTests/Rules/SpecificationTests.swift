import SDLProtocol
import SimulatedAccessory
import Testing

/// Requests that the RPC specification forbids.
@Suite struct SpecificationTests {
    @Test(
        "a request that breaks the specification is INVALID_DATA, with what is wrong",
        arguments: [
            (.show, #"{"mainField1":12}"#, "mainField1 is 12, expected a string"),
            (.addCommand, "{}", "mandatory parameter cmdID is missing"),
            (
                .addCommand, #"{"cmdID":-1,"vrCommands":["a"]}"#,
                "cmdID is -1, expected an Integer from 0 to 2000000000"
            ),
            (
                .addCommand, #"{"cmdID":1.5,"vrCommands":["a"]}"#,
                "cmdID is 1.5, expected an Integer from 0 to 2000000000"
            ),
            (
                .addSubMenu, #"{"menuID":1,"menuName":""}"#,
                "menuName has 0 characters, expected at least 1 character"
            ),
            (
                .alert, #"{"alertText1":"a","duration":2999}"#,
                "duration is 2999, expected an Integer from 3000 to 10000"
            ),
            (
                .createInteractionChoiceSet, #"{"interactionChoiceSetID":1,"choiceSet":[]}"#,
                "choiceSet has 0 elements, expected at least 1 element"
            ),
            (
                .createInteractionChoiceSet,
                #"{"interactionChoiceSetID":1,"choiceSet":[{"choiceID":1}]}"#,
                "mandatory parameter choiceSet[0].menuName is missing"
            ),
            (
                .subscribeVehicleData, #"{"speed":"yes"}"#,
                "speed is \"yes\", expected true or false"
            ),
            (.show, #"{"graphic":null}"#, "graphic is null, expected an Image object"),
        ] as [(FunctionID, String, String)])
    func refused(function: FunctionID, json: String, info: String) throws {
        var link = try PaperLink()
        try link.brings()
        let answer = try #require(link.requests(function, json).first)
        #expect(answer.result == "INVALID_DATA")
        #expect(answer.info == info)
        #expect(answer.parameters.bool("success") == false)
    }

    @Test("too long is counted in characters, and 500 of them are enough for a line")
    func longText() throws {
        var link = try PaperLink()
        try link.brings()
        let line = String(repeating: "日", count: 500)
        #expect(link.result(.show, #"{"mainField1":"\#(line)"}"#) == "SUCCESS")
        #expect(link.result(.show, #"{"mainField1":"\#(line)本"}"#) == "INVALID_DATA")
        #expect(link.result(.show, #"{"mainField1":""}"#) == "SUCCESS", "empty clears the line")
    }

    @Test("parameters that nobody knows are left out without a word")
    func unknownParameters() throws {
        var link = try PaperLink()
        try link.brings()
        let answer = link.requests(.show, #"{"mainField1":"a","mainfield2":"b","x":{"y":[1]}}"#)
        #expect(answer.map(\.result) == ["SUCCESS"])
        #expect(answer.first?.info == nil)
    }

    @Test("an unknown word is left out with WARNINGS where that is possible, and else refused")
    func unknownWords() throws {
        var link = try PaperLink()
        try link.brings()
        let optional = try #require(
            link.requests(.show, #"{"mainField1":"a","alignment":"MIDDLE"}"#).first)
        #expect(optional.result == "WARNINGS")
        #expect(optional.parameters.bool("success") == true)
        #expect(
            optional.info
                == "unknown value \"MIDDLE\" of alignment, "
                + "expected one of LEFT_ALIGNED, RIGHT_ALIGNED, CENTERED; ignored")
        // An image needs its type, so the image goes; a soft button needs its own.
        let image = #"{"mainField1":"a","graphic":{"value":"x","imageType":"MOVING"}}"#
        #expect(link.result(.show, image) == "WARNINGS")
        let button =
            #"{"mainField1":"a","softButtons":[{"type":"ROUND","softButtonID":1,"text":"a"}]}"#
        #expect(link.result(.show, button) == "WARNINGS")
        #expect(link.result(.subscribeButton, #"{"buttonName":"NO"}"#) == "INVALID_DATA")
        #expect(link.result(.subscribeButton, #"{"buttonName":"OK"}"#) == "SUCCESS")
    }

    @Test("an app of an older version is judged by what that version says")
    func versions() throws {
        var link = try PaperLink()
        try link.brings(version: 4)
        // Before RPC 5, a choice needed its voice commands.
        let set = #"{"interactionChoiceSetID":1,"choiceSet":[{"choiceID":1,"menuName":"a"}]}"#
        #expect(link.result(.createInteractionChoiceSet, set) == "INVALID_DATA")
    }

    @Test("the specification comes before the registration, and that before the HMI level")
    func precedence() throws {
        var link = try PaperLink(["activate": "off"])
        _ = try link.opensSession()
        #expect(link.result(.show, #"{"mainField1":1}"#) == "INVALID_DATA")
        #expect(link.result(.show, #"{"mainField1":"a"}"#) == "APPLICATION_NOT_REGISTERED")
        _ = link.requests(.registerAppInterface, registration("A", appID: "1"))
        #expect(link.result(.show, #"{"mainField1":1}"#) == "INVALID_DATA")
        #expect(link.result(.show, #"{"mainField1":"a"}"#) == "DISALLOWED")
        #expect(link.result(.deleteCommand, #"{"cmdID":5}"#) == "DISALLOWED")
        _ = link.accessory.activate(session: 1, at: link.now)
        #expect(link.result(.deleteCommand, #"{"cmdID":5}"#) == "INVALID_ID")
    }
}
