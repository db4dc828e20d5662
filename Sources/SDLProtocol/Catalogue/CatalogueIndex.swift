// The catalogue as the validator needs it: flat tables, names found by hash of their bytes, nothing
// allocated to look something up. Built once per catalogue by `RPCValidator`.

/// Groups of named members: the parameters of a function or struct, the elements of an enumeration.
struct CatalogueIndex: Sendable {
    enum Kind: UInt8 {
        case boolean
        case integer
        case float
        case string
        case enumeration
        case structure
        case element
    }

    struct Group: Sendable {
        /// For messages: which function, struct or enumeration of the catalogue this is.
        var source: Int32
        var firstMember: Int32
        var memberCount: Int32
        /// Where its hash table begins in `slots`; it has `slotMask` + 1 slots.
        var firstSlot: Int32
        var slotMask: UInt32
        /// One bit for each member that is mandatory in any version.
        var mandatory: UInt64 = 0
        var life = Life()
    }

    /// Packed versions; 0 = not said.
    struct Life: Sendable {
        var since: UInt32 = 0
        var until: UInt32 = 0
        var deprecated: UInt32 = 0
        var isDeprecated = false
        /// False for most, which need no look at the version.
        var matters: Bool { since | until != 0 || isDeprecated }
    }

    struct Member: Sendable {
        var nameStart: Int32
        var nameCount: Int32
        var kind: Kind
        var isMandatory = false
        var isArray = false
        /// Its bit in `Group.mandatory`; 0 for members that never are.
        var mandatoryBit: UInt64 = 0
        /// The group of an enumeration or struct.
        var group: Int32 = -1
        /// Elements of an array.
        var minimumSize: Int32 = 0
        var maximumSize = Int32.max
        /// Scalars of a string.
        var minimumLength: Int32 = 0
        var maximumLength = Int32.max
        var minimum = -Double.infinity
        var maximum = Double.infinity
        var life = Life()
        /// Since when it is defined like this, if it was defined otherwise before.
        var redefined: UInt32 = 0
        /// Its earlier definitions are members, too, but no name leads to them.
        var firstEarlier: Int32 = 0
        var earlierCount: Int32 = 0
    }

    private(set) var names: [UInt8] = []
    private(set) var members: [Member] = []
    private(set) var groups: [Group] = []
    /// Index in `members` of what hashes there, −1 = empty.
    private(set) var slots: [Int32] = []
    private var functions: [UInt64: Int32] = [:]

    func function(_ id: FunctionID, _ type: RPCType) -> Int? {
        functions[Self.key(id, type)].map { Int($0) }
    }

    private static func key(_ id: FunctionID, _ type: RPCType) -> UInt64 {
        UInt64(id.rawValue) << 8 | UInt64(type.rawValue)
    }

    /// The member of a group that `text` names in `range`.
    @inline(__always)
    func member(of group: Int, named text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        let group = groups[group]
        var hash = Self.seed
        for at in range { hash = Self.mix(hash, text[at]) }
        var slot = Self.slot(hash) & group.slotMask
        while true {
            let found = Int(slots[Int(group.firstSlot) + Int(slot)])
            guard found >= 0 else { return nil }
            let member = (start: Int(members[found].nameStart), count: members[found].nameCount)
            if Int(member.count) == range.count {
                var offset = 0
                while offset < range.count,
                    names[member.start + offset] == text[range.lowerBound + offset]
                {
                    offset += 1
                }
                if offset == range.count { return found }
            }
            slot = (slot + 1) & group.slotMask
        }
    }

    func name(of member: Int) -> String {
        let start = Int(members[member].nameStart)
        return String(
            decoding: names[start..<start + Int(members[member].nameCount)], as: UTF8.self)
    }

    // FNV-1a: short names, and nobody gains from making them collide, as tables hold only names of
    // the specification.
    private static let seed: UInt32 = 2_166_136_261

    @inline(__always)
    private static func mix(_ hash: UInt32, _ byte: UInt8) -> UInt32 {
        (hash ^ UInt32(byte)) &* 16_777_619
    }

    @inline(__always)
    private static func slot(_ hash: UInt32) -> UInt32 { hash ^ hash >> 15 }
}

// MARK: - Building

extension CatalogueIndex {
    init(_ catalogue: RPCCatalogue) {
        reserve(catalogue)
        var enums: [String: Int32] = [:]
        for (source, enumeration) in catalogue.enums.enumerated() {
            enums[enumeration.name] = Int32(groups.count)
            add(enumeration, source)
        }
        // Structs may use each other in any order, so all get their numbers first.
        var structs: [String: Int32] = [:]
        for (offset, structure) in catalogue.structs.enumerated() {
            structs[structure.name] = Int32(groups.count + offset)
        }
        let types = Types(enums: enums, structs: structs)
        for (source, structure) in catalogue.structs.enumerated() {
            add(structure.parameters, structure.lifetime, source, types)
        }
        for (source, function) in catalogue.functions.enumerated() {
            functions[Self.key(function.id, function.type)] = Int32(groups.count)
            add(function.parameters, function.lifetime, source, types)
        }
    }

