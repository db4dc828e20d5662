// Whether this is a build with a sanitizer, and what follows from it for tests.

import CShims
import Glibc

/// The sanitizer that `swift build --sanitize` built in, if any. `Scripts/test --sanitize` runs the
/// suite with one.
package enum Sanitizer {
    case thread, address

    /// The sanitizer of this process and of the programs built with it.
    package static let current: Sanitizer? =
        switch relay_sanitizer() {
        case RELAY_THREAD_SANITIZER: .thread
        case RELAY_ADDRESS_SANITIZER: .address
        default: nil
        }

    /// Whether this is a plain build, for `.enabled(if:)`. The test says beside it why it needs one.
    package static var isAbsent: Bool { current == nil }

    /// Environment variables for a program that a test starts, so that its reports go where the
    /// tests' reports go.
    package static var environment: [String: String] {
        var environment: [String: String] = [:]
        for name in ["TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }
}
