import SDLProtocol

/// "May I send this now, and if not, why": whether an app may use an RPC at this moment, and the one reason
/// that decides it. Used by `relayctl permissions` and the advice.
package struct PermissionVerdict: Hashable, Sendable {
    package enum Answer: String, Hashable, Sendable {
        case yes
        case no
        /// The head unit has not said.
        case unknown
    }

    /// The deciding reason.
    package enum Cause: String, Hashable, Sendable {
        case allowed
        case notRegistered = "not_registered"
        case alreadyRegistered = "already_registered"
        /// No OnPermissionsChange has come.
        case noPermissionsYet = "no_permissions_yet"
        /// The policy grants it at no level.
        case notGranted = "not_granted"
        case refusedByUser = "refused_by_user"
        /// Granted, but at other levels.
        case wrongLevel = "wrong_level"
    }

    package var answer: Answer
    package var cause: Cause
    /// One sentence.
    package var reason: String
    /// The remedy; nil when none is needed.
    package var remedy: String?
    /// The permission that the head unit sent; nil when it sent none.
    package var permission: Permission?
}

extension PermissionVerdict {
    /// - Parameter function: The name in the RPC specification.
    package init(_ function: String, of app: AppFacts) {
        let isNotification = function.hasPrefix("On")
        let verb = isNotification ? "is sent" : "is allowed"
        let permission = app.permissions[function]
        // An app that was never told its level is in NONE.
        let level = app.hmiLevel ?? .none
        func verdict(
            _ answer: Answer, _ cause: Cause, _ reason: String, _ remedy: String? = nil
        ) -> Self {
            Self(
                answer: answer, cause: cause, reason: reason, remedy: remedy,
                permission: permission)
        }
        if function == "RegisterAppInterface" {
            self =
                app.isRegistered
                ? verdict(
                    .no, .alreadyRegistered,
                    "the app is registered already; a session registers once",
                    "send UnregisterAppInterface first")
                : verdict(.yes, .allowed, "the app is not registered; this is how it does")
            return
        }
        guard app.isRegistered else {
            self = verdict(
                .no, .notRegistered, "the app is not registered",
                "send RegisterAppInterface and wait for its success")
            return
        }
        guard app.permissions.time != nil else {
            self = verdict(
                .unknown, .noPermissionsYet, "the head unit has sent no OnPermissionsChange yet",
                "wait for OnPermissionsChange; it follows the registration")
            return
        }
        guard let permission, !permission.allowed.union(permission.userDisallowed).isEmpty else {
            self = verdict(
                .no, .notGranted,
                permission == nil
                    ? "the head unit's permissions of this app do not name it"
                    : "the head unit allows it at no HMI level",
                "have the app's policy entry (appID \(app.appID ?? "?")) extended by a functional "
                    + "group with \(function)")
            return
        }
        if permission.allowed.contains(level) {
            self = verdict(
                .yes, .allowed,
                "it \(verb) in \(permission.allowed.words), and the "
                    + "app is in \(level.rawValue)" + Self.restrictions(permission, app.permissions)
            )
        } else if permission.userDisallowed.contains(level) {
            self = verdict(
                .no, .refusedByUser,
                "the user has refused it in \(permission.userDisallowed.words)",
                "allow it in the head unit's settings for this app")
        } else {
            self = verdict(
                .no, .wrongLevel,
                "it \(verb) in \(permission.allowed.words), but the app is in \(level.rawValue)",
                isNotification
                    ? "nothing to do: it comes when the app is in \(permission.allowed.words)"
                    : "send it after OnHMIStatus with \(permission.allowed.words)")
        }
    }

    /// Conditions that remain although the answer is yes.
    private static func restrictions(_ item: Permission, _ table: PermissionTable) -> String {
        var text = ""
        if item.requiresEncryption || table.requiresEncryption {
            text += "; only in a protected service"
        }
        if !item.allowedParameters.isEmpty {
            text += "; only with the parameters the head unit lists"
        }
        if !item.userDisallowedParameters.isEmpty {
            text += "; the user has refused some parameters"
        }
        return text
    }
}
