package import OpenXCProtocol
package import RelayCore

/// The state of a shared vehicle interface and its clients at one moment; made on the hub's loop, read by the
/// control API.
package struct VehicleSnapshot: Sendable {
    package struct Client: Sendable {
        package var id: AppID
        package var peer: String
        package var connectedAt: WallTime
        package var framing: MessageFraming
        package var subscription: Subscription
        /// Bytes that wait for the client, and their maximum.
        package var queuedBytes: Int
        package var maximumQueueBytes: Int
        /// Messages that the client missed because it did not read.
        package var lost: UInt64
        /// Messages from the client that were not carried out.
        package var refused: UInt64
        package var counts: VehicleMessageReader.Counts
        package var counters: TrafficCounters
        package var problem: String?
        package var permissions: WritePermissions
    }

    package var isConnected: Bool
    /// As configured.
    package var address: String
    package var identity: VehicleIdentity
    /// Nil until the vehicle interface has sent something.
    package var format: PayloadFormat?
    /// The counts of this link.
    package var counts: VehicleMessageReader.Counts
    package var recurring: [(request: DiagnosticRequest, owners: [AppID])]
    package var switches: [(key: SwitchKey, owners: [AppID])]
    /// The clients in the order of their arrival.
    package var clients: [Client]
}

extension Relay {
    /// Nil when the accessory is not a vehicle interface.
    package func vehicle() async throws -> VehicleSnapshot? {
        try await withVehicle { $0.snapshot() }
    }

    /// Calls `body` on the hub's loop; nil when the accessory is not a vehicle interface.
    package func withVehicle<Value: Sendable>(
        _ body: @escaping @Sendable (OpenXCLanguage) -> Value
    ) async throws -> Value? {
        try await withLanguage { ($0 as? OpenXCLanguage).map(body) }
    }
}
