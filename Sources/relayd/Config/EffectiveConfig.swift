package import ControlAPI
import NIOCore

// A configuration with the origin of each value, and how both are shown. Made by `Arguments`,
// reported by the control API.

/// The configuration relayd runs with.
package struct EffectiveConfig: Sendable {
    package var config: Config
    /// The last origin of each option that was set.
    package var origins: [String: ConfigOrigin]
    /// The absolute path of the file that was read, if any.
    package var file: String?

    package init(
        _ config: Config, origins: [String: ConfigOrigin] = [:], file: String? = nil
    ) {
        self.config = config
        self.origins = origins
        self.file = file
    }

    /// Every option with its value and its origin.
    package var report: ConfigReport {
        let builtIn = Config()
        return ConfigReport(
            options: ConfigSchema().options.map { option in
                let origin = origins[option.path]
                return ConfigOptionReport(
                    path: option.path, value: option.value(config), builtIn: option.value(builtIn),
                    unit: option.unit, text: option.text(config),
                    builtInText: option.text(builtIn),
                    origin: origin?.kind ?? .builtIn, place: origin?.place)
            }, file: file)
    }
}

extension EffectiveConfig {
    /// Valid values that will not work on this machine; one line each.
    package var warnings: [String] {
        [("control.group", config.control.group), ("openxc.pty_group", config.openxc.ptyGroup)]
            .compactMap { path, group in
                guard !group.isEmpty, SystemGroup.number(of: group) == nil else { return nil }
                let place = origins[path].map { "\($0): " } ?? ""
                return """
                    \(place)warning: \(path): there is no group "\(group)" on this machine, and relayd \
                    would not start here; create it (sudo groupadd --system \(group)), or check the file \
                    where it is used
                    """
            }
    }
}

extension ConfigOrigin {
    fileprivate var kind: ConfigOriginKind {
        switch self {
        case .file, .wholeFile: .file
        case .environment: .environment
        case .flag: .flag
        }
    }

    fileprivate var place: String {
        if case .environment(let name) = self { name } else { description }
    }
}

extension ConfigOption {
    /// A value in the form of the control API: a boolean, a number, a list, or else text.
    static func value(_ value: Any, of path: String) -> ConfigOptionValue {
        switch value {
        case let flag as Bool: .flag(flag)
        case let number as Int: .number(number)
        case let time as TimeAmount: .number(Quantity.milliseconds(Duration(time)))
        case let list as [any Sendable]: .list(list.map { text($0, of: path) })
        default: .text(text(value, of: path))
        }
    }

    static func text(_ value: Any, of path: String) -> String {
        switch value {
        // The only number written in octal.
        case let mode as UInt32: "0" + String(mode, radix: 8)
        case let time as TimeAmount: Quantity.text(Duration(time))
        case let path as Config.Control.SocketPath:
            if case .path(let path) = path { path } else { "auto" }
        case let list as [any Sendable]: list.map { text($0, of: path) }.joined(separator: ", ")
        case let value as any RawRepresentable: "\(value.rawValue)"
        default: "\(value)"
        }
    }
}
