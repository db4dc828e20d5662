package import RelayCore
import SDLProtocol

/// What the head unit can show and play, as reported to this app.
package struct CapabilityFacts: Hashable, Sendable {
    /// "GENERIC_DISPLAY".
    package var displayName: String?
    /// In pixels.
    package var displayWidth: Int?
    package var displayHeight: Int?
    package var textFields: Int?
    package var imageFields: Int?
    package var templates: Int?
    package var buttons: Int?
    package var graphicSupported: Bool?
    /// The pixels that the head unit prefers for the video stream.
    package var videoWidth: Int?
    package var videoHeight: Int?
    /// In kilobits per second.
    package var maximumVideoBitRate: Int?
    /// "H264/RAW", in the head unit's order.
    package var videoFormats: [String] = []
    /// The capabilities reported, and when each last was: members of the registration's answer
    /// ("speechCapabilities"), and types of GetSystemCapability ("VIDEO_STREAMING").
    package var reported: [String: WallTime] = [:]

    package init() {}

    /// Learns from the response to RegisterAppInterface.
    mutating func learn(fromRegistration parameters: JSONObject, at time: WallTime) {
        for member in parameters.members {
            guard let name = FactLimits.text(parameters.string(member.key)),
                name.hasSuffix("Capabilities") || name == "prerecordedSpeech"
            else { continue }
            note(name, at: time)
        }
        buttons = parameters.array("buttonCapabilities")?.elements.count
        guard let display = parameters.object("displayCapabilities") else { return }
        displayName = FactLimits.text(display.string("displayName")) ?? displayName
        graphicSupported = display.bool("graphicSupported") ?? graphicSupported
        textFields = display.array("textFields")?.elements.count ?? textFields
        imageFields = display.array("imageFields")?.elements.count ?? imageFields
        templates = display.array("templatesAvailable")?.elements.count ?? templates
        let resolution = display.object("screenParams")?.object("resolution")
        displayWidth = resolution?.integer("resolutionWidth") ?? displayWidth
        displayHeight = resolution?.integer("resolutionHeight") ?? displayHeight
    }

    /// Learns from the response to GetSystemCapability, or OnSystemCapabilityUpdated.
    mutating func learn(from parameters: JSONObject, at time: WallTime) {
        guard let capability = parameters.object("systemCapability"),
            let type = FactLimits.text(capability.string("systemCapabilityType"))
        else { return }
        note(type, at: time)
        if let video = capability.object("videoStreamingCapability") { learn(video: video) }
        if let displays = capability.array("displayCapabilities"),
            let display = displays.elements.first.flatMap(displays.object)
        {
            learn(display: display)
        }
    }

    private mutating func learn(video: JSONObject) {
        let resolution = video.object("preferredResolution")
        videoWidth = resolution?.integer("resolutionWidth") ?? videoWidth
        videoHeight = resolution?.integer("resolutionHeight") ?? videoHeight
        maximumVideoBitRate = video.integer("maxBitrate") ?? maximumVideoBitRate
        guard let formats = video.array("supportedFormats") else { return }
        videoFormats = formats.elements.prefix(16).compactMap(formats.object).map { format in
            [format.string("codec"), format.string("protocol")]
                .compactMap { FactLimits.text($0) }.joined(separator: "/")
        }
    }

    private mutating func learn(display: JSONObject) {
        displayName = FactLimits.text(display.string("displayName")) ?? displayName
        guard let windows = display.array("windowCapabilities"),
            let window = windows.elements.first.flatMap(windows.object)
        else { return }
        textFields = window.array("textFields")?.elements.count ?? textFields
        imageFields = window.array("imageFields")?.elements.count ?? imageFields
        templates = window.array("templatesAvailable")?.elements.count ?? templates
        buttons = window.array("buttonCapabilities")?.elements.count ?? buttons
    }

    private mutating func note(_ name: String, at time: WallTime) {
        guard reported[name] != nil || reported.count < FactLimits.capabilities else { return }
        reported[name] = time
    }
}
