// Whether this is a build with a sanitizer, and what follows from it for tests.

import CShims
import Glibc

/// What `swift build --sanitize` put in, if anything. `Scripts/test --sanitize` runs the suite with
/// it.
package enum Sanitizer {
    case thread, address

    /// Of this process, and of the programs built with it.
    package static let current: Sanitizer? =
        switch relay_sanitizer() {
        case RELAY_THREAD_SANITIZER: .thread
        case RELAY_ADDRESS_SANITIZER: .address
        default: nil
        }

    /// For `.enabled(if:)`: the build is a plain one. The test says beside it why it needs that.
    package static var isAbsent: Bool { current == nil }

    /// What a program that a test starts needs in its environment, so that its reports go where
    /// those of the tests go.
    package static var environment: [String: String] {
        var environment: [String: String] = [:]
        for name in ["TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }
}
