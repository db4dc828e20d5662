import Glibc

/// Switches of Bluetooth radios, as the kernel shows them in /sys/class/rfkill
/// (Documentation/driver-api/rfkill.rst). A radio that is blocked cannot be powered.
struct RadioSwitches: Hashable, Sendable {
    struct Switch: Hashable, Sendable {
        /// `hci0`, or the name of a key for all radios of the kind.
        var name: String
        /// Blocked by software: `rfkill block`, or a desktop's settings.
        var isBlocked = false
        /// Blocked by a key or a switch of the machine.
        var isBlockedByHand = false

        /// What to do about one that is blocked, in the form of a command.
        var remedy: String {
            isBlockedByHand
                ? "switch it on with the key or switch of this machine (rfkill list shows it)"
                : "rfkill unblock bluetooth"
        }
    }

    var all: [Switch] = []

    /// The switches that block the adapter, or any adapter.
    func blocked(_ adapter: String? = nil) -> [Switch] {
        all.filter { radio in
            (radio.isBlocked || radio.isBlockedByHand)
                && (adapter == nil || radio.name == adapter || !radio.name.hasPrefix("hci"))
        }
    }
}

extension RadioSwitches {
    /// The switches as they are now.
    ///
    /// - Parameter root: Where the file system begins; tests use their own.
    static func now(in root: String = "") -> RadioSwitches {
        let folder = root + "/sys/class/rfkill"
        guard let directory = opendir(folder) else { return RadioSwitches() }
        defer { closedir(directory) }
        var found = RadioSwitches()
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            let path = "\(folder)/\(name)"
            guard name.hasPrefix("rfkill"), SystemFile.line("\(path)/type") == "bluetooth" else {
                continue
            }
            found.all.append(
                Switch(
                    name: SystemFile.line("\(path)/name") ?? name,
                    isBlocked: SystemFile.line("\(path)/soft") == "1",
                    isBlockedByHand: SystemFile.line("\(path)/hard") == "1"))
        }
        found.all.sort { $0.name < $1.name }
        return found
    }
}
