import Glibc

/// Detects firewalls that run here, by the files they leave.
enum Firewall {
    /// - Parameter root: Where the file system begins; tests have their own.
    static func active(in root: String = "") -> String? {
        if access(root + "/run/firewalld", F_OK) == 0 { return "firewalld" }
        guard let file = fopen(root + "/etc/ufw/ufw.conf", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(
                decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text.hasPrefix("ENABLED=yes") { return "ufw" }
        }
        return nil
    }
}