    /// Reserves room in advance, so that no array keeps room it does not need.
    private mutating func reserve(_ catalogue: RPCCatalogue) {
        let groups = catalogue.enums.count + catalogue.structs.count + catalogue.functions.count
        self.groups.reserveCapacity(groups)
        var members = catalogue.enums.reduce(0) { $0 + $1.elements.count }
        let parameters = [
            catalogue.structs.map(\.parameters), catalogue.functions.map(\.parameters),
        ]
        for list in parameters.joined() {
            members += list.reduce(list.count) { $0 + $1.earlier.count }
        }
        self.members.reserveCapacity(members)
    }

    private struct Types {
        var enums: [String: Int32]
        var structs: [String: Int32]
    }

    private mutating func add(_ enumeration: RPCEnum, _ source: Int) {
        let first = members.count
        for element in enumeration.elements {
            members.append(member(named: element.name, .element, element.lifetime))
        }
        addGroup(source, first, enumeration.elements.count, enumeration.lifetime)
    }

    private mutating func add(
        _ parameters: [RPCParameter], _ lifetime: RPCLifetime, _ source: Int, _ types: Types
    ) {
        let first = members.count
        var mandatory: UInt64 = 0
        for parameter in parameters {
            var member = member(parameter, types)
            // A specification with more than 64 mandatory parameters in one place is refused.
            if parameter.isMandatory || parameter.earlier.contains(where: \.isMandatory) {
                // The lowest bit that is free.
                member.mandatoryBit = mandatory &+ 1
                mandatory |= member.mandatoryBit
            }
            members.append(member)
        }
        // Earlier definitions come after all members of their group.
        for (offset, parameter) in parameters.enumerated() where !parameter.earlier.isEmpty {
            members[first + offset].firstEarlier = Int32(members.count)
            members[first + offset].earlierCount = Int32(parameter.earlier.count)
            for earlier in parameter.earlier { members.append(member(earlier, types)) }
        }
        addGroup(source, first, parameters.count, lifetime)
        groups[groups.count - 1].mandatory = mandatory
    }

    private mutating func member(_ parameter: RPCParameter, _ types: Types) -> Member {
        var member = member(named: parameter.name, .boolean, parameter.lifetime)
        switch parameter.kind {
        case .boolean: break
        case .integer: member.kind = .integer
        case .float: member.kind = .float
        case .string: member.kind = .string
        case .enumeration(let name):
            member.kind = .enumeration
            member.group = types.enums[name] ?? -1
        case .structure(let name):
            member.kind = .structure
            member.group = types.structs[name] ?? -1
        }
        member.isMandatory = parameter.isMandatory
        member.minimum = parameter.value.minimum ?? member.minimum
        member.maximum = parameter.value.maximum ?? member.maximum
        member.minimumLength = Self.clamped(parameter.length.minimum) ?? member.minimumLength
        member.maximumLength = Self.clamped(parameter.length.maximum) ?? member.maximumLength
        if let size = parameter.arraySize {
            member.isArray = true
            member.minimumSize = Self.clamped(size.minimum) ?? member.minimumSize
            member.maximumSize = Self.clamped(size.maximum) ?? member.maximumSize
        }
        member.redefined = parameter.redefined?.packed ?? 0
        return member
    }

    private static func clamped(_ number: Int?) -> Int32? {
        number.map { Int32(clamping: $0) }
    }

    private mutating func member(
        named name: String, _ kind: Kind, _ lifetime: RPCLifetime
    ) -> Member {
        let start = names.count
        names.append(contentsOf: name.utf8)
        return Member(
            nameStart: Int32(start), nameCount: Int32(names.count - start), kind: kind,
            life: Life(lifetime))
    }

    private mutating func addGroup(
        _ source: Int, _ first: Int, _ count: Int, _ lifetime: RPCLifetime
    ) {
        // At most half full, so that a missing name is soon known to be missing.
        var size = 2
        while size < count * 2 { size *= 2 }
        let firstSlot = slots.count
        slots.append(contentsOf: repeatElement(-1, count: size))
        for member in first..<first + count {
            var hash = Self.seed
            let start = Int(members[member].nameStart)
            for at in start..<start + Int(members[member].nameCount) {
                hash = Self.mix(hash, names[at])
            }
            var slot = Int(Self.slot(hash)) & (size - 1)
            while slots[firstSlot + slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[firstSlot + slot] = Int32(member)
        }
        groups.append(
            Group(
                source: Int32(source), firstMember: Int32(first), memberCount: Int32(count),
                firstSlot: Int32(firstSlot), slotMask: UInt32(size - 1), life: Life(lifetime)))
    }
}

extension CatalogueIndex.Life {
    init(_ lifetime: RPCLifetime) {
        since = lifetime.since?.packed ?? 0
        until = lifetime.until?.packed ?? 0
        deprecated = lifetime.deprecated?.packed ?? 0
        isDeprecated = lifetime.isDeprecated
    }
}
