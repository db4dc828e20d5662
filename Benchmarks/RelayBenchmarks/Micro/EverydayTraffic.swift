// The everyday traffic of apps and head units, for benchmarks of its observers.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol

/// Well-formed RPCs of exactly 600 bytes, frame header included: a request, its response and a
/// notification in turn, as the tap hands them over.
struct EverydayTraffic {
    static let frameBytes = 600
    private static let batchFrames = 64
    private static let app = AppID(rawValue: 1)
    private static let session: UInt8 = 1

    /// The traffic until the app is registered and in FULL.
    let beginning: [TapItem]
    let everyday: [TapItem]
    /// The number of messages in `everyday`.
    let messages: Int

    /// - Parameter interval: The time between two messages, in nanoseconds.
    init(rounds: Int, interval: Int64) {
        var time = WallTime.now()
        beginning = Self.beginning(at: time)
        var frames: [TappedFrame] = []
        frames.reserveCapacity(rounds * 3)
        func add(_ frame: Frame, _ direction: Direction) {
            time.nanoseconds += interval
            frames.append(
                TappedFrame(frame: frame, direction: direction, app: Self.app, time: time))
        }
        for number in 1...rounds {
            let (message, correlation) = (UInt32(number), Int32(truncatingIfNeeded: number))
            add(Self.frame(message, .request, .show, correlation, Self.show), .fromApp)
            add(Self.frame(message, .response, .show, correlation, Self.shown), .fromAccessory)
            add(
                Self.frame(message, .notification, .onVehicleData, 0, Self.vehicleData),
                .fromAccessory)
        }
        messages = frames.count
        everyday = stride(from: 0, to: frames.count, by: Self.batchFrames).map { start in
            .frames(Array(frames[start..<min(start + Self.batchFrames, frames.count)]))
        }
    }

    /// The sender of a flood.
    enum Sender {
        case app
        case headUnit
    }

    /// Requests of the app, or notifications of the head unit, as they travel.
    static func wire(_ sender: Sender, session: UInt8, count: Int) -> [UInt8] {
        Traffic.wire(
            (1...count).map { number in
                switch sender {
                case .app:
                    frame(
                        UInt32(number), .request, .show, Int32(number), show, session: session)
                case .headUnit:
                    frame(
                        UInt32(number), .notification, .onVehicleData, 0, vehicleData,
                        session: session)
                }
            })
    }

    private static func frame(
        _ message: UInt32, _ type: RPCType, _ function: FunctionID, _ correlation: Int32,
        _ json: String, session: UInt8 = session
    ) -> Frame {
        // Blanks after the object fill up the last bytes.
        let size = frameBytes - Traffic.overheadBytes
        precondition(json.utf8.count <= size, "\(function) has no room in \(frameBytes) bytes")
        let blanks = String(repeating: " ", count: size - json.utf8.count)
        return .rpc(
            session: session, message: message, type, function, correlation: correlation,
            json: json + blanks)
    }

    private static func beginning(at time: WallTime) -> [TapItem] {
        func tapped(_ frame: Frame, _ direction: Direction) -> TappedFrame {
            .seen(frame, direction, app: app, time: time)
        }
        return [
            .linkOpened(number: 1, address: "benchmark", time: time),
            .appConnected(app, peer: "benchmark", time: time),
            .frames([
                tapped(.startService(), .fromApp),
                tapped(.startServiceACK(session: session), .fromAccessory),
                tapped(
                    .rpc(
                        session: session, .request, .registerAppInterface, json: registration),
                    .fromApp),
                tapped(
                    .rpc(
                        session: session, .response, .registerAppInterface, json: registered),
                    .fromAccessory),
                tapped(
                    .rpc(
                        session: session, .notification, .onHMIStatus, correlation: 0, json: full),
                    .fromAccessory),
            ]),
        ]
    }

    private static let registration = """
        {"appName":"Benchmark","appID":"8675309","isMediaApplication":true,\
        "languageDesired":"EN-US","hmiDisplayLanguageDesired":"EN-US",\
        "syncMsgVersion":{"majorVersion":7,"minorVersion":1,"patchVersion":0}}
        """

    private static let registered = """
        {"success":true,"resultCode":"SUCCESS",\
        "syncMsgVersion":{"majorVersion":7,"minorVersion":1,"patchVersion":0}}
        """

    private static let full = """
        {"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN"}
        """

    private static let show = """
        {"mainField1":"Radio Relay 98.5","mainField2":"The Long Way Home","mainField3":"Side B",\
        "mainField4":"From the bench","alignment":"CENTERED","mediaTrack":"03:12",\
        "graphic":{"value":"cover-0815.png","imageType":"DYNAMIC"},"metadataTags":{"mainField1":\
        ["mediaStation"],"mainField2":["mediaTitle"]},"softButtons":[{"type":"TEXT","text":\
        "Next","isHighlighted":false,"softButtonID":101,"systemAction":"DEFAULT_ACTION"},\
        {"type":"BOTH","text":"Favourite","image":{"value":"heart.png","imageType":"DYNAMIC"},\
        "isHighlighted":true,"softButtonID":102,"systemAction":"DEFAULT_ACTION"}]}
        """

    private static let shown = """
        {"success":true,"resultCode":"SUCCESS","info":"\
        \(String(repeating: "The template has no third line. ", count: 16))"}
        """

    private static let vehicleData = """
        {"gps":{"longitudeDegrees":8.404435,"latitudeDegrees":49.013513,"utcYear":2026,\
        "utcMonth":11,"utcDay":21,"utcHours":10,"utcMinutes":40,"utcSeconds":7,\
        "compassDirection":"NORTHWEST","pdop":1.2,"hdop":0.9,"vdop":1.5,"actual":true,\
        "satellites":11,"dimension":"3D","altitude":115.3,"heading":312.5,"speed":52.25},\
        "speed":52.25,"rpm":2150,"fuelRange":[{"type":"GASOLINE","range":412.5}],\
        "engineTorque":86.5,"accPedalPosition":14.25,"steeringWheelAngle":-3.5,\
        "odometer":124316,"turnSignal":"OFF","driverBraking":"NO_EVENT",\
        "wiperStatus":"OFF","engineOilLife":87.5}
        """
}
