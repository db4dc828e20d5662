import Glibc

/// Reads what a symbolic link points to, without checking whether the target exists.
enum SymbolicLink {
    /// - Returns: nil when there is nothing, no symbolic link, or no permission to read it.
    static func target(of path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let length = readlink(path, base, Int(PATH_MAX))
            guard length > 0 else { return nil }
            base[length] = 0
            return String(cString: base)
        }
    }
}
