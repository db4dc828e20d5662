// Requests of the control API count as clients of a vehicle interface: they get the answers to their
// commands, what they own is taken back when they end, and the same rules decide what they may write.

package import OpenXCProtocol
package import RelayCore

/// One request of the control API that asks something of a vehicle interface.
package struct VehicleGuest: Sendable {
    package enum Event: Sendable {
        /// A response to the request's own command.
        case response(CommandResponse)
        /// A diagnostic response, whoever asked for it; only for requests that want them.
        case diagnostic(DiagnosticResponse)
        /// Why there will be no answer.
        case note(Note<AppID>)
        /// The vehicle interface is gone, and forgets what it was asked.
        case linkClosed(reason: String)
        /// The event that `remind` promises.
        case isDue
    }

    package let id: AppID
    /// The events in the order in which they came. At most `maximumEvents` wait; further ones are lost.
    package let events: AsyncStream<Event>
    fileprivate let address: PeerAddress
    fileprivate let hearsDiagnostics: Bool
    fileprivate let inbox: AsyncStream<Event>.Continuation

    /// A request asks few questions, but gets the answers of all modules of a vehicle.
    static let maximumEvents = 1024

    fileprivate init(_ id: AppID, from address: PeerAddress, hearsDiagnostics: Bool) {
        self.id = id
        self.address = address
        self.hearsDiagnostics = hearsDiagnostics
        (events, inbox) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maximumEvents))
    }

    /// Puts `isDue` among the events. May be called from any thread.
    package func remind() { inbox.yield(.isDue) }
}

/// The requests that are under way, on the hub's loop.
struct VehicleGuests {
    private var guests: [AppID: VehicleGuest] = [:]
    private var count: UInt64 = 0

    /// The requests in the order of their arrival.
    var ids: [AppID] { guests.keys.sorted() }

    /// The address that each request comes from.
    var addresses: [AppID: PeerAddress] { guests.mapValues(\.address) }

    mutating func admit(from address: PeerAddress, hearsDiagnostics: Bool) -> VehicleGuest {
        let id = AppID(rawValue: AppID.firstVehicleGuest &+ count)
        let guest = VehicleGuest(id, from: address, hearsDiagnostics: hearsDiagnostics)
        count &+= 1
        guests[guest.id] = guest
        return guest
    }

    mutating func dismiss(_ id: AppID) {
        guests[id]?.inbox.finish()
        guests[id] = nil
    }

    func tell(_ id: AppID, _ event: @autoclosure () -> VehicleGuest.Event) {
        guests[id]?.inbox.yield(event())
    }

    func tellAll(_ event: VehicleGuest.Event) {
        for guest in guests.values { guest.inbox.yield(event) }
    }

    /// Passes a message of the vehicle interface on to the requests that it concerns.
    func hear(_ message: VehicleMessage, for destination: VehicleRouter<AppID>.Destination) {
        guard !guests.isEmpty else { return }
        switch (message.content, destination) {
        case (.response(let response), .client(let id)): tell(id, .response(response))
        case (.diagnostic(let response), .all):
            for guest in guests.values where guest.hearsDiagnostics {
                guest.inbox.yield(.diagnostic(response))
            }
        default: break
        }
    }
}

extension AppID {
    /// IDs from here on are never those of a connection.
    static let firstVehicleGuest: UInt64 = 1 << 63

    /// Whether this is a request of the control API.
    package var isVehicleGuest: Bool { rawValue >= Self.firstVehicleGuest }
}
