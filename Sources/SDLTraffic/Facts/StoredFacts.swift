// What an app has left on the head unit: files, menu, subscriptions.

package import RelayCore
import SDLProtocol

/// Files of the app on the head unit.
package struct FileFacts: Hashable, Sendable {
    /// By name.
    package private(set) var files: [String: FileFact] = [:]
    /// Bytes, as told last.
    package var spaceAvailable: Int?
    /// The latest ListFiles; nil when only uploads are known, and older files may be there.
    package private(set) var listedAt: WallTime?

    package init() {}

    mutating func put(_ name: String, _ file: FileFact, offset: Int) {
        guard offset == 0 else {
            guard var known = files[name] else { return }
            known.receivedBytes += file.receivedBytes
            known.time = file.time
            files[name] = known
            return
        }
        guard files[name] != nil || files.count < FactLimits.files else { return }
        files[name] = file
    }

    mutating func delete(_ name: String) {
        files[name] = nil
    }

    /// The head unit's list; what is known of the files on it is kept.
    mutating func list(_ names: [String], at time: WallTime) {
        listedAt = time
        var listed: [String: FileFact] = [:]
        for name in names.prefix(FactLimits.files) {
            listed[name] = files[name] ?? FileFact(time: nil)
        }
        files = listed
    }
}

package struct FileFact: Hashable, Sendable {
    /// GRAPHIC_PNG, AUDIO_MP3, …; nil when it was there before.
    package var type: String?
    package var receivedBytes = 0
    /// As the first chunk announced.
    package var totalBytes: Int?
    package var isPersistent: Bool?
    /// Of the latest upload; nil when it was there before.
    package var time: WallTime?
}

/// What a person can choose.
package struct MenuFacts: Hashable, Sendable {
    package private(set) var commands: [Int: MenuCommand] = [:]
    /// Names by ID.
    package private(set) var subMenus: [Int: String] = [:]
    /// Number of choices by ID of their set.
    package private(set) var choiceSets: [Int: Int] = [:]

    package init() {}

    mutating func add(command: MenuCommand, _ id: Int) {
        guard commands[id] != nil || commands.count < FactLimits.menuEntries else { return }
        commands[id] = command
    }

    mutating func delete(command id: Int) { commands[id] = nil }

    mutating func add(subMenu name: String, _ id: Int) {
        guard subMenus[id] != nil || subMenus.count < FactLimits.menuEntries else { return }
        subMenus[id] = name
    }

    /// Its commands go with it (MOBILE_API, "DeleteSubMenu").
    mutating func delete(subMenu id: Int) {
        subMenus[id] = nil
        commands = commands.filter { $0.value.parentID != id }
    }

    mutating func add(choiceSet id: Int, choices: Int) {
        guard choiceSets[id] != nil || choiceSets.count < FactLimits.menuEntries else { return }
        choiceSets[id] = choices
    }

    mutating func delete(choiceSet id: Int) { choiceSets[id] = nil }
}

package struct MenuCommand: Hashable, Sendable {
    /// As shown in the menu; nil when it can only be spoken.
    package var name: String?
    /// Its sub menu; nil for the top.
    package var parentID: Int?
    /// What can be said instead, at most so many as fit a line.
    package var vrCommands: [String] = []
}

/// What the app wants to be told.
package struct SubscriptionFacts: Hashable, Sendable {
    package private(set) var buttons: Set<String> = []
    package private(set) var vehicleData = VehicleData()
    package var hasWayPoints = false

    package init() {}

    mutating func subscribe(button: String) {
        if buttons.count < FactLimits.buttons { buttons.insert(button) }
    }

    mutating func unsubscribe(button: String) { buttons.remove(button) }

    mutating func subscribe(data name: String) { vehicleData.subscribe(name) }

    mutating func unsubscribe(data name: String) { vehicleData.unsubscribe(name) }

    /// Takes over OnVehicleData, or the response to GetVehicleData.
    mutating func learn(_ parameters: JSONObject, at time: WallTime) {
        vehicleData.learn(parameters, at: time)
    }
}
