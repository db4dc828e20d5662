// The fields of the screen as listed in the capabilities: those of the template, and those of menus and pop-ups,
// which are the same in all templates.

import SDLProtocol

extension Capabilities {
    var textFields: JSON {
        // UTF_8 came with RPC 7; earlier head units all claimed one of two Ford character sets.
        let characterSet: JSON = rpcVersion.major >= 7 ? "UTF_8" : "TYPE2SET"
        let names = (template.texts + Self.commonTexts).filter { exists($0, in: Self.textNames) }
        return .array(
            names.map { name in
                [
                    "name": .string(name), "characterSet": characterSet,
                    "width": name == "templateTitle" ? 100 : 500, "rows": 1,
                ]
            })
    }

    var imageFields: JSON {
        let pictures = template.pictures + Self.commonPictures
        return .array(
            pictures.filter { exists($0.field, in: Self.imageNames) }.map { picture in
                [
                    "name": .string(picture.field),
                    "imageTypeSupported": ["GRAPHIC_BMP", "GRAPHIC_JPEG", "GRAPHIC_PNG"],
                    "imageResolution": [
                        "resolutionWidth": .integer(picture.width),
                        "resolutionHeight": .integer(picture.height),
                    ],
                ]
            })
    }

    /// One entry for each button; nil where the template has none.
    var softButtons: JSON? {
        guard let buttons = template.softButtons else { return nil }
        var one: JSON = [
            "shortPressAvailable": true, "longPressAvailable": true, "upDownAvailable": true,
            "imageSupported": true,
        ]
        if rpcVersion.major >= 6 {
            one = one.merging(["textSupported": .bool(buttons.hasText)])
        }
        return .array(Array(repeating: one, count: buttons.count))
    }

    private static let commonTexts = [
        "templateTitle", "alertText1", "alertText2", "alertText3", "subtleAlertText1",
        "subtleAlertText2", "subtleAlertSoftButtonText", "scrollableMessageBody",
        "initialInteractionText", "navigationText1", "navigationText2", "ETA", "totalDistance",
        "timeToDestination", "turnText", "audioPassThruDisplayText1",
        "audioPassThruDisplayText2", "sliderHeader", "sliderFooter", "menuName", "secondaryText",
        "tertiaryText", "menuTitle", "menuCommandSecondaryText", "menuCommandTertiaryText",
        "menuSubMenuSecondaryText", "menuSubMenuTertiaryText",
    ]

    private static let commonPictures = [
        Template.Picture("softButtonImage", 50, 50), .init("choiceImage", 40, 40),
        .init("choiceSecondaryImage", 40, 40), .init("vrHelpItem", 40, 40),
        .init("turnIcon", 50, 50), .init("menuIcon", 40, 40), .init("subMenuIcon", 40, 40),
        .init("cmdIcon", 150, 150), .init("appIcon", 50, 50),
        .init("showConstantTBTIcon", 50, 50), .init("showConstantTBTNextTurnIcon", 50, 50),
        .init("alertIcon", 225, 225), .init("subtleAlertIcon", 225, 225),
        .init("menuCommandSecondaryImage", 40, 40), .init("menuSubMenuSecondaryImage", 40, 40),
    ]

    // MARK: Versions

    /// Older apps do not know newer names.
    private func exists(_ name: String, in names: [String: SDLVersion]) -> Bool {
        names[name].map { $0 <= rpcVersion } ?? true
    }

    /// The versions in which field names were introduced; names that have always existed are not listed.
    private static let textNames = sinces(of: "TextFieldName")
    private static let imageNames = sinces(of: "ImageFieldName")

    private static func sinces(of name: String) -> [String: SDLVersion] {
        let elements = RPCCatalogue.builtIn.enumeration(name)?.elements ?? []
        return elements.reduce(into: [:]) { $0[$1.name] = $1.lifetime.since }
    }
}
