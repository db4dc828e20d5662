// The parameters of an RPC that are shown in its log line: one table, read by `TrafficTextFormat`. To show
// more of a function, add it here.

import NIOCore
import SDLProtocol

/// One parameter to show, and how.
enum RPCHighlight: Sendable {
    /// An enumeration value or number, unchanged.
    case word(String)
    /// An enumeration value or number after its name.
    case labelled(String, as: String)
    /// Free text in quotes, shortened.
    case text(String)
    /// A member of an object, as free text in quotes.
    case textWithin(String, String)
    /// A member of an object, unchanged.
    case wordWithin(String, String)
    /// The number of elements of an array, and the word for one.
    case count(String, of: String)
    /// A version object: majorVersion.minorVersion.patchVersion.
    case version(String, as: String)
    /// A number of bytes.
    case size(String, as: String)
    /// The text of an array's first element in quotes, and the number of further elements.
    case firstText(String, in: String, of: String)
    /// An object of hours, minutes and seconds as 0:03:12, after these words.
    case clock(String, after: String)
    /// The names of all members, with their values when those are short.
    case members
    /// The names and values of all members except those that every answer has; for a position its
    /// coordinates, for other objects the first members.
    case values
    /// Shown only when it is not 0: the main window need not be named.
    case window(String)
}

enum RPCHighlights {
    /// Scalars shown of a free text; enough to recognise the text.
    static let textLimit = 40
    /// Members shown of an object; the size in the line shows that there are more.
    static let memberLimit = 6
    /// Members shown of an object within `values`.
    static let innerLimit = 2
    /// Maximum characters of a number from a peer: a double needs 24.
    static let numberLimit = 32
    /// Decimals shown of a coordinate: a metre.
    static let coordinateDecimals = 5
    /// The members that every answer has: shown as its result, not as values.
    static let outcome = ["success", "resultCode", "info"]

    struct Row: Sendable {
        var request: [RPCHighlight] = []
        var response: [RPCHighlight] = []
        var notification: [RPCHighlight] = []
    }

    static func of(_ message: RPCMessage) -> [RPCHighlight] {
        guard let row = table[message.functionID] else { return [] }
        return switch message.type {
        case .request: row.request
        case .response: row.response
        case .notification: row.notification
        }
    }

