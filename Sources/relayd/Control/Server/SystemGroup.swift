import Glibc

/// Finds a group of this machine by its name or number in the configuration. Used when the control
/// socket is created, and by --check-config.
package enum SystemGroup {
    /// A group's number, looked up by name, else read as a number, as chown(1) does.
    ///
    /// - Returns: nil if there is no group of that name and it is not a number.
    package static func number(of name: String) -> UInt32? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        // 64 KiB: a group with some thousand members still fits.
        let size = 65_536
        let status = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
            getgrnam_r(name, &entry, buffer.baseAddress, size, &found)
        }
        if status == 0, found != nil { return entry.gr_gid }
        // The highest number means "leave unchanged" to chown(2).
        guard let number = gid_t(name), number != gid_t.max else { return nil }
        return number
    }
}
