import NIOCore
import SDLProtocol
import Testing

@testable import SimulatedAccessory

/// Which apps stay visible or audible when another app is chosen.
@Suite struct HMILevelTests {
    @Test("the app that is chosen is FULL; who is heard otherwise, or streams, stays LIMITED")
    func kinds() throws {
        var link = try PaperLink()
        _ = try link.registers("Radio", appID: "1", isMedia: true, more: types("MEDIA"))
        #expect(
            answers(link.passes(.milliseconds(100))).statuses
                == ["1 FULL AUDIBLE NOT_STREAMABLE MAIN"])

        _ = try link.registers("Map", appID: "2", more: types("NAVIGATION"))
        #expect(
            answers(link.passes(.milliseconds(100))).statuses == [
                "2 FULL AUDIBLE STREAMABLE MAIN", "1 LIMITED AUDIBLE NOT_STREAMABLE MAIN",
            ])

        _ = try link.registers("News", appID: "3", more: types("INFORMATION"))
        #expect(
            answers(link.passes(.milliseconds(100))).statuses == [
                "3 FULL NOT_AUDIBLE NOT_STREAMABLE MAIN", "2 LIMITED AUDIBLE STREAMABLE MAIN",
            ], "the radio plays on")

        _ = try link.registers("Podcast", appID: "4", isMedia: true, more: types("MEDIA"))
        #expect(
            answers(link.passes(.milliseconds(100))).statuses == [
                "4 FULL AUDIBLE NOT_STREAMABLE MAIN",
                "1 BACKGROUND NOT_AUDIBLE NOT_STREAMABLE MAIN",
                "3 BACKGROUND NOT_AUDIBLE NOT_STREAMABLE MAIN",
            ], "two of a kind cannot both be heard")

        _ = try link.registers("Mirror", appID: "5", more: types("PROJECTION"))
        #expect(
            answers(link.passes(.milliseconds(100))).statuses == [
                "5 FULL NOT_AUDIBLE STREAMABLE MAIN", "2 LIMITED AUDIBLE NOT_STREAMABLE MAIN",
                "4 LIMITED AUDIBLE NOT_STREAMABLE MAIN",
            ], "one video at a time")
    }

    private func types(_ type: String) -> String { #","appHMIType":["\#(type)"]"# }

    @Test("when the app on the screen leaves, the others keep their levels")
    func leaves() throws {
        var link = try PaperLink()
        try link.brings("Radio", type: "MEDIA", media: true)
        let front = try link.brings("Front")
        #expect(link.requests(.unregisterAppInterface, session: front).statuses.isEmpty)
        #expect(link.accessory.app(inSession: 1)?.hmiLevel == .limited)
    }

    @Test(
        "who makes room for whom, as a table",
        arguments: [
            // Kind and level of the app, kind of the chosen app, resulting level.
            ("plain", HMILevel.full, "plain", "BACKGROUND"),
            ("plain", .full, "media", "BACKGROUND"),
            ("media", .full, "plain", "LIMITED audible"),
            ("media", .full, "media", "BACKGROUND"),
            ("media", .full, "communication", "LIMITED audible"),
            ("media", .limited, "navigation", "LIMITED audible"),
            ("media", .background, "plain", "BACKGROUND"),
            ("communication", .full, "communication", "BACKGROUND"),
            ("communication", .limited, "media", "LIMITED audible"),
            ("navigation", .full, "navigation", "BACKGROUND"),
            ("navigation", .full, "media", "LIMITED audible streamable"),
            ("navigation", .limited, "projection", "LIMITED audible"),
            ("projection", .full, "media", "LIMITED streamable"),
            ("projection", .full, "navigation", "BACKGROUND"),
            ("projection", .full, "plain", "LIMITED streamable"),
            ("media", .none, "plain", "NONE"),
        ])
    func table(kind: String, level: HMILevel, chosen: String, left: String) {
        let kind = Self.kind(kind)
        let state = HMIState(level, of: kind).makingRoom(for: Self.kind(chosen), kind: kind)
        let text =
            state.level.rawValue + (state.isAudible ? " audible" : "")
            + (state.isStreamable ? " streamable" : "")
        #expect(text == left)
    }

    private static func kind(_ name: String) -> AppKind {
        AppKind(isMedia: name == "media", types: [name.uppercased()])
    }
}
