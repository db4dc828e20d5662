// Fault rules as the rest of the daemon sees them.

/// The present rules, and what they hold.
package struct FaultsSnapshot: Hashable, Sendable {
    package struct Rule: Hashable, Sendable {
        package enum State: String, Hashable, Sendable {
            /// Its time has not come.
            case waiting
            case on
            /// Its time is over, or it has taken as many messages as it may.
            case over
        }

        package var id: UInt32
        package var rule: FaultRule
        package var addedAt: WallTime
        /// Messages that its filter fits and that no earlier rule took.
        package var matched: UInt64
        /// Messages that it took.
        package var hits: UInt64
        package var state: State
    }

    package var rules: [Rule] = []
    package var heldFrames = 0
    package var heldBytes = 0

    package init(rules: [Rule] = [], heldFrames: Int = 0, heldBytes: Int = 0) {
        (self.rules, self.heldFrames, self.heldBytes) = (rules, heldFrames, heldBytes)
    }
}

/// With the new rules there would be more than `FaultLimits.rules`.
package struct FaultsFull: Error, Hashable, Sendable {}

extension Switchboard {
    /// Whether the head unit is real, neither simulated nor the replay of a recording.
    var isHeadUnitReal: Bool { Self.isReal(accessoryAddress) }

    package static func isReal(_ accessoryAddress: String) -> Bool {
        !["sim:", "replay:"].contains { accessoryAddress.hasPrefix($0) }
    }
}

extension Relay {
    /// Adds all rules or none.
    ///
    /// - Parameter known: What is known of apps that have registered already.
    /// - Returns: The rules' numbers; nil when the accessory is no head unit.
    /// - Throws: `FaultsFull`.
    package func addFaults(
        _ rules: [FaultRule], knowing known: [AppID: FaultAppFacts]
    ) async throws -> [UInt32]? {
        try await withLanguage { language in
            try (language as? SDLLanguage)?.addFaults(rules, knowing: known)
        }
    }

    /// Tells the rules what is known of apps that have registered already.
    package func faultsKnow(_ known: [AppID: FaultAppFacts]) async throws {
        try await withLanguage { ($0 as? SDLLanguage)?.faultsKnow(known) }
    }

    /// - Returns: False when there is no such rule.
    package func removeFault(_ id: UInt32) async throws -> Bool {
        try await withLanguage { ($0 as? SDLLanguage)?.removeFault(id) ?? false }
    }

    /// - Returns: How many there were.
    package func removeFaults() async throws -> Int {
        try await withLanguage { ($0 as? SDLLanguage)?.removeFaults() ?? 0 }
    }

    /// Nil when the accessory is no head unit.
    package func faults() async throws -> FaultsSnapshot? {
        try await withLanguage { ($0 as? SDLLanguage)?.faultSnapshot }
    }
}
