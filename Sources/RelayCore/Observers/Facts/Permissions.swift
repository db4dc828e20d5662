// Which RPCs the head unit allows an app, and at which HMI levels: OnPermissionsChange, kept.

package import SDLProtocol

/// A set of HMI levels.
package struct HMILevelSet: OptionSet, Hashable, Sendable {
    package var rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ level: HMILevel) {
        rawValue =
            switch level {
            case .full: 1
            case .limited: 2
            case .background: 4
            case .none: 8
            }
    }

    package func contains(_ level: HMILevel) -> Bool { contains(HMILevelSet(level)) }

    /// The most visible first.
    package var levels: [HMILevel] { HMILevel.allCases.filter(contains) }

    /// "FULL, LIMITED or BACKGROUND".
    package var words: String {
        let names = levels.map(\.rawValue)
        guard let last = names.last, names.count > 1 else { return names.first ?? "no HMI level" }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }

    fileprivate init(_ array: JSONArray?) {
        self = []
        guard let array else { return }
        for element in array.elements.prefix(FactLimits.parameters) {
            guard let level = array.string(element).flatMap(HMILevel.init(rawValue:)) else {
                continue
            }
            insert(HMILevelSet(level))
        }
    }
}

/// What the head unit says of one RPC (MOBILE_API, "PermissionItem").
package struct Permission: Hashable, Sendable {
    package var allowed: HMILevelSet
    /// Levels in which the user has refused it.
    package var userDisallowed: HMILevelSet
    /// Parameters that may be used; empty means no restriction.
    package var allowedParameters: [String]
    package var userDisallowedParameters: [String]
    /// Only in a protected service.
    package var requiresEncryption: Bool
    /// When the head unit said so.
    package var time: WallTime
}

/// The permissions of one app.
package struct PermissionTable: Hashable, Sendable {
    /// By name of the RPC.
    package private(set) var items: [String: Permission] = [:]
    /// The latest OnPermissionsChange; nil before the first.
    package private(set) var time: WallTime?
    /// The whole app is to be protected.
    package private(set) var requiresEncryption = false

    package init() {}

    package subscript(name: String) -> Permission? { items[name] }

    /// Takes over an OnPermissionsChange. It is a change, by its name and for the app libraries:
    /// what it does not mention stays.
    mutating func update(_ parameters: JSONObject, at time: WallTime) {
        guard let list = parameters.array("permissionItem") else { return }
        self.time = time
        requiresEncryption = parameters.bool("requireEncryption") ?? false
        for element in list.elements.prefix(FactLimits.permissions) {
            guard let item = list.object(element),
                let name = FactLimits.text(item.string("rpcName")),
                items[name] != nil || items.count < FactLimits.permissions
            else { continue }
            let levels = item.object("hmiPermissions")
            let names = item.object("parameterPermissions")
            items[name] = Permission(
                allowed: HMILevelSet(levels?.array("allowed")),
                userDisallowed: HMILevelSet(levels?.array("userDisallowed")),
                allowedParameters: Self.names(names?.array("allowed")),
                userDisallowedParameters: Self.names(names?.array("userDisallowed")),
                requiresEncryption: item.bool("requireEncryption") ?? false, time: time)
        }
    }

    private static func names(_ array: JSONArray?) -> [String] {
        guard let array else { return [] }
        return array.elements.prefix(FactLimits.parameters)
            .compactMap { FactLimits.text(array.string($0)) }
    }
}
