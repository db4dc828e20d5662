// The data that an app has stored on the head unit: files, menu, subscriptions.

package import RelayCore
import SDLProtocol

/// Files of the app on the head unit.
package struct FileFacts: Hashable, Sendable {
    /// By name.
    package private(set) var files: [String: FileFact] = [:]
    /// Bytes, as last reported.
    package var spaceAvailable: Int?
    /// The time of the latest ListFiles; nil when only uploads are known, and older files may be there.
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

    /// Takes over the head unit's list, keeping what is known of the listed files.
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
    /// GRAPHIC_PNG, AUDIO_MP3, …; nil when the file was there before.
    package var type: String?
    package var receivedBytes = 0
    /// The size announced by the first chunk.
    package var totalBytes: Int?
    package var isPersistent: Bool?
    /// The time of the latest upload; nil when the file was there before.
    package var time: WallTime?
}

/// The commands and choices that a person can select.
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

    /// Deletes a sub menu together with its commands (MOBILE_API, "DeleteSubMenu").
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
    /// The name shown in the menu; nil when the command can only be spoken.
    package var name: String?
    /// The ID of its sub menu; nil at the top.
    package var parentID: Int?
    /// Spoken alternatives, at most as many as fit a line.
    package var vrCommands: [String] = []
}

/// The notifications that the app has subscribed to.
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

    /// Applies OnVehicleData, or the response to GetVehicleData.
    mutating func learn(_ parameters: JSONObject, at time: WallTime) {
        vehicleData.learn(parameters, at: time)
    }
}
