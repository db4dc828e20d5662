import Glibc

/// Wireshark's folders for a user's own Lua files and capture programs. They depend on the version, so
/// tshark is asked if it is installed.
struct WiresharkFolders: Sendable, Equatable {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    var plugins: String
    /// Several where the version is unknown: each version looks into one of them.
    var extcap: [String]

    /// - Parameters:
    ///   - environment: The value of a variable; nil when unset.
    ///   - listing: The output of `tshark -G folders`; nil or empty when there is none.
    /// - Throws: `Problem` where neither tshark nor `$HOME` gives a place.
    init(
        environment: (String) -> String? = WiresharkFolders.variable,
        listing: () -> String? = { CommandOutput.of("tshark -G folders 2>/dev/null") }
    ) throws(Problem) {
        let found = Self.parse(listing() ?? "")
        let configuration = found["Personal configuration"]
        if let plugins = found["Personal Lua Plugins"],
            // Since 4.2 there is a folder for capture programs; before, it was inside the configuration
            // folder.
            let extcap = found["Personal Extcap path"] ?? configuration.map({ $0 + "/extcap" })
        {
            self.plugins = plugins
            self.extcap = [extcap]
            return
        }
        guard let home = environment("HOME"), home.hasPrefix("/") else {
            throw Problem(description: "HOME does not say where Wireshark keeps your files")
        }
        let settings = environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        plugins = home + "/.local/lib/wireshark/plugins"
        extcap = [
            home + "/.local/lib/wireshark/extcap",
            (settings ?? home + "/.config") + "/wireshark/extcap",
        ]
    }

    /// Lines such as "Personal configuration:\t/home/ann/.config/wireshark".
    private static func parse(_ listing: String) -> [String: String] {
        var folders: [String: String] = [:]
        for line in listing.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let path = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            if path.hasPrefix("/") { folders[String(line[..<colon])] = String(path) }
        }
        return folders
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
