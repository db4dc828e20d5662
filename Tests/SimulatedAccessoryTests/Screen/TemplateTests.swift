import NIOCore
import SDLProtocol
import SimulatedAccessory
import Testing

/// The head unit's reports to an app about its screen.
@Suite struct TemplateTests {
    /// The template part of a DISPLAYS capability: main texts, pictures, soft buttons.
    private func screen(_ answer: Answer?) throws -> String {
        let capability = try #require(answer?.parameters.object("systemCapability"))
        #expect(capability.string("systemCapabilityType") == "DISPLAYS")
        let displays = try #require(capability.array("displayCapabilities"))
        let display = try #require(displays.elements.first.flatMap(displays.object))
        let windows = try #require(display.array("windowCapabilities"))
        let window = try #require(windows.elements.first.flatMap(windows.object))
        #expect(window.integer("windowID") == 0)
        let texts = try names(window, "textFields").filter {
            $0.hasPrefix("main") || $0.hasPrefix("media") || $0 == "statusBar"
        }
        let pictures = try names(window, "imageFields").filter {
            $0.lowercased().hasSuffix("graphic")
        }
        let buttons = window.array("softButtonCapabilities").map { "\($0.elements.count) buttons" }
        return (texts + pictures + [buttons ?? "no buttons"]).joined(separator: " ")
    }

    private func names(_ window: JSONObject, _ fields: String) throws -> [String] {
        let array = try #require(window.array(fields))
        return array.elements.compactMap { array.object($0)?.string("name") }
    }

    private func capability(_ link: inout PaperLink) throws -> String {
        let type = #"{"systemCapabilityType":"DISPLAYS"}"#
        return try screen(link.requests(.getSystemCapability, type).first)
    }

    private func template(_ name: String, more: String = "") -> String {
        #"{"templateConfiguration":{"template":"\#(name)"}\#(more)}"#
    }

    @Test(
        "an app begins with the template of its kind",
        arguments: [
            ("DEFAULT", false, "mainField1 mainField2 mainField3 mainField4 graphic 6 buttons"),
            (
                "MEDIA", true,
                "mainField1 mainField2 mainField3 mediaTrack statusBar mediaClock graphic 2 buttons"
            ),
            ("NAVIGATION", false, "no buttons"),
        ])
    func first(type: String, media: Bool, expected: String) throws {
        var link = try PaperLink()
        let heard = try link.registers(
            "A", appID: "1", isMedia: media, more: #","appHMIType":["\#(type)"]"#)
        #expect(try screen(heard.first { $0.function == .onSystemCapabilityUpdated }) == expected)
        #expect(try capability(&link) == expected)
    }

    @Test("each change of template is followed by what that template has, and nothing else is")
    func changes() throws {
        var link = try PaperLink()
        try link.brings()
        let large = link.requests(.show, template("LARGE_GRAPHIC_ONLY"))
        #expect(large.map(\.function) == [.show, .onSystemCapabilityUpdated])
        #expect(try screen(large.last) == "graphic no buttons")
        #expect(try capability(&link) == "graphic no buttons")
        #expect(link.requests(.show, template("LARGE_GRAPHIC_ONLY")).count == 1, "no change")
        #expect(link.requests(.show, #"{"mainField1":"a"}"#).count == 1)
        let buttons = link.requests(.setDisplayLayout, #"{"displayLayout":"TILES_ONLY"}"#)
        #expect(buttons.map(\.function) == [.setDisplayLayout, .onSystemCapabilityUpdated])
        #expect(buttons.first?.parameters.object("displayCapabilities") != nil)
        #expect(buttons.first?.parameters.array("softButtonCapabilities")?.elements.count == 6)
        #expect(try screen(buttons.last) == "6 buttons")
        let back = link.requests(.show, template("DEFAULT"))
        #expect(
            try screen(back.last)
                == "mainField1 mainField2 mainField3 mainField4 graphic 6 buttons")
    }

    @Test("an unknown template is refused, or a warning beside other things to show")
    func unknown() throws {
        var link = try PaperLink()
        try link.brings()
        let alone = link.requests(.show, template("ROUND"))
        #expect(alone.map(\.result) == ["UNSUPPORTED_REQUEST"])
        #expect(alone.first?.info == "there is no template \"ROUND\"")
        let beside = link.requests(.show, template("ROUND", more: #","mainField1":"a""#))
        #expect(beside.map(\.result) == ["WARNINGS"])
        #expect(
            link.result(.setDisplayLayout, #"{"displayLayout":"ROUND"}"#) == "UNSUPPORTED_REQUEST")
    }

    @Test("before RPC 6 there is no such notification, and no field or word of later versions")
    func older() throws {
        var link = try PaperLink()
        let heard = try link.registers("A", appID: "1", version: 4)
        #expect(!heard.contains { $0.function == .onSystemCapabilityUpdated })
        let display = try #require(heard.first?.parameters.object("displayCapabilities"))
        let names = try names(display, "textFields")
        #expect(names.contains("mainField1") && !names.contains("templateTitle"))
        #expect(!names.contains("subtleAlertText1"))
        _ = link.passes(.seconds(1))
        let layout = link.requests(.setDisplayLayout, #"{"displayLayout":"MEDIA"}"#)
        #expect(layout.map(\.function) == [.setDisplayLayout])
    }

    @Test("each app has its own template")
    func apart() throws {
        var link = try PaperLink()
        try link.brings("First")
        let second = try link.brings("Second")
        _ = link.requests(.show, template("TILES_ONLY"), session: second)
        #expect(
            try capability(&link)
                == "mainField1 mainField2 mainField3 mainField4 graphic 6 buttons")
    }

    @Test("what the head unit says breaks no rule of the specification")
    func wellFormed() throws {
        var link = try PaperLink()
        var heard = try link.registers("A", appID: "1", isMedia: true)
        heard += answers(link.passes(.seconds(1)))
        let available = try #require(
            heard.first?.parameters.object("displayCapabilities")?.array("templatesAvailable"))
        let names = available.elements.compactMap(available.string)
        #expect(names.count == 17 && names.contains("DOUBLE_GRAPHIC_WITH_SOFTBUTTONS"))
        for name in names { heard += link.requests(.show, template(name)) }
        for answer in heard {
            var message = RPCMessage(request: answer.function, parameters: answer.parameters)
            message.type = answer.type
            let problems = RPCValidator.builtIn.problems(
                in: message, from: .accessory, negotiated: SDLVersion(8))
            #expect(
                problems.filter { $0.severity > .note }.isEmpty, "\(answer.function) \(problems)")
        }
    }
}
