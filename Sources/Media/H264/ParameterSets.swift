import NIOCore

/// The parameter sets that a stream's pictures refer to, by kind and ID, so that a reader can begin in
/// mid-stream. The latest one of each ID counts.
struct ParameterSets: Sendable {
    private var sequences: [UInt32: NALUnit] = [:]
    private var pictures: [UInt32: NALUnit] = [:]

    var isComplete: Bool { !sequences.isEmpty && !pictures.isEmpty }

    mutating func learn(_ unit: NALUnit) {
        guard !unit.isCut, unit.bytes.readableBytes <= MediaLimits.maximumParameterSetBytes,
            let id = unit.parameterSetID
        else { return }
        if unit.isSequenceParameterSet {
            Self.keep(unit, id, in: &sequences)
        } else {
            Self.keep(unit, id, in: &pictures)
        }
    }

    private static func keep(_ unit: NALUnit, _ id: UInt32, in sets: inout [UInt32: NALUnit]) {
        guard sets[id] != nil || sets.count < MediaLimits.maximumParameterSets else { return }
        sets[id] = unit.compact
    }

    /// The parameter sets, those of sequences first, by ID.
    var units: [NALUnit] {
        [sequences, pictures].flatMap { $0.sorted { $0.key < $1.key }.map(\.value) }
    }
}
