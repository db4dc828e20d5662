import Glibc
import Synchronization

/// The name that a file has before it is whole, on a file system that has no files without one. It is removed
/// when the user ends the program.
enum Draft {
    /// Address of the name, a C string; 0 while there is none. A handler of signals may read an atomic and
    /// nothing else that Swift has.
    private static let name = Atomic<UInt>(0)
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    static func begin(_ path: String) {
        end()
        guard let copy = strdup(path) else { return }
        name.store(UInt(bitPattern: copy), ordering: .sequentiallyConsistent)
        // nohup(1) has SIGHUP ignored, and a script's background job SIGINT.
        for number in signals where !isIgnored(number) {
            signal(number) { number in
                let address = Draft.name.load(ordering: .sequentiallyConsistent)
                if let path = UnsafePointer<CChar>(bitPattern: address) { unlink(path) }
                // Ends as it would have ended without this.
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    static func end() {
        for number in signals where !isIgnored(number) { signal(number, SIG_DFL) }
        let address = name.exchange(0, ordering: .sequentiallyConsistent)
        if let copy = UnsafeMutablePointer<CChar>(bitPattern: address) { free(copy) }
    }

    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
