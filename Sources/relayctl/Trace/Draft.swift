import Glibc
import Synchronization

/// The temporary name of a file, on a file system that does not support files without a name. The file is
/// removed when the user ends the program.
enum Draft {
    /// Address of the name, a C string; 0 while there is none. An atomic, because a signal handler may read
    /// nothing else of Swift.
    private static let name = Atomic<UInt>(0)
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    static func begin(_ path: String) {
        end()
        guard let copy = strdup(path) else { return }
        name.store(UInt(bitPattern: copy), ordering: .sequentiallyConsistent)
        // Under nohup(1) SIGHUP is ignored, and in a background job of a script SIGINT.
        for number in signals where !isIgnored(number) {
            signal(number) { number in
                let address = Draft.name.load(ordering: .sequentiallyConsistent)
                if let path = UnsafePointer<CChar>(bitPattern: address) { unlink(path) }
                // Ends the process as it would have ended without this handler.
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