    private static let table: [FunctionID: Row] = [
        .registerAppInterface: Row(
            request: [
                .text("appName"), .labelled("appID", as: "appID"),
                .version("syncMsgVersion", as: "RPC"),
            ],
            response: [
                .version("syncMsgVersion", as: "RPC"), .wordWithin("vehicleType", "make"),
                .wordWithin("vehicleType", "model"), .wordWithin("vehicleType", "modelYear"),
            ]),
        .show: Row(request: [
            .window("windowID"), .text("mainField1"), .text("mainField2"), .text("mainField3"),
            .text("mainField4"), .wordWithin("graphic", "value"),
        ]),
        .alert: Row(request: [
            .text("alertText1"), .text("alertText2"), .text("alertText3"),
        ]),
        .subtleAlert: Row(request: [.text("alertText1"), .text("alertText2")]),
        .scrollableMessage: Row(request: [.text("scrollableMessageBody")]),
        .speak: Row(request: [.firstText("text", in: "ttsChunks", of: "chunk")]),
        .addCommand: Row(request: [
            .word("cmdID"), .textWithin("menuParams", "menuName"),
        ]),
        .deleteCommand: Row(request: [.word("cmdID")]),
        .addSubMenu: Row(request: [.word("menuID"), .text("menuName")]),
        .deleteSubMenu: Row(request: [.word("menuID")]),
        .createInteractionChoiceSet: Row(request: [
            .labelled("interactionChoiceSetID", as: "set"), .count("choiceSet", of: "choice"),
        ]),
        .deleteInteractionChoiceSet: Row(request: [.labelled("interactionChoiceSetID", as: "set")]),
        .performInteraction: Row(
            request: [.text("initialText"), .word("interactionMode")],
            response: [.labelled("choiceID", as: "choice"), .word("triggerSource")]),
        .slider: Row(
            request: [.text("sliderHeader")],
            response: [.labelled("sliderPosition", as: "position")]),
        .setMediaClockTimer: Row(request: [
            .word("updateMode"), .clock("startTime", after: ""), .clock("endTime", after: "to "),
        ]),
        .subscribeButton: Row(request: [.word("buttonName")]),
        .unsubscribeButton: Row(request: [.word("buttonName")]),
        .buttonPress: Row(request: [.word("buttonName"), .word("buttonPressMode")]),
        .subscribeVehicleData: Row(request: [.members]),
        .unsubscribeVehicleData: Row(request: [.members]),
        .getVehicleData: Row(request: [.members], response: [.values]),
        .putFile: Row(
            request: [.text("syncFileName"), .word("fileType")],
            response: [.size("spaceAvailable", as: "free")]),
        .deleteFile: Row(
            request: [.text("syncFileName")], response: [.size("spaceAvailable", as: "free")]),
        .listFiles: Row(
            response: [.count("filenames", of: "file"), .size("spaceAvailable", as: "free")]),
        .getFile: Row(request: [.text("fileName")]),
        .setAppIcon: Row(request: [.text("syncFileName")]),
        .setDisplayLayout: Row(request: [.word("displayLayout")]),
        .systemRequest: Row(request: [.word("requestType"), .text("fileName")]),
        .getSystemCapability: Row(request: [.word("systemCapabilityType")]),
        .changeRegistration: Row(request: [.word("language"), .word("hmiDisplayLanguage")]),
        .performAudioPassThru: Row(request: [
            .word("samplingRate"), .word("bitsPerSample"),
            .labelled("maxDuration", as: "maximum ms"),
        ]),
        .sendLocation: Row(request: [.text("locationName")]),
        .createWindow: Row(request: [.word("windowID"), .text("windowName"), .word("type")]),
        .deleteWindow: Row(request: [.word("windowID")]),
        .onHMIStatus: Row(notification: [
            .window("windowID"), .word("hmiLevel"), .word("audioStreamingState"),
            .word("systemContext"),
        ]),
        .onAppInterfaceUnregistered: Row(notification: [.word("reason")]),
        .onButtonEvent: Row(notification: [.word("buttonName"), .word("buttonEventMode")]),
        .onButtonPress: Row(notification: [
            .word("buttonName"), .word("buttonPressMode"),
            .labelled("customButtonID", as: "custom"),
        ]),
        .onCommand: Row(notification: [.word("cmdID"), .word("triggerSource")]),
        .onVehicleData: Row(notification: [.values]),
        .onDriverDistraction: Row(notification: [.word("state")]),
        .onPermissionsChange: Row(notification: [.count("permissionItem", of: "permission")]),
        .onLanguageChange: Row(notification: [.word("language"), .word("hmiDisplayLanguage")]),
        .onKeyboardInput: Row(notification: [.word("event")]),
        .onTouchEvent: Row(notification: [.word("type")]),
        .onSystemRequest: Row(notification: [.word("requestType"), .text("url")]),
        .onHashChange: Row(notification: [.word("hashID")]),
        .onTBTClientState: Row(notification: [.word("state")]),
        .onSystemCapabilityUpdated: Row(notification: [
            .wordWithin("systemCapability", "systemCapabilityType")
        ]),
        .onUpdateFile: Row(notification: [.text("fileName")]),
        .onUpdateSubMenu: Row(notification: [.word("menuID")]),
    ]
}

extension LineBuilder {
    /// Appends the highlights that are present, one space apart. Returns false when there are none.
    @discardableResult
    mutating func append(highlights: [RPCHighlight], of parameters: JSONObject) -> Bool {
        var isFirst = true
        for highlight in highlights {
            append(highlight, of: parameters, isFirst: &isFirst)
        }
        return !isFirst
    }

