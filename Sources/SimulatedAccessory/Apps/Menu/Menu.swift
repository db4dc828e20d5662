// The commands and submenus of an app, and the rules for their IDs and names.

import SDLProtocol

/// Names are kept as hashes only: an app may send 100 for each command.
struct Menu: Hashable, Sendable {
    private struct Command: Hashable, Sendable {
        var parent: Int64
        var voice: Set<Int>
    }

    private struct SubMenu: Hashable, Sendable {
        var parent: Int64
        var name: Int
    }

    /// The most entries of one app, of each kind: far more than any shows.
    static let maximumEntries = 1000

    private var commands: [Int64: Command] = [:]
    private var subMenus: [Int64: SubMenu] = [:]

    func hasSubMenu(_ id: Int64) -> Bool { subMenus[id] != nil }

    // MARK: Commands

    mutating func addCommand(_ request: Request) throws(Refusal) {
        let id = request["cmdID"]?.integer ?? 0
        guard commands[id] == nil else { throw Refusal(.invalidID, "command \(id) already exists") }
        let parent = request["menuParams"]?["parentID"]?.integer ?? 0
        guard parent == 0 || hasSubMenu(parent) else {
            throw Refusal(.invalidID, "there is no submenu \(parent)")
        }
        let words = request["vrCommands"]?.array?.compactMap(\.string) ?? []
        guard request["menuParams"] != nil || !words.isEmpty else {
            throw Refusal(.invalidData, "one of menuParams, vrCommands is needed")
        }
        let voice = Set(words.map { $0.lowercased().hashValue })
        guard !commands.values.contains(where: { !$0.voice.isDisjoint(with: voice) }) else {
            throw Refusal(.duplicateName, "another command has one of the vrCommands")
        }
        try checkRoom(commands.count, "commands")
        commands[id] = Command(parent: parent, voice: voice)
    }

    mutating func deleteCommand(_ request: Request) throws(Refusal) {
        let id = request["cmdID"]?.integer ?? 0
        guard commands.removeValue(forKey: id) != nil else {
            throw Refusal(.invalidID, "there is no command \(id)")
        }
    }

    // MARK: Submenus

    /// - Parameter version: That of the session. From RPC 7.1 on, names need not differ.
    mutating func addSubMenu(_ request: Request, version: SDLVersion) throws(Refusal) {
        let id = request["menuID"]?.integer ?? 0
        guard subMenus[id] == nil else { throw Refusal(.invalidID, "submenu \(id) already exists") }
        let parent = request["parentID"]?.integer ?? 0
        guard parent == 0 || hasSubMenu(parent) else {
            throw Refusal(.invalidID, "there is no submenu \(parent)")
        }
        let name = (request["menuName"]?.string ?? "").hashValue
        let hasTwin = subMenus.values.contains { $0.parent == parent && $0.name == name }
        guard !hasTwin || version >= SDLVersion(7, 1) else {
            throw Refusal(.duplicateName, "another submenu has this name")
        }
        try checkRoom(subMenus.count, "submenus")
        subMenus[id] = SubMenu(parent: parent, name: name)
    }

    /// Also deletes everything in the submenu.
    mutating func deleteSubMenu(_ request: Request) throws(Refusal) {
        let id = request["menuID"]?.integer ?? 0
        guard subMenus[id] != nil else { throw Refusal(.invalidID, "there is no submenu \(id)") }
        var gone: [Int64] = [id]
        while let parent = gone.popLast() {
            subMenus[parent] = nil
            commands = commands.filter { $0.value.parent != parent }
            gone += subMenus.filter { $0.value.parent == parent }.keys
        }
    }

    private func checkRoom(_ count: Int, _ what: String) throws(Refusal) {
        guard count >= Self.maximumEntries else { return }
        throw Refusal(.outOfMemory, "\(Self.maximumEntries) \(what) are already stored")
    }
}
