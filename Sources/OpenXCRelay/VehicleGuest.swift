// Requests of the control API stand among the clients of a vehicle interface: what they ask for is
// answered to them, what they own is taken back when they are over, and what they may write is decided by
// the same rules.

package import OpenXCProtocol
package import RelayCore

/// One request of the control API that asks something of a vehicle interface.
package struct VehicleGuest: Sendable {
    package enum Event: Sendable {
        /// To its own command.
        case response(CommandResponse)
        /// Whoever asked for it; only for those who want to hear it.
        case diagnostic(DiagnosticResponse)
        /// Why there will be no answer.
        case note(Note<AppID>)
        /// The vehicle interface is gone, and does not know any more what it was asked.
        case linkClosed(reason: String)
        /// What `remind` has promised.
        case isDue
    }

    package let id: AppID
    /// In the order in which they came. At most `maximumEvents` wait; what comes then is lost.
    package let events: AsyncStream<Event>
    fileprivate let address: PeerAddress
    fileprivate let hearsDiagnostics: Bool
    fileprivate let inbox: AsyncStream<Event>.Continuation

    /// A request asks a few things, and hears what all modules of a vehicle have to say to them.
    static let maximumEvents = 1024

    fileprivate init(_ id: AppID, from address: PeerAddress, hearsDiagnostics: Bool) {
        self.id = id
        self.address = address
        self.hearsDiagnostics = hearsDiagnostics
        (events, inbox) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maximumEvents))
    }

    /// Puts `isDue` among the events. To be called from any thread.
    package func remind() { inbox.yield(.isDue) }
}

/// The requests that are under way, on the hub's loop.
struct VehicleGuests {
    private var guests: [AppID: VehicleGuest] = [:]
    private var count: UInt64 = 0

    /// In the order of their arrival.
    var ids: [AppID] { guests.keys.sorted() }

    /// Where each comes from.
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

    /// What the vehicle interface has said.
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
    /// Numbers that no connection will have.
    static let firstVehicleGuest: UInt64 = 1 << 63

    /// Whether this is a request of the control API.
    package var isVehicleGuest: Bool { rawValue >= Self.firstVehicleGuest }
}
