/// What the dialogue on endpoint 0 reports to people, once each time that it happens.
package enum GadgetRemark: Hashable, Sendable {
    case neverAsked
    case neverStarted(HeadUnitIntroduction)
    case neverReturned
    case leftBeforeStart
    case askedAgain
    case starts(HeadUnitIntroduction)
    case configured(HeadUnitIntroduction)
    case suspended
    case resumed
    case unknownString(UInt16)
    case longString(UInt16)
    case unknownRequest(SetupRequest)

    /// Whether a person may have to act.
    package var isWarning: Bool {
        switch self {
        case .neverAsked, .neverStarted, .neverReturned: true
        default: false
        }
    }

    /// One sentence without a full stop.
    package var words: String {
        switch self {
        case .neverAsked:
            "the head unit sees a phone and has not asked for accessory mode; check that it supports "
                + "apps over USB for Android, and that its setting for them is on"
        case .neverStarted(let headUnit):
            "\(Self.name(headUnit)) asked for accessory mode and never started it; switch it off and on, "
                + "or pull the cable and plug it in again"
        case .neverReturned:
            "the head unit started accessory mode and has not taken the accessory; the machine is a "
                + "phone again, so that it can try once more"
        case .leftBeforeStart: "the head unit left before it started accessory mode"
        case .askedAgain: "the head unit asks for accessory mode from the beginning"
        case .starts(let headUnit): "\(Self.name(headUnit)) starts accessory mode"
        case .configured(let headUnit): "\(Self.name(headUnit)) has taken the accessory"
        case .suspended: "the head unit has suspended the bus; nothing moves until it resumes it"
        case .resumed: "the head unit has resumed the bus"
        case .unknownString(let index):
            "the head unit sent a string with index \(index), which AOA does not have; it is ignored"
        case .longString(let length):
            "the head unit announced a string of \(length) bytes; AOA allows "
                + "\(AndroidAccessory.maximumStringBytes), so it is refused"
        case .unknownRequest(let request):
            "the head unit sent request \(request.request) (type \(USBText.byte(request.type)), "
                + "\(request.length) bytes), which is refused"
                + (Self.isOfAOA2(request)
                    ? ": relayd is a phone without AOA's audio and input devices" : "")
        }
    }

    private static func name(_ headUnit: HeadUnitIntroduction) -> String {
        headUnit.words.map { "the head unit (\($0))" }
            ?? "the head unit, which has not said its name,"
    }

    private static func isOfAOA2(_ request: SetupRequest) -> Bool {
        request.type & 0x7F == 0x40 && (54...59).contains(request.request)
    }
}
