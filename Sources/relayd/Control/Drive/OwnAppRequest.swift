import ControlAPI
import SDLProtocol
import SampleApp

extension SampleApp.Configuration {
    /// The sample app for a scenario: it does everything that `relayctl sample-app --stay` does.
    static func sample(_ name: String, appID: String) -> SampleApp.Configuration {
        var configuration = SampleApp.Configuration()
        (configuration.name, configuration.appID) = (name, appID)
        configuration.stays = true
        return configuration
    }
}

extension OwnAppRequest {
    static let example = #"{"name": "RPC tester"}"#

    /// The identity and behaviour of the app.
    func configuration() throws(APIError) -> SampleApp.Configuration {
        var configuration = SampleApp.Configuration()
        configuration.isIdle = true
        configuration.stays = true
        configuration.patience = .milliseconds(Self.patience)
        configuration.name = try Self.check(name, "name")
        configuration.appID = usualAppID
        if let appID { configuration.appID = try Self.check(appID, "app_id") }
        if let types = hmiTypes {
            let areTypes = types.allSatisfy { type in
                (1...40).contains(type.utf8.count)
                    && type.utf8.allSatisfy {
                        ("A"..."Z").contains(Character(.init($0))) || $0 == 95
                    }
            }
            guard areTypes, (1...Self.maximumTypes).contains(types.count) else {
                throw APIError(
                    .badRequest,
                    "\"hmi_types\" is \(PrintableText.string("\(types)", limit: 100)); expected 1 to "
                        + "\(Self.maximumTypes) values of AppHMIType, such as [\"NAVIGATION\"]")
            }
            configuration.hmiTypes = types
        }
        return configuration
    }

    private static func check(_ text: String, _ member: String) throws(APIError) -> String {
        guard (1...Self.maximumScalars).contains(text.unicodeScalars.count),
            PrintableText.string(text) == text, !text.allSatisfy(\.isWhitespace)
        else {
            throw APIError(
                .badRequest,
                "\"\(member)\" is \"\(PrintableText.string(text, limit: 100))\"; expected 1 to "
                    + "\(Self.maximumScalars) characters that can be printed")
        }
        return text
    }

    /// The same for the same name, so that a head unit recognises the app.
    private var usualAppID: String {
        let letters = name.lowercased().unicodeScalars.map { scalar in
            scalar.properties.isAlphabetic || ("0"..."9").contains(Character(scalar))
                ? Character(scalar) : "-"
        }
        return "relayd-" + String(letters.prefix(Self.maximumScalars - 7))
    }
}
