// The choice sets of an app, and the rules for their IDs and words.

import SDLProtocol

struct Choices: Hashable, Sendable {
    private struct ChoiceSet: Hashable, Sendable {
        var ids: [Int64]
        var hasVoice: Bool
    }

    /// The most sets of one app: far more than any shows.
    static let maximumSets = 1000

    private var sets: [Int64: ChoiceSet] = [:]

    /// The first choice in a list of sets; nil when there is none.
    func first(of ids: [Int64]) -> Int64? { ids.lazy.compactMap { sets[$0]?.ids.first }.first }

    mutating func create(_ request: Request) throws(Refusal) {
        let id = request["interactionChoiceSetID"]?.integer ?? 0
        guard sets[id] == nil else { throw Refusal(.invalidID, "choice set \(id) already exists") }
        let choices = request["choiceSet"]?.array ?? []
        let ids = choices.map { $0["choiceID"]?.integer ?? 0 }
        guard Set(ids).count == ids.count else {
            throw Refusal(.invalidID, "two choices have the same choiceID")
        }
        var words: Set<String> = []
        for choice in choices {
            let own = Set(choice["vrCommands"]?.array?.compactMap(\.voiceWord) ?? [])
            guard words.isDisjoint(with: own) else {
                throw Refusal(.duplicateName, "two choices have the same vrCommands")
            }
            words.formUnion(own)
        }
        let voices = choices.count { $0["vrCommands"] != nil }
        guard voices == 0 || voices == choices.count else {
            throw Refusal(.invalidData, "either all choices have vrCommands or none")
        }
        guard sets.count < Self.maximumSets else {
            throw Refusal(.outOfMemory, "\(Self.maximumSets) choice sets are already stored")
        }
        sets[id] = ChoiceSet(ids: ids, hasVoice: voices > 0)
    }

    /// - Parameter shown: The sets on the screen, which cannot be deleted.
    mutating func delete(_ request: Request, shown: [Int64]) throws(Refusal) {
        let id = request["interactionChoiceSetID"]?.integer ?? 0
        guard sets[id] != nil else { throw Refusal(.invalidID, "there is no choice set \(id)") }
        guard !shown.contains(id) else {
            throw Refusal(.inUse, "choice set \(id) is on the screen")
        }
        sets[id] = nil
    }

    /// Whether PerformInteraction can be carried out.
    func check(_ request: Request) throws(Refusal) {
        let mode = request["interactionMode"]?.string
        let isKeyboard = request["interactionLayout"]?.string == "KEYBOARD"
        guard !isKeyboard || mode != "VR_ONLY" else {
            throw Refusal(.invalidData, "VR_ONLY has no KEYBOARD")
        }
        let ids = request["interactionChoiceSetIDList"]?.array?.compactMap(\.integer) ?? []
        guard !ids.isEmpty || isKeyboard && mode != "BOTH" else {
            throw Refusal(.invalidData, "interactionChoiceSetIDList is empty")
        }
        var seen: Set<Int64> = []
        for id in ids {
            guard let set = sets[id] else {
                throw Refusal(.invalidID, "there is no choice set \(id)")
            }
            for choice in set.ids where !seen.insert(choice).inserted {
                throw Refusal(.invalidID, "choice \(choice) is in two of the sets")
            }
            guard set.hasVoice || mode == "MANUAL_ONLY" else {
                throw Refusal(.invalidData, "choice set \(id) has no vrCommands for \(mode ?? "")")
            }
        }
    }
}

extension JSON {
    /// Voice commands are compared without regard to case.
    fileprivate var voiceWord: String? { string?.lowercased() }
}
