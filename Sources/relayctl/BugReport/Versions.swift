import AccessoryLinks
import ControlAPI
import Glibc
import SDLProtocol

/// The versions of everything that runs here: the first page of a bug report.
enum Versions {
    /// One line each.
    ///
    /// - Parameter relayd: What is known about the running relayd, or why nothing is known.
    static func text(relayd: String) -> String {
        let specification = RPCCatalogue.builtIn
        let installed = ConfigurationCheck.relaydVersion.map(firstLine) ?? ""
        let systemd = CommandOutput.of("systemctl --version 2>/dev/null").map(firstLine) ?? ""
        return """
            relayctl \(Version.current)
            relayd \(relayd)
            relayd installed \(installed.isEmpty ? "none" : installed)
            RPC specification \(specification.version) \(specification.date), built in
            libusb \(USBLibrary.version)
            \(systemd.isEmpty ? "systemd none" : systemd)
            \(distribution ?? "distribution unknown")
            \(kernel)

            """
    }

    private static func firstLine(_ text: String) -> String {
        String(text.prefix { $0 != "\n" })
    }

    /// PRETTY_NAME of os-release(5).
    private static var distribution: String? {
        guard let text = CommandOutput.of("cat /etc/os-release /usr/lib/os-release 2>/dev/null")
        else { return nil }
        let key = "PRETTY_NAME="
        return text.split(separator: "\n").first { $0.hasPrefix(key) }.map { line in
            String(line.dropFirst(key.count)).filter { $0 != "\"" }
        }
    }

    private static var kernel: String {
        var system = utsname()
        uname(&system)
        func text(_ bytes: some Any) -> String {
            withUnsafeBytes(of: bytes) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(system.sysname)) \(text(system.release)) \(text(system.machine))"
    }
}
