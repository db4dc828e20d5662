// What the sample app sends in each step, and how it goes on from one to the next.

import NIOCore
import SDLProtocol

extension SampleApp {
    /// How long the alert stays on the screen, in milliseconds; the shortest MOBILE_API allows.
    static let alertDuration: Int64 = 3000

    mutating func begin(_ next: Step) {
        step = next
        awaited = nil
        nextDeadline = now + TimeAmount(configuration.patience)
        switch next {
        case .startService: sendStartService()
        case .register: request(.registerAppInterface, registration)
        case .activation: beginActivation()
        case .listFiles: request(.listFiles)
        case .uploadIcon: uploadNextChunk()
        case .setAppIcon: request(.setAppIcon, "{\"syncFileName\":\"\(AppIcon.fileName)\"}")
        case .show:
            request(
                .show,
                #"{"mainField1":"Hello from relayd","mainField2":"sample app"}"#)
        case .subscribe: request(.subscribeVehicleData, Self.vehicleDataItems)
        case .vehicleData:
            nextDeadline = now + TimeAmount(configuration.vehicleDataPatience)
            if !isSubscribed { begin(.alert) }
        case .alert:
            nextDeadline = nextDeadline.map { $0 + .milliseconds(Self.alertDuration) }
            request(
                .alert, #"{"alertText1":"Hello from relayd","duration":\#(Self.alertDuration)}"#)
        case .stay: beginStay()
        case .unsubscribe:
            if isSubscribed {
                request(.unsubscribeVehicleData, Self.vehicleDataItems)
            } else {
                begin(.unregister)
            }
        case .unregister: request(.unregisterAppInterface)
        case .endService: sendEndService()
        }
    }

    mutating func goOn() {
        guard let step, let next = Step(rawValue: step.rawValue + 1) else {
            outcome = .finished
            nextDeadline = nil
            return
        }
        begin(step == .register && configuration.isIdle ? .stay : next)
    }

    private mutating func beginActivation() {
        nextDeadline = now + TimeAmount(configuration.activationPatience)
        if hmiLevel == .full {
            activated()
        } else {
            say("waiting for HMI level FULL; on a real head unit, pick the app now")
        }
    }

    mutating func activated() {
        say("HMI level FULL: the app is on the screen")
        goOn()
    }

    mutating func goOnWithoutData() {
        let time = configuration.vehicleDataPatience.components.seconds
        say("no vehicle data for \(time) s: nothing changes; going on")
        goOn()
    }

    private mutating func beginStay() {
        guard configuration.stays, !isLeaving else {
            begin(.unsubscribe)
            return
        }
        nextDeadline = nil
        say("staying registered")
    }

    // MARK: Parameters

    private static let vehicleDataItems = #"{"speed":true,"rpm":true,"gps":true}"#

    private var registration: String {
        """
        {"syncMsgVersion":{"majorVersion":8,"minorVersion":0,"patchVersion":0},\
        "appName":\(PrintableText.jsonString(configuration.name)),\
        "isMediaApplication":\(configuration.hmiTypes.contains("MEDIA")),\
        "languageDesired":"EN-US","hmiDisplayLanguageDesired":"EN-US",\
        "appHMIType":[\(configuration.hmiTypes.map(PrintableText.jsonString).joined(separator: ","))],\
        "appID":\(PrintableText.jsonString(configuration.appID))}
        """
    }

    /// Sends the icon, or the next piece of it when the head unit accepts only small frames.
    mutating func uploadNextChunk() {
        guard session?.version != 1 else {
            say("protocol 1 cannot carry files: no icon")
            begin(.show)
            return
        }
        let room = maximumPayloadBytes - RPCHeader.bytes - Self.putFileJSONBytes
        let count = min(room, icon.readableBytes - uploadedBytes)
        guard
            let chunk = icon.getSlice(at: icon.readerIndex + uploadedBytes, length: max(count, 0)),
            count > 0
        else {
            fail("the head unit's frames are too small for PutFile")
            return
        }
        // The first chunk announces the length of the whole file, the others their own.
        let length = uploadedBytes == 0 ? icon.readableBytes : count
        let parameters = """
            {"syncFileName":"\(AppIcon.fileName)","fileType":"GRAPHIC_PNG",\
            "persistentFile":false,"systemFile":false,"offset":\(uploadedBytes),\
            "length":\(length),"crc":\(CRC32.checksum(of: chunk))}
            """
        uploadedBytes += count
        request(.putFile, parameters, bulk: chunk)
    }

    /// Room for the parameters of PutFile above, whose numbers have at most ten digits.
    private static let putFileJSONBytes = 200

    /// Goes on with the file or the next step when the head unit has accepted a chunk.
    mutating func chunkTaken() {
        if uploadedBytes < icon.readableBytes {
            begin(.uploadIcon)
        } else {
            say("icon uploaded, \(icon.readableBytes) bytes")
            goOn()
        }
    }
}
