import Glibc

/// The system relayd runs on, for people who read a recording elsewhere.
enum SystemName {
    /// Such as "Linux 6.1.0-18-amd64 x86_64".
    static var current: String? {
        var names = utsname()
        guard uname(&names) == 0 else { return nil }
        func text<Field>(_ field: Field) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(names.sysname)) \(text(names.release)) \(text(names.machine))"
    }
}