    private mutating func separate(_ isFirst: inout Bool) {
        isFirst ? gap() : append(ascii: " ")
        isFirst = false
    }

    private mutating func append(
        _ highlight: RPCHighlight, of parameters: JSONObject, isFirst: inout Bool
    ) {
        switch highlight {
        case .word(let name):
            appendWord(name, label: nil, of: parameters, isFirst: &isFirst)
        case .labelled(let name, let label):
            appendWord(name, label: label, of: parameters, isFirst: &isFirst)
        case .window(let name):
            guard let window = parameters.integer(name), window != 0 else { return }
            separate(&isFirst)
            append("window ")
            append(window)
        case .text(let name):
            appendText(name, of: parameters, isFirst: &isFirst)
        case .textWithin(let name, let member):
            guard let object = parameters.object(name) else { return }
            appendText(member, of: object, isFirst: &isFirst)
        case .wordWithin(let name, let member):
            guard let object = parameters.object(name) else { return }
            appendWord(member, label: nil, of: object, isFirst: &isFirst)
        case .count(let name, let thing):
            guard let array = parameters.array(name) else { return }
            append(count: array.elements.count, of: thing, isFirst: &isFirst)
        case .version(let name, let label):
            guard let version = SDLVersion(parameters.object(name)) else { return }
            separate(&isFirst)
            append(label)
            append(ascii: " ")
            append(version.description)
        case .size(let name, let label):
            guard let bytes = parameters.integer(name), bytes >= 0 else { return }
            separate(&isFirst)
            append(size: bytes)
            append(ascii: " ")
            append(label)
        case .firstText(let name, let list, let thing):
            appendFirstText(name, in: list, thing, of: parameters, isFirst: &isFirst)
        case .clock(let name, let words):
            appendClock(name, after: words, of: parameters, isFirst: &isFirst)
        case .members:
            appendMembers(of: parameters, isFirst: &isFirst)
        case .values:
            appendValues(of: parameters, isFirst: &isFirst)
        }
    }

    private mutating func append(count: Int, of thing: String, isFirst: inout Bool) {
        separate(&isFirst)
        append(count: count, of: thing)
    }

    private mutating func append(count: Int, of thing: String) {
        append(count)
        append(ascii: " ")
        append(thing)
        if count != 1 { append(ascii: "s") }
    }

    private mutating func appendWord(
        _ name: String, label: String?, of object: JSONObject, isFirst: inout Bool
    ) {
        guard let value = object.value(name), value.isShort else { return }
        separate(&isFirst)
        if let label {
            append(label)
            append(ascii: " ")
        }
        append(printable: value, of: object, limit: RPCHighlights.textLimit)
    }

    private mutating func appendText(
        _ name: String, of object: JSONObject, isFirst: inout Bool
    ) {
        // An empty text says "clear this field"; it is left out as if absent.
        guard let value = object.value(name), value.kind == .string, value.range.count > 2 else {
            return
        }
        separate(&isFirst)
        append(ascii: "\"")
        append(printable: value, of: object, limit: RPCHighlights.textLimit)
        append(ascii: "\"")
    }

    private mutating func appendMembers(of object: JSONObject, isFirst: inout Bool) {
        for member in object.members.prefix(RPCHighlights.memberLimit) {
            separate(&isFirst)
            append(printable: member.key, of: object, limit: RPCHighlights.textLimit)
            guard member.value.kind == .number || member.value.kind == .string else { continue }
            append(ascii: "=")
            append(printable: member.value, of: object, limit: RPCHighlights.textLimit)
        }
        guard object.members.count > RPCHighlights.memberLimit else { return }
        append(" …")
    }

