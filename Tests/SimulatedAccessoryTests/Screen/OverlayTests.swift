import NIOCore
import SDLProtocol
import SimulatedAccessory
import Testing

/// Overlays on the screen: how long they stay, and how they end without a touch.
@Suite struct OverlayTests {
    private let alert = #"{"alertText1":"Look","duration":3000}"#
    private let buttons = #","softButtons":[{"type":"TEXT","softButtonID":1,"text":"OK"}]"#

    private func link() throws -> PaperLink {
        var link = try PaperLink()
        try link.brings()
        return link
    }

    /// Lets time pass in steps until nothing is due.
    private func rest(_ link: inout PaperLink) -> [Answer] {
        var heard: [Answer] = []
        while let deadline = link.accessory.nextDeadline {
            link.now = deadline
            heard += answers(link.accessory.advance(to: deadline))
        }
        return heard
    }

    @Test("an alert is in front for its time; the app is told before and after")
    func alertTime() throws {
        var link = try link()
        #expect(
            link.requests(.alert, alert).statuses == ["1 FULL NOT_AUDIBLE NOT_STREAMABLE ALERT"])
        #expect(link.passes(.milliseconds(2999)).isEmpty)
        let over = answers(link.passes(.milliseconds(1)))
        #expect(over.map(\.function) == [.alert, .onHMIStatus])
        #expect(over.results == ["Alert SUCCESS"])
        #expect(over.statuses == ["1 FULL NOT_AUDIBLE NOT_STREAMABLE MAIN"])
        #expect(link.accessory.nextDeadline == nil)
    }

    @Test(
        "each overlay ends with the code of a real head unit",
        arguments: [
            (.alert, #"{"alertText1":"a"}"#, 5000, "Alert SUCCESS"),
            (
                .alert,
                #"{"alertText1":"a","softButtons":[{"type":"TEXT","softButtonID":1,"text":"OK"}]}"#,
                5000, "Alert ABORTED"
            ),
            (.subtleAlert, #"{"alertText1":"a","duration":4000}"#, 4000, "SubtleAlert SUCCESS"),
            (
                .scrollableMessage, #"{"scrollableMessageBody":"a\nb"}"#, 30_000,
                "ScrollableMessage SUCCESS"
            ),
            (
                .scrollableMessage, #"{"scrollableMessageBody":"a","timeout":1000}"#, 1000,
                "ScrollableMessage SUCCESS"
            ),
            (
                .slider, #"{"numTicks":5,"position":2,"sliderHeader":"a"}"#, 10_000,
                "Slider TIMED_OUT"
            ),
            (
                .performInteraction,
                #"{"initialText":"a","interactionMode":"MANUAL_ONLY","interactionChoiceSetIDList":[1]}"#,
                10_000, "PerformInteraction TIMED_OUT"
            ),
            (
                .speak, #"{"ttsChunks":[{"type":"TEXT","text":"Hello there"}]}"#, 660,
                "Speak SUCCESS"
            ),
            (
                .alert, #"{"ttsChunks":[{"type":"TEXT","text":"Hello there"}]}"#, 660,
                "Alert SUCCESS"
            ),
        ] as [(FunctionID, String, Int64, String)])
    func ends(function: FunctionID, json: String, milliseconds: Int64, result: String) throws {
        var link = try link()
        let set = #"{"interactionChoiceSetID":1,"choiceSet":[{"choiceID":1,"menuName":"a"}]}"#
        _ = link.requests(.createInteractionChoiceSet, set)
        #expect(link.requests(function, json).results.isEmpty)
        #expect(answers(link.passes(.milliseconds(milliseconds - 1))).results.isEmpty)
        let end = answers(link.passes(.milliseconds(1)))
        #expect(end.results == [result])
        if function == .slider {
            #expect(end.first?.parameters.integer("sliderPosition") == 2)
        }
    }

    @Test("other overlays obscure their app")
    func context() throws {
        var link = try link()
        let message = #"{"scrollableMessageBody":"a","timeout":1000}"#
        let obscured = "1 FULL NOT_AUDIBLE NOT_STREAMABLE HMI_OBSCURED"
        #expect(link.requests(.scrollableMessage, message).statuses == [obscured])
        #expect(rest(&link).statuses == ["1 FULL NOT_AUDIBLE NOT_STREAMABLE MAIN"])
    }

    @Test("an alert of an app in the background obscures the one on the screen")
    func others() throws {
        var link = try link()
        let front = try link.brings("Front")
        let both = [
            "1 BACKGROUND NOT_AUDIBLE NOT_STREAMABLE ALERT",
            "\(front) FULL NOT_AUDIBLE NOT_STREAMABLE HMI_OBSCURED",
        ]
        #expect(link.requests(.alert, alert).statuses == both)
        #expect(
            rest(&link).statuses == [
                "1 BACKGROUND NOT_AUDIBLE NOT_STREAMABLE MAIN",
                "\(front) FULL NOT_AUDIBLE NOT_STREAMABLE MAIN",
            ])
    }

    @Test("a second alert is rejected, with the time after which it may be tried again")
    func tryAgain() throws {
        var link = try link()
        _ = link.requests(.alert, alert)
        _ = link.passes(.milliseconds(1200))
        for function in [FunctionID.alert, .subtleAlert] {
            let second = try #require(link.requests(function, alert, correlationID: 8).first)
            #expect(second.result == "REJECTED")
            #expect(second.parameters.integer("tryAgainTime") == 1800)
            #expect(second.info == "Alert is on the screen")
        }
        #expect(rest(&link).results == ["Alert SUCCESS"])
    }

    @Test(
        "an alert takes the place of a message, a message that of a subtle alert, not the reverse")
    func ranks() throws {
        var link = try link()
        let message = #"{"scrollableMessageBody":"a"}"#
        #expect(link.requests(.subtleAlert, alert).results.isEmpty)
        #expect(link.requests(.scrollableMessage, message).results == ["SubtleAlert ABORTED"])
        #expect(
            link.requests(.scrollableMessage, message).results == ["ScrollableMessage REJECTED"])
        #expect(link.requests(.subtleAlert, alert).results == ["SubtleAlert REJECTED"])
        let replaced = link.requests(.alert, alert)
        #expect(replaced.results == ["ScrollableMessage ABORTED"])
        #expect(replaced.first?.info == "Alert took its place")
        #expect(
            link.requests(.scrollableMessage, message).results == ["ScrollableMessage REJECTED"])
        #expect(rest(&link).results == ["Alert SUCCESS"])
    }

    @Test("an app can cancel what it shows, by function and ID")
    func cancel() throws {
        var link = try link()
        let slider = #"{"numTicks":5,"position":2,"sliderHeader":"a","cancelID":4}"#
        _ = link.requests(.slider, slider)
        func cancel(_ json: String) -> [Answer] { link.requests(.cancelInteraction, json) }
        #expect(cancel(#"{"functionID":12}"#).results == ["CancelInteraction IGNORED"])
        let other = #"{"functionID":26,"cancelID":5}"#
        #expect(cancel(other).results == ["CancelInteraction IGNORED"])
        let cancelled = cancel(#"{"functionID":26,"cancelID":4}"#)
        #expect(cancelled.results == ["Slider ABORTED", "CancelInteraction SUCCESS"])
        #expect(cancelled.first?.parameters.integer("sliderPosition") == 2)
        #expect(cancelled.statuses == ["1 FULL NOT_AUDIBLE NOT_STREAMABLE MAIN"])
        #expect(link.accessory.nextDeadline == nil)
    }

    @Test("a keyboard that nobody uses says so before the request ends")
    func keyboard() throws {
        var link = try link()
        _ = link.requests(
            .performInteraction,
            #"""
            {"initialText":"a","interactionMode":"MANUAL_ONLY","interactionChoiceSetIDList":[],\#
            "interactionLayout":"KEYBOARD","timeout":5000}
            """#)
        let end = rest(&link)
        #expect(end.map(\.function) == [.onKeyboardInput, .performInteraction, .onHMIStatus])
        #expect(end.first?.parameters.string("event") == "ENTRY_ABORTED")
    }

    @Test("choosing another app ends what is in front of the first, but no alert")
    func otherApp() throws {
        var link = try link()
        _ = link.requests(.slider, #"{"numTicks":5,"position":2,"sliderHeader":"a"}"#)
        _ = try link.registers("B", appID: "b")
        let chosen = answers(link.passes(.milliseconds(100)))
        #expect(chosen.results == ["Slider ABORTED"])
        _ = link.requests(.alert, alert, session: 2)
        #expect(answers(link.accessory.activate(session: 1, at: link.now)).results.isEmpty)
        #expect(rest(&link).results == ["Alert SUCCESS"])
    }

    @Test("an app that leaves takes its overlay and its speech along")
    func leaves() throws {
        var link = try link()
        let second = try link.brings("Second")
        _ = link.requests(
            .alert, #"{"alertText1":"a","ttsChunks":[{"type":"TEXT","text":"a"}]}"#,
            session: second)
        _ = link.requests(.unregisterAppInterface, session: second)
        #expect(link.accessory.nextDeadline == nil)
        #expect(link.requests(.alert, alert).results.isEmpty, "there is room again")
    }

    // MARK: Speech

    @Test("texts are said one after another, and music is turned down meanwhile")
    func speech() throws {
        var link = try PaperLink()
        try link.brings("Radio", type: "MEDIA", media: true)
        try link.brings("Front")
        let speak = #"{"ttsChunks":[{"type":"TEXT","text":"1234567890"}]}"#
        let first = link.requests(.speak, speak, session: 2, correlationID: 1)
        #expect(first.statuses == ["1 LIMITED ATTENUATED NOT_STREAMABLE MAIN"])
        #expect(link.requests(.speak, speak, session: 2, correlationID: 2).isEmpty)
        #expect(answers(link.passes(.milliseconds(600))).map(\.correlationID) == [1])
        let over = answers(link.passes(.milliseconds(600)))
        #expect(over.results == ["Speak SUCCESS"])
        #expect(over.statuses == ["1 LIMITED AUDIBLE NOT_STREAMABLE MAIN"])
    }

    @Test("an alert stays while it is read out, and a chatterbox is stopped")
    func longSpeech() throws {
        var link = try link()
        let text = String(repeating: "x", count: 100)
        let chunks = #""ttsChunks":[{"type":"TEXT","text":"\#(text)"}]"#
        _ = link.requests(.alert, #"{"alertText1":"a","duration":3000,\#(chunks)}"#)
        #expect(answers(link.passes(.milliseconds(5999))).results.isEmpty)
        #expect(answers(link.passes(.milliseconds(1))).results == ["Alert SUCCESS"])
        var results: [String] = []
        for _ in 1...6 { results += link.requests(.speak, "{\(chunks)}").results }
        #expect(results == ["Speak REJECTED", "Speak REJECTED"], "20 s of it wait already")
    }
}
