package import OpenXCProtocol

/// The fields that distinguish the answers to one diagnostic request from those to another.
package struct DiagnosticName: Hashable, Sendable {
    package var bus: Int32
    package var id: UInt32
    package var mode: UInt32
    package var pid: UInt32

    package init(_ response: DiagnosticResponse) {
        (bus, id, mode, pid) = (response.bus, response.id, response.mode, response.pid)
    }
}

/// Joins the pieces of long diagnostic answers (vi-firmware 8.1 and later): they come in order, the last one
/// numbered -1. Pieces of different requests may be interleaved.
package struct SegmentJoiner: Sendable {
    /// The limit of ISO 15765-2.
    package static let maximumBytes = 4095
    /// Unfinished answers at once; beyond that, the oldest is dropped.
    package static let maximumAnswers = 64

    private struct Unfinished: Sendable {
        var name: DiagnosticName
        var payload: [UInt8]
        var next: Int32
    }

    private var unfinished: [Unfinished] = []
    /// Answers whose pieces did not fit together.
    package private(set) var broken: UInt64 = 0

    package init() {}

    package var count: Int { unfinished.count }

    /// - Returns: The whole answer; nil while pieces are missing. A response that is not a piece is whole.
    package mutating func add(_ response: DiagnosticResponse) -> DiagnosticResponse? {
        guard let frame = response.frame else { return response }
        let name = DiagnosticName(response)
        var answer = Unfinished(name: name, payload: [], next: 0)
        if let index = unfinished.firstIndex(where: { $0.name == name }) {
            answer = unfinished.remove(at: index)
            if frame == 0 {
                // The answer began again.
                broken &+= 1
                answer = Unfinished(name: name, payload: [], next: 0)
            }
        }
        let isLast = response.isLastSegment
        let payload = response.payload ?? []
        guard isLast || frame == answer.next,
            answer.payload.count + payload.count <= Self.maximumBytes
        else {
            broken &+= 1
            return nil
        }
        answer.payload += payload
        guard isLast else {
            answer.next = frame &+ 1
            if unfinished.count == Self.maximumAnswers {
                unfinished.removeFirst()
                broken &+= 1
            }
            unfinished.append(answer)
            return nil
        }
        guard response.totalSize == 0 || Int(response.totalSize) <= answer.payload.count else {
            broken &+= 1
            return nil
        }
        var whole = response
        whole.payload = answer.payload
        return whole
    }
}