    private mutating func appendFirstText(
        _ name: String, in list: String, _ thing: String, of object: JSONObject,
        isFirst: inout Bool
    ) {
        guard let array = object.array(list) else { return }
        guard let first = array.elements.first, let text = array.value(name, within: first),
            text.kind == .string, text.range.count > 2
        else {
            append(count: array.elements.count, of: thing, isFirst: &isFirst)
            return
        }
        separate(&isFirst)
        append(ascii: "\"")
        append(printable: text, of: array.bytes, limit: RPCHighlights.textLimit)
        append(ascii: "\"")
        guard array.elements.count > 1 else { return }
        append(" +")
        append(count: array.elements.count - 1, of: thing)
    }

    private mutating func appendClock(
        _ name: String, after words: String, of object: JSONObject, isFirst: inout Bool
    ) {
        guard let time = object.value(name), time.kind == .object else { return }
        func part(_ key: String) -> Int {
            object.value(key, within: time).flatMap(object.integer) ?? 0
        }
        let (hours, minutes, seconds) = (part("hours"), part("minutes"), part("seconds"))
        guard hours >= 0, minutes >= 0, seconds >= 0 else { return }
        separate(&isFirst)
        append(words)
        append(hours)
        append(ascii: ":")
        append(UInt64(minutes), digits: 2)
        append(ascii: ":")
        append(UInt64(seconds), digits: 2)
    }

    private mutating func appendValues(of object: JSONObject, isFirst: inout Bool) {
        var shown = 0
        for member in object.members {
            let (key, value) = (member.key, member.value)
            if RPCHighlights.outcome.contains(where: { object.isKey(key, $0) }) { continue }
            guard shown < RPCHighlights.memberLimit else { return append(" …") }
            shown += 1
            separate(&isFirst)
            append(printable: key, of: object.bytes, limit: RPCHighlights.textLimit)
            append(ascii: "=")
            if let latitude = object.value("latitudeDegrees", within: value),
                let longitude = object.value("longitudeDegrees", within: value)
            {
                append(coordinate: latitude, of: object)
                append(ascii: ",")
                append(coordinate: longitude, of: object)
            } else {
                append(value: value, of: object, depth: 0)
            }
        }
    }

    /// No quotes and no JSON: readable for people, and distinguishable from a line of JSON for tools.
    private mutating func append(value: JSONToken, of object: JSONObject, depth: Int) {
        switch value.kind {
        case .array: append("[…]")
        case .object where depth > 0: append("{…}")
        case .object:
            append(ascii: "{")
            var shown = 0
            object.visitMembers(within: value) { key, inner in
                shown += 1
                guard shown <= RPCHighlights.innerLimit else { return }
                if shown > 1 { append(ascii: " ") }
                append(printable: key, of: object.bytes, limit: RPCHighlights.textLimit)
                append(ascii: "=")
                append(value: inner, of: object, depth: depth + 1)
            }
            if shown > RPCHighlights.innerLimit { append(" …") }
            append(ascii: "}")
        case .string, .number, .bool, .null:
            append(printable: value, of: object.bytes, limit: RPCHighlights.textLimit)
        }
    }

    /// Truncated, not rounded, because the number keeps the text with which it was sent.
    private mutating func append(coordinate token: JSONToken, of object: JSONObject) {
        guard token.kind == .number else { return append(value: token, of: object, depth: 1) }
        var decimals: Int?
        for byte in object.bytes.readableBytesView.dropFirst(token.range.lowerBound)
            .prefix(min(token.range.count, RPCHighlights.numberLimit))
        {
            if byte == UInt8(ascii: ".") {
                decimals = 0
            } else if byte | 0x20 == UInt8(ascii: "e") {
                decimals = nil
            } else if let count = decimals {
                guard count < RPCHighlights.coordinateDecimals else { continue }
                decimals = count + 1
            }
            append(ascii: Unicode.Scalar(byte))
        }
    }
}

extension JSONToken {
    /// Whether the value fits into a line: no brackets.
    fileprivate var isShort: Bool { kind != .object && kind != .array }
}
