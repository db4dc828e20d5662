// What the screen has room for, by template: modelled on generic_hmi, the HMI that is built with sdl_core, on a
// screen of 800 × 480 of which 405 lines belong to the template.

/// How a screen is laid out: its texts, pictures and soft buttons.
struct Template: Hashable, Sendable {
    /// Pixels.
    struct Picture: Hashable, Sendable {
        var field: String
        var width: Int64
        var height: Int64

        init(_ field: String, _ width: Int64, _ height: Int64) {
            self.field = field
            self.width = width
            self.height = height
        }
    }

    struct SoftButtons: Hashable, Sendable {
        var count: Int
        var hasText = true
    }

    var name: String
    /// Texts of Show, besides the title.
    var texts: [String] = []
    var pictures: [Picture] = []
    /// Nil where there is no place for any: apps must not wait for them then.
    var softButtons: SoftButtons?

    // MARK: Templates

    static let all: [Template] = [
        Template(
            name: "MEDIA",
            texts: [
                "mainField1", "mainField2", "mainField3", "mediaTrack", "statusBar", "mediaClock",
            ],
            pictures: [graphic], softButtons: SoftButtons(count: 2, hasText: false)),
        Template(
            name: "NON-MEDIA", texts: mainFields, pictures: [graphic],
            softButtons: SoftButtons(count: 6)),
        Template(name: "TEXT_WITH_GRAPHIC", texts: mainFields, pictures: [graphic]),
        Template(name: "GRAPHIC_WITH_TEXT", texts: mainFields, pictures: [graphic]),
        Template(
            name: "TEXTBUTTONS_WITH_GRAPHIC", pictures: [graphic],
            softButtons: SoftButtons(count: 6)),
        Template(
            name: "GRAPHIC_WITH_TEXTBUTTONS", pictures: [graphic],
            softButtons: SoftButtons(count: 6)),
        Template(name: "TEXTBUTTONS_ONLY", softButtons: SoftButtons(count: 6)),
        Template(name: "TILES_ONLY", softButtons: SoftButtons(count: 6)),
        Template(
            name: "GRAPHIC_WITH_TILES", pictures: [graphic], softButtons: SoftButtons(count: 6)),
        Template(
            name: "TILES_WITH_GRAPHIC", pictures: [graphic], softButtons: SoftButtons(count: 6)),
        Template(
            name: "GRAPHIC_WITH_TEXT_AND_SOFTBUTTONS", texts: mainFields, pictures: [graphic],
            softButtons: SoftButtons(count: 2)),
        Template(
            name: "TEXT_AND_SOFTBUTTONS_WITH_GRAPHIC", texts: mainFields, pictures: [graphic],
            softButtons: SoftButtons(count: 2)),
        Template(name: "LARGE_GRAPHIC_ONLY", pictures: [largeGraphic]),
        Template(
            name: "LARGE_GRAPHIC_WITH_SOFTBUTTONS", pictures: [largeGraphic],
            softButtons: SoftButtons(count: 6)),
        Template(
            name: "DOUBLE_GRAPHIC_WITH_SOFTBUTTONS",
            pictures: [graphic, Picture("secondaryGraphic", 360, 360)],
            softButtons: SoftButtons(count: 6)),
        Template(name: "NAV_FULLSCREEN_MAP"),
    ]

    private static let mainFields = ["mainField1", "mainField2", "mainField3", "mainField4"]
    private static let graphic = Picture("graphic", 360, 360)
    private static let largeGraphic = Picture("graphic", 780, 400)

    /// The names listed in `templatesAvailable`.
    static let names = ["DEFAULT"] + all.map(\.name)

    /// The template that an app of a kind begins with, and that DEFAULT restores.
    static func standard(for kind: AppKind) -> Template {
        let name =
            kind.isNavigation ? "NAV_FULLSCREEN_MAP" : kind.isMedia ? "MEDIA" : "NON-MEDIA"
        return all.first { $0.name == name } ?? Template(name: name)
    }

    /// Nil for a name that is not listed.
    static func named(_ name: String, for kind: AppKind) -> Template? {
        name == "DEFAULT" ? standard(for: kind) : all.first { $0.name == name }
    }
}
