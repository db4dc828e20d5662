import Glibc

/// Where Wireshark looks for a user's own Lua files and capture programs. It depends on the version, so tshark
/// is asked when there is one.
struct WiresharkFolders: Sendable, Equatable {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    var plugins: String
    /// Several where nobody knows which version there is: a version looks into one of them.
    var extcap: [String]

    /// - Parameters:
    ///   - environment: The value of a variable; nil when unset.
    ///   - listing: What `tshark -G folders` prints; nil or empty when there is none.
    /// - Throws: `Problem` where neither tshark nor `$HOME` says where.
    init(
        environment: (String) -> String? = WiresharkFolders.variable,
        listing: () -> String? = { CommandOutput.of("tshark -G folders 2>/dev/null") }
    ) throws(Problem) {
        let found = Self.parse(listing() ?? "")
        let configuration = found["Personal configuration"]
        if let plugins = found["Personal Lua Plugins"],
            // Since 4.2 there is a folder for capture programs; before, it lay in that of the configuration.
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
