package import Foundation

/// The working tree that contains the tests.
package enum Checkout {
    package static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    package static let fixtures = root.appending(path: "Tests/Fixtures")
    /// Bytes that real apps and head units have sent.
    package static let captures = fixtures.appending(path: "captures")
}
