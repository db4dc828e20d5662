import ControlAPI
import SDLProtocol
import Testing

@testable import Scenarios

@Suite("The short forms of what is injected")
struct InjectShortFormTests {
    @Test(
        "each is built from the specification as it stands",
        arguments: [
            ("press", ["OK"]), ("press", ["OK", "long"]), ("press", ["7"]),
            ("press", ["PRESET_1", "short"]),
            ("touch", ["400,240"]), ("hmi", ["FULL"]), ("hmi", ["limited"]),
            ("hmi", ["BACKGROUND"]),
            ("hmi", ["NONE"]),
            ("vehicle", ["speed=88", "gps.latitudeDegrees=42.3", "gps.longitudeDegrees=-83"]),
            ("driver-distraction", ["on"]), ("driver-distraction", ["off"]),
        ])
    func valid(name: String, arguments: [String]) throws {
        let words = try InjectShortForm.expand(name, arguments)
        #expect(!words.isEmpty)
        for said in words {
            let built = try RPCBuilder(.builtIn).build(
                .init(
                    said.rpc, type: .notification,
                    assignments: try said.set.map { try RPCAssignment($0) }), from: .accessory)
            #expect(built.type == .notification)
        }
    }

    @Test("a press is down, up and press, as head units say it")
    func press() throws {
        let words = try InjectShortForm.expand("press", ["7", "long"])
        #expect(words.map(\.rpc) == ["OnButtonEvent", "OnButtonEvent", "OnButtonPress"])
        #expect(
            words[2].set == [
                "buttonName=CUSTOM_BUTTON", "customButtonID=7", "buttonPressMode=LONG",
            ])
    }

    @Test(
        "what does not fit is told with an example",
        arguments: [
            ("press", [], "press OK"), ("press", ["OK", "twice"], "press BUTTON long"),
            ("touch", ["400"], "touch 400,240"), ("touch", ["4,5,6"], "touch 400,240"),
            ("touch", ["-1,5"], "touch 400,240"), ("hmi", ["HALF"], "one of FULL"),
            ("hmi", [], "one of FULL"), ("vehicle", [], "vehicle speed=88"),
            ("vehicle", ["speed"], "has no value"),
            ("driver-distraction", ["maybe"], "driver-distraction on"),
        ])
    func wrong(name: String, arguments: [String], words: String) {
        let error = #expect(throws: InjectShortForm.Mistake.self) {
            try InjectShortForm.expand(name, arguments)
        }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test("a voice command is the app's")
    func voice() throws {
        let commands = [CommandReport(id: 4, spoken: ["play", "go on"])]
        #expect(
            try InjectShortForm.voice("Play", commands) == [
                .init(rpc: "OnCommand", set: ["cmdID=4", "triggerSource=VR"])
            ])
        let error = #expect(throws: InjectShortForm.Mistake.self) {
            try InjectShortForm.voice("stop", commands)
        }
        #expect(error?.message.contains("\"play\", \"go on\"") == true)
        let none = #expect(throws: InjectShortForm.Mistake.self) {
            try InjectShortForm.voice("stop", [])
        }
        #expect(none?.message.contains("it has added none") == true)
    }
}
