import ControlAPI
import NIOCore
import SDLProtocol
import Testing

@testable import Scenarios

@Suite("A scenario is made of a recording") struct ScenarioDraftTests {
    private static func draft(_ lines: [String]) throws -> String {
        var draft = ScenarioDraft(name: "bug 7", source: "bug.pcapng")
        for (index, line) in lines.enumerated() {
            let json = try JSONObject(ByteBuffer(string: "{\"n\":\(index + 1),\(line)}"))
            draft.add(try #require(ScenarioMessage(json)))
        }
        return draft.text
    }

    private static func app(_ function: String, _ parameters: String, _ number: Int) -> String {
        ##""kind":"request","from":"app","app":"#1","app_name":"My Radio!","function":"\##(function)","##
            + #""correlation_id":\#(number),"params":\#(parameters)"#
    }

    private static func unit(
        _ kind: String, _ function: String, _ parameters: String, _ more: String = ""
    ) -> String {
        ##""kind":"\##(kind)","from":"accessory","app":"#1","app_name":"My Radio!","##
            + #""function":"\#(function)","params":\#(parameters)\#(more)"#
    }

    @Test("requests are waited for, refusals answered, and what the driver did is injected")
    func dialogue() throws {
        let text = try Self.draft([
            Self.app("Show", #"{"mainField1":"Hello","hashID":"x","list":[1]}"#, 1),
            Self.unit(
                "response", "Show", #"{"success":true,"resultCode":"SUCCESS"}"#,
                #","correlation_id":1,"result_code":"SUCCESS""#),
            Self.unit("notification", "OnButtonEvent", #"{"buttonName":"OK"}"#),
            Self.unit(
                "notification", "OnButtonPress", #"{"buttonName":"OK","buttonPressMode":"LONG"}"#),
            Self.unit("notification", "OnHMIStatus", "{}"),
            Self.app("PutFile", #"{"syncFileName":"a"}"#, 2),
            Self.unit(
                "response", "PutFile",
                #"{"success":false,"resultCode":"OUT_OF_MEMORY","info":"it is \"full\""}"#,
                #","correlation_id":2,"result_code":"OUT_OF_MEMORY""#),
            #""kind":"event","event":"link_closed""#, #""kind":"event","event":"link_opened""#,
            Self.unit("notification", "OnCommand", #"{"cmdID":7,"triggerSource":"VR"}"#),
        ])
        #expect(
            text == """
                # Made of bug.pcapng. Remove what does not matter, and add what is expected.
                scenario: "bug 7"
                apps:
                  my-radio-: "My Radio!"
                steps:
                  - wait: "rpc:Show"
                    check:
                      mainField1: Hello
                  - inject: "press OK long"
                  - answer: "rpc:PutFile"
                    result: OUT_OF_MEMORY
                    info: "it is \\"full\\""
                    check:
                      syncFileName: a
                  - link: unplug
                  - inject: OnCommand
                    parameters: {cmdID: 7, triggerSource: "VR"}

                """)
        let scenario = try ScenarioReader.read(text)
        #expect(
            scenario.steps.map(\.content.verb) == ["wait", "inject", "answer", "link", "inject"])
    }

    @Test("whatever apps say, the scenario can be read")
    func hostile() throws {
        for value in [
            "true", "no", "- x", "a: b", "#", "*a", "!b", "%", "\\u0000", "\\u001b[31m",
            "\\uD83D\\uDE00",
            "\\u2028", "\\uFEFF", "\\uFFFF", "\\\"", "\\\\", "'", "{", "${x}", " ", "\\n", "\\t",
            "é",
        ] {
            let text = try Self.draft([
                Self.app("Show", #"{"mainField1":"\#(value)","\#(value)":1}"#, 1),
                Self.unit("notification", "OnCommand", #"{"a":["\#(value)"]}"#),
            ])
            #expect(throws: Never.self, "\(value): \(text)") { try ScenarioReader.read(text) }
        }
        #expect(throws: Never.self) { try ScenarioReader.read(try Self.draft([])) }
        let many = try Self.draft((0..<3000).map { Self.app("Show", "{}", $0) })
        #expect(try ScenarioReader.read(many).steps.count == 2500)
        #expect(many.contains("# 500 more steps were left out"))
    }
}
