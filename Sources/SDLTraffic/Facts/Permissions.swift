// Which RPCs the head unit allows an app, and at which HMI levels, from OnPermissionsChange.

import NIOCore
package import RelayCore
package import SDLProtocol

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

/// The head unit's permission for one RPC (MOBILE_API, "PermissionItem").
package struct Permission: Hashable, Sendable {
    package var allowed: HMILevelSet
    /// Levels in which the user has refused it.
    package var userDisallowed: HMILevelSet
    /// Parameters that may be used; empty means no restriction.
    package var allowedParameters: [String]
    package var userDisallowedParameters: [String]
    /// Only in a protected service.
    package var requiresEncryption: Bool

    fileprivate init(_ item: JSONObject) {
        let levels = item.object("hmiPermissions")
        let names = item.object("parameterPermissions")
        allowed = HMILevelSet(levels?.array("allowed"))
        userDisallowed = HMILevelSet(levels?.array("userDisallowed"))
        allowedParameters = Self.names(names?.array("allowed"))
        userDisallowedParameters = Self.names(names?.array("userDisallowed"))
        requiresEncryption = item.bool("requireEncryption") ?? false
    }

    private static func names(_ array: JSONArray?) -> [String] {
        guard let array else { return [] }
        return array.elements.prefix(FactLimits.parameters)
            .compactMap { FactLimits.text(array.string($0)) }
    }
}

struct PermissionsChange: Sendable {
    /// By RPC name.
    fileprivate var items: [String: Permission]
    /// Whether the whole app is to be protected.
    fileprivate var requiresEncryption: Bool

    /// Nil without a list.
    fileprivate init?(_ parameters: JSONObject) {
        guard let list = parameters.array("permissionItem") else { return nil }
        items = [:]
        requiresEncryption = parameters.bool("requireEncryption") ?? false
        for element in list.elements.prefix(FactLimits.permissions) {
            guard let item = list.object(element),
                let name = FactLimits.text(item.string("rpcName"))
            else { continue }
            items[name] = Permission(item)
        }
    }
}

/// The latest OnPermissionsChange. A head unit sends most apps the same 20 KB, which are read and kept once.
struct RecentPermissions: Sendable {
    private var latest: (text: ByteBuffer, change: PermissionsChange)?

    mutating func read(_ parameters: JSONObject) -> PermissionsChange? {
        if let latest, latest.text == parameters.bytes { return latest.change }
        guard let change = PermissionsChange(parameters) else { return nil }
        latest = (parameters.bytes.detached(), change)
        return change
    }
}

/// The permissions of one app.
package struct PermissionTable: Hashable, Sendable {
    /// By RPC name.
    package private(set) var items: [String: Permission] = [:]
    /// The latest OnPermissionsChange; nil before the first.
    package private(set) var time: WallTime?
    /// Whether the whole app is to be protected.
    package private(set) var requiresEncryption = false
    /// When the head unit last mentioned the permissions that are not in the latest change.
    private var olderTimes: [String: WallTime] = [:]

    package init() {}

    package subscript(name: String) -> Permission? { items[name] }

    /// When the head unit sent this permission.
    package func time(of name: String) -> WallTime? {
        items[name] == nil ? nil : olderTimes[name] ?? time
    }

    /// Applies an OnPermissionsChange. As its name says, and as the app libraries treat it, it is a change:
    /// permissions that it does not mention stay.
    mutating func update(_ change: PermissionsChange, at time: WallTime) {
        let unmentioned = items.keys.filter { change.items[$0] == nil }
        for name in unmentioned { olderTimes[name] = self.time(of: name) }
        if unmentioned.isEmpty {
            // Separate storage only if the permissions differ from those of other apps.
            items = change.items
            olderTimes = [:]
        } else {
            for (name, permission) in change.items {
                guard items[name] != nil || items.count < FactLimits.permissions else { continue }
                items[name] = permission
                olderTimes[name] = nil
            }
        }
        self.time = time
        requiresEncryption = change.requiresEncryption
    }
}
