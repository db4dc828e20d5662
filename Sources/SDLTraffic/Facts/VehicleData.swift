package import RelayCore
import SDLProtocol

/// The car's latest values of the items that an app subscribed to or read, as they were sent to it; kept in
/// `SubscriptionFacts`.
///
/// Cars repeat the same items many times a second, and the values are rarely read: a new value overwrites the
/// old one without an allocation.
package struct VehicleData: Hashable, Sendable {
    /// In order of arrival, at most `FactLimits.vehicleData`; `data` has the values at the same indices.
    private var names: [String] = []
    private var data: [VehicleDatum] = []

    package init() {}

    package var count: Int { names.count }

    package subscript(name: String) -> VehicleDatum? {
        names.firstIndex(of: name).map { data[$0] }
    }

    /// By name.
    package var sorted: [(name: String, datum: VehicleDatum)] {
        zip(names, data).map { ($0, $1) }.sorted { $0.name < $1.name }
    }

    mutating func subscribe(_ name: String) {
        guard let index = index(of: name) else { return }
        data[index].isSubscribed = true
    }

    mutating func unsubscribe(_ name: String) {
        guard let index = names.firstIndex(of: name) else { return }
        data[index].isSubscribed = false
    }

    /// Applies OnVehicleData, or the response to GetVehicleData.
    mutating func learn(_ parameters: JSONObject, at time: WallTime) {
        // Items usually come in the same order.
        var expected = 0
        for member in parameters.members {
            guard let index = index(of: member.key, in: parameters, expected) else { continue }
            data[index].take(member.value, of: parameters, at: time)
            expected = index + 1
        }
    }

    private mutating func index(
        of key: JSONToken, in parameters: JSONObject, _ expected: Int
    ) -> Int? {
        if expected < names.count, parameters.isKey(key, names[expected]) { return expected }
        if let known = names.firstIndex(where: { parameters.isKey(key, $0) }) { return known }
        guard let name = FactLimits.text(parameters.string(key)), !Self.notData.contains(name)
        else { return nil }
        return index(of: name)
    }

    /// The index of the item, added if necessary; nil when there are too many.
    private mutating func index(of name: String) -> Int? {
        if let known = names.firstIndex(of: name) { return known }
        guard names.count < FactLimits.vehicleData else { return nil }
        names.append(name)
        data.append(VehicleDatum())
        return names.count - 1
    }

    private static let notData: Set<String> = ["success", "resultCode", "info"]
}

package struct VehicleDatum: Hashable, Sendable {
    package var isSubscribed = false
    /// When the value was last sent; nil before the first time.
    package private(set) var time: WallTime?
    /// The value in UTF-8.
    private var text: [UInt8] = []

    /// Objects and arrays as JSON on one line, strings without quotes; nil before the first value.
    package var value: String? { time == nil ? nil : String(decoding: text, as: UTF8.self) }

    mutating func take(_ token: JSONToken, of parameters: JSONObject, at time: WallTime) {
        self.time = time
        text.removeAll(keepingCapacity: true)
        switch token.kind {
        case .object, .array:
            parameters.appendCompacted(token, to: &text)
            guard text.count > FactLimits.value else { return }
            let whole = String(decoding: text, as: UTF8.self)
            text = Array(PrintableText.string(whole, limit: FactLimits.value).utf8)
        case .string, .number, .bool, .null:
            PrintableText.append(token, of: parameters.bytes, to: &text, limit: FactLimits.value)
        }
    }
}
