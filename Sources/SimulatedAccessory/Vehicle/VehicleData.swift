// Vehicle data requests, and OnVehicleData while an app is subscribed.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    mutating func subscribeVehicleData(_ request: Request) {
        let vehicle = vehicle
        changeSubscription(request) { items, item in
            guard vehicle.value(of: item) != nil else { return .vehicleDataNotAvailable }
            return items.insert(item).inserted ? .success : .alreadySubscribed
        }
    }

    mutating func unsubscribeVehicleData(_ request: Request) {
        changeSubscription(request) { items, item in
            items.remove(item) == nil ? .notSubscribed : .success
        }
    }

    mutating func getVehicleData(_ request: Request) {
        let items = wantedItems(request)
        guard !items.isEmpty else {
            respond(to: request, .invalidData, info: "no vehicle data item is named")
            return
        }
        let members = items.compactMap { item in
            vehicle.value(of: item).map { JSON.Member(key: item, value: $0) }
        }
        let result: ResultCode =
            members.isEmpty
            ? .vehicleDataNotAvailable : members.count == items.count ? .success : .warnings
        respond(to: request, result, .object(members))
    }

    /// The result for a single item of a (un)subscription.
    private enum ItemResult: String {
        case success = "SUCCESS"
        case vehicleDataNotAvailable = "VEHICLE_DATA_NOT_AVAILABLE"
        case alreadySubscribed = "DATA_ALREADY_SUBSCRIBED"
        case notSubscribed = "DATA_NOT_SUBSCRIBED"
    }

    private mutating func changeSubscription(
        _ request: Request, _ change: (inout Set<String>, String) -> ItemResult
    ) {
        let names = wantedItems(request).filter { Vehicle.itemTypes[$0] != nil }
        guard !names.isEmpty else {
            respond(to: request, .invalidData, info: "no vehicle data item is named")
            return
        }
        var subscribed = sessions[request.sessionID]?.app?.vehicleData ?? []
        let results = names.map { (name: $0, result: change(&subscribed, $0)) }
        sessions[request.sessionID]?.app?.vehicleData = subscribed
        updateVehicleDataTimer()

        let members = results.map { item in
            JSON.Member(
                // The only item whose name differs in responses.
                key: item.name == "clusterModeStatus" ? "clusterModes" : item.name,
                value: [
                    "dataType": .string(Vehicle.itemTypes[item.name] ?? ""),
                    "resultCode": .string(item.result.rawValue),
                ])
        }
        let done = results.count { $0.result == .success }
        let result: ResultCode =
            done == results.count
            ? .success
            : done > 0
                ? .warnings
                : results.contains { $0.result == .vehicleDataNotAvailable }
                    ? .vehicleDataNotAvailable : .ignored
        respond(to: request, result, .object(members))
        if done > 0 { notifyHashChange(request.sessionID) }
    }

    /// Items that the request sets to true, in its order.
    private func wantedItems(_ request: Request) -> [String] {
        request.parameters?.members.filter { $0.value.bool == true }.map(\.key) ?? []
    }

    // MARK: Notifications

    /// Starts the timer with the first subscription and stops it with the last.
    mutating func updateVehicleDataTimer() {
        let isWanted = sessions.values.contains { $0.app?.vehicleData.isEmpty == false }
        guard isWanted, let interval = configuration.vehicleDataInterval else {
            vehicleDataDue = nil
            return
        }
        vehicleDataDue = vehicleDataDue ?? now + TimeAmount(interval)
    }

    mutating func sendDueVehicleData() {
        guard let due = vehicleDataDue, due <= now,
            let interval = configuration.vehicleDataInterval
        else { return }
        // An owner that calls late sends one notification, not all those that it missed.
        let next = due + TimeAmount(interval)
        vehicleDataDue = next > now ? next : now + TimeAmount(interval)
        vehicle.moment += 1
        for id in sessionIDs {
            let items = sessions[id]?.app?.vehicleData.sorted() ?? []
            let members = items.compactMap { item in
                vehicle.value(of: item).map { JSON.Member(key: item, value: $0) }
            }
            if !members.isEmpty { notify(.onVehicleData, .object(members), to: id) }
        }
    }
}
