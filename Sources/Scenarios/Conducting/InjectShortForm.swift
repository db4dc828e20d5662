package import ControlAPI
import SDLProtocol

/// Short forms of what benches often need, expanded to the notifications a head unit sends. For `relayctl
/// inject` and for the steps of scenarios.
package enum InjectShortForm {
    /// One notification.
    package struct Words: Sendable, Equatable {
        package var rpc: String
        package var set: [String]

        package init(rpc: String, set: [String]) {
            (self.rpc, self.set) = (rpc, set)
        }
    }

    /// Says what was found, and what the form accepts.
    package struct Mistake: Error, Sendable, Equatable {
        package let message: String

        init(_ message: String) { self.message = message }
    }

    package static let names = ["press", "touch", "hmi", "vehicle", "driver-distraction", "voice"]

    package static let notifications = RPCCatalogue.builtIn.functions
        .filter { $0.type == .notification && $0.name.hasPrefix("On") }.map(\.name).sorted()

    package static func expand(
        _ name: String, _ arguments: [String]
    ) throws(Mistake) -> [Words] {
        switch name {
        case "press": return try press(arguments)
        case "touch": return try touch(arguments)
        case "hmi": return try hmi(arguments)
        case "vehicle":
            guard !arguments.isEmpty else {
                throw Mistake(
                    "vehicle needs data; expected NAME=VALUE, e.g. vehicle speed=88")
            }
            for text in arguments where !text.contains("=") {
                throw Mistake(
                    "\"\(ScenarioWord.shown(text))\" has no value; expected NAME=VALUE, e.g. vehicle speed=88"
                )
            }
            return [Words(rpc: "OnVehicleData", set: arguments)]
        case "driver-distraction":
            guard arguments.count == 1, let state = ["on": "DD_ON", "off": "DD_OFF"][arguments[0]]
            else {
                throw Mistake("expected driver-distraction on or driver-distraction off")
            }
            return [Words(rpc: "OnDriverDistraction", set: ["state=\(state)"])]
        default:
            throw Mistake("there is no short form \(ScenarioWord.shown(name))")
        }
    }

    /// Head units send down, up and press.
    private static func press(_ arguments: [String]) throws(Mistake) -> [Words] {
        guard (1...2).contains(arguments.count),
            arguments.count == 1 || ["short", "long"].contains(arguments[1])
        else {
            throw Mistake(
                "expected press BUTTON or press BUTTON long, e.g. press OK, or press 7 for the soft button "
                    + "with ID 7")
        }
        let mode = arguments.count == 2 ? arguments[1].uppercased() : "SHORT"
        let button =
            UInt16(arguments[0]).map { ["buttonName=CUSTOM_BUTTON", "customButtonID=\($0)"] }
            ?? ["buttonName=\(arguments[0])"]
        return [
            Words(rpc: "OnButtonEvent", set: button + ["buttonEventMode=BUTTONDOWN"]),
            Words(rpc: "OnButtonEvent", set: button + ["buttonEventMode=BUTTONUP"]),
            Words(rpc: "OnButtonPress", set: button + ["buttonPressMode=\(mode)"]),
        ]
    }

    private static func touch(_ arguments: [String]) throws(Mistake) -> [Words] {
        let numbers =
            arguments.count == 1
            ? arguments[0].split(separator: ",", omittingEmptySubsequences: false).map {
                UInt16($0)
            }
            : []
        guard numbers.count == 2, let x = numbers[0], let y = numbers[1] else {
            throw Mistake("expected touch X,Y in pixels of the screen, e.g. touch 400,240")
        }
        return ["BEGIN", "END"].enumerated().map { index, type in
            Words(
                rpc: "OnTouchEvent",
                set: [
                    "type=\(type)", "event[0].id=0", "event[0].ts[0]=\(index * 50)",
                    "event[0].c[0].x=\(x)", "event[0].c[0].y=\(y)",
                ])
        }
    }

    private static func hmi(_ arguments: [String]) throws(Mistake) -> [Words] {
        let levels = ["FULL", "LIMITED", "BACKGROUND", "NONE"]
        guard arguments.count == 1, levels.contains(arguments[0].uppercased()) else {
            throw Mistake("expected hmi and one of \(levels.joined(separator: ", "))")
        }
        let level = arguments[0].uppercased()
        let isAudible = level == "FULL" || level == "LIMITED"
        return [
            Words(
                rpc: "OnHMIStatus",
                set: [
                    "hmiLevel=\(level)",
                    "audioStreamingState=\(isAudible ? "AUDIBLE" : "NOT_AUDIBLE")",
                    "systemContext=MAIN",
                ])
        ]
    }

    /// The notification for the app's voice command with this text.
    package static func voice(_ text: String, _ commands: [CommandReport]) throws(Mistake)
        -> [Words]
    {
        guard !text.isEmpty else {
            throw Mistake("voice needs what is said, e.g. voice \"play\"")
        }
        let spoken = commands.filter { command in
            command.spoken.contains { $0.lowercased() == text.lowercased() }
        }
        guard let command = spoken.first else {
            let known = commands.flatMap(\.spoken).prefix(20).map {
                "\"\(ScenarioWord.shown($0))\""
            }
            throw Mistake(
                "the app has no voice command \"\(ScenarioWord.shown(text))\"; "
                    + (known.isEmpty
                        ? "it has added none" : "expected one of " + known.joined(separator: ", ")))
        }
        return [Words(rpc: "OnCommand", set: ["cmdID=\(command.id)", "triggerSource=VR"])]
    }
}
