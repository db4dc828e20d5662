import RelayCore
import SDLProtocol

/// The change that a request makes if it succeeds. It is read from the request, since the response does not
/// repeat it. Kept by `FactsTable` until then.
enum Intent: Hashable, Sendable {
    case putFile(String, FileFact, offset: Int)
    case deleteFile(String)
    case addCommand(Int, MenuCommand)
    case deleteCommand(Int)
    case addSubMenu(Int, String)
    case deleteSubMenu(Int)
    case addChoices(Int, count: Int)
    case deleteChoices(Int)
    case subscribeButton(String)
    case unsubscribeButton(String)
    case subscribeData([String])
    case unsubscribeData([String])
    case subscribeWayPoints
    case unsubscribeWayPoints

    /// Nil when the request changes no facts, or lacks the details.
    init?(_ request: RPCMessage, at time: WallTime) {
        let parameters = request.parameters
        func text(_ key: String, limit: Int = FactLimits.text) -> String? {
            FactLimits.text(parameters.string(key), limit: limit)
        }
        let intent: Intent? =
            switch request.functionID {
            case .putFile:
                text("syncFileName", limit: FactLimits.fileName).map { name in
                    .putFile(
                        name, FileFact(request, at: time),
                        offset: parameters.integer("offset") ?? 0)
                }
            case .deleteFile:
                text("syncFileName", limit: FactLimits.fileName).map { .deleteFile($0) }
            case .addCommand:
                parameters.integer("cmdID").map { .addCommand($0, MenuCommand(parameters)) }
            case .deleteCommand: parameters.integer("cmdID").map { .deleteCommand($0) }
            case .addSubMenu:
                parameters.integer("menuID").map { .addSubMenu($0, text("menuName") ?? "") }
            case .deleteSubMenu: parameters.integer("menuID").map { .deleteSubMenu($0) }
            case .createInteractionChoiceSet:
                parameters.integer("interactionChoiceSetID").map {
                    .addChoices($0, count: parameters.array("choiceSet")?.elements.count ?? 0)
                }
            case .deleteInteractionChoiceSet:
                parameters.integer("interactionChoiceSetID").map { .deleteChoices($0) }
            case .subscribeButton: text("buttonName").map { .subscribeButton($0) }
            case .unsubscribeButton: text("buttonName").map { .unsubscribeButton($0) }
            case .subscribeVehicleData: .subscribeData(Self.wanted(parameters))
            case .unsubscribeVehicleData: .unsubscribeData(Self.wanted(parameters))
            case .subscribeWayPoints: .subscribeWayPoints
            case .unsubscribeWayPoints: .unsubscribeWayPoints
            default: nil
            }
        guard let intent else { return nil }
        self = intent
    }

    /// The members that are true.
    private static func wanted(_ parameters: JSONObject) -> [String] {
        parameters.members.prefix(FactLimits.vehicleData).compactMap { member in
            guard member.value.kind == .bool, member.value.range.count == 4 else { return nil }
            return FactLimits.text(parameters.string(member.key))
        }
    }
}

extension FileFact {
    fileprivate init(_ request: RPCMessage, at time: WallTime) {
        let parameters = request.parameters
        type = FactLimits.text(parameters.string("fileType"))
        receivedBytes = request.bulkBytes
        let isFirst = (parameters.integer("offset") ?? 0) == 0
        totalBytes = isFirst ? parameters.integer("length") ?? request.bulkBytes : nil
        isPersistent = parameters.bool("persistentFile")
        self.time = time
    }
}

extension MenuCommand {
    fileprivate init(_ parameters: JSONObject) {
        let menu = parameters.object("menuParams")
        name = FactLimits.text(menu?.string("menuName"))
        parentID = menu?.integer("parentID").flatMap { $0 == 0 ? nil : $0 }
        guard let spoken = parameters.array("vrCommands") else { return }
        vrCommands = spoken.elements.prefix(4).compactMap { FactLimits.text(spoken.string($0)) }
    }
}

// MARK: - Carrying out

extension AppFacts {
    /// Carries out the change once the request has succeeded.
    mutating func carryOut(_ intent: Intent, _ response: JSONObject) {
        switch intent {
        case .putFile(let name, let file, let offset): files.put(name, file, offset: offset)
        case .deleteFile(let name): files.delete(name)
        case .addCommand(let id, let command): menu.add(command: command, id)
        case .deleteCommand(let id): menu.delete(command: id)
        case .addSubMenu(let id, let name): menu.add(subMenu: name, id)
        case .deleteSubMenu(let id): menu.delete(subMenu: id)
        case .addChoices(let id, let count): menu.add(choiceSet: id, choices: count)
        case .deleteChoices(let id): menu.delete(choiceSet: id)
        case .subscribeButton(let name): subscriptions.subscribe(button: name)
        case .unsubscribeButton(let name): subscriptions.unsubscribe(button: name)
        case .subscribeData(let names):
            for name in names where Self.succeeded(name, response) {
                subscriptions.subscribe(data: name)
            }
        case .unsubscribeData(let names):
            for name in names where Self.succeeded(name, response) {
                subscriptions.unsubscribe(data: name)
            }
        case .subscribeWayPoints: subscriptions.hasWayPoints = true
        case .unsubscribeWayPoints: subscriptions.hasWayPoints = false
        }
    }

    /// A response has a result for each item; without one, the overall result counts.
    private static func succeeded(_ name: String, _ response: JSONObject) -> Bool {
        guard let code = response.object(name)?.string("resultCode") else { return true }
        return ["SUCCESS", "DATA_ALREADY_SUBSCRIBED", "DATA_NOT_SUBSCRIBED"].contains(code)
    }
}
