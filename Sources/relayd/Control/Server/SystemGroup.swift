import Glibc

/// Finds a group of this machine by what the configuration calls it: asked when the control socket
/// is made, and by --check-config.
package enum SystemGroup {
    /// A group's number; by name, else by number, as chown(1) reads it.
    ///
    /// - Returns: nil when there is no group of that name, and it is not a number.
    package static func number(of name: String) -> UInt32? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        // 64 KiB: a group with some thousand members still fits.
        let size = 65_536
        let status = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
            getgrnam_r(name, &entry, buffer.baseAddress, size, &found)
        }
        if status == 0, found != nil { return entry.gr_gid }
        // The highest number means "as it is" to chown(2).
        guard let number = gid_t(name), number != gid_t.max else { return nil }
        return number
    }
}
