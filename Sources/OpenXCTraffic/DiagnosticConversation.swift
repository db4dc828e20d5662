package import OpenXCProtocol

/// Which of what comes belongs to a diagnostic request, and when all of it is there. A value.
package struct DiagnosticConversation: Sendable {
    package private(set) var response: CommandResponse?
    /// Whole, in the order in which they came.
    package private(set) var answers: [DiagnosticResponse] = []
    package private(set) var isOver = false

    private let request: DiagnosticRequest
    private var joiner = SegmentJoiner()
    /// Modules that answer to OBD-II (ISO 15765-4, 6.3).
    private static let modules: ClosedRange<UInt32> = 0x7E8...0x7EF
    /// As many as these and the same of other buses.
    package static let maximumAnswers = 64

    package init(_ request: DiagnosticRequest) {
        self.request = request
    }

    /// The vehicle interface has taken the request, or not. Answers of the vehicle may stand before this.
    package mutating func taken(_ response: CommandResponse) {
        self.response = response
        if !response.status { isOver = true }
        settle()
    }

    package mutating func heard(_ answer: DiagnosticResponse) {
        guard isMeant(answer), let whole = joiner.add(answer), answers.count < Self.maximumAnswers
        else { return }
        answers.append(whole)
        settle()
    }

    /// Nothing more is waited for.
    package mutating func end() { isOver = true }

    private mutating func settle() {
        if !request.mayHaveSeveralAnswers, response != nil, !answers.isEmpty { isOver = true }
    }

    private func isMeant(_ answer: DiagnosticResponse) -> Bool {
        guard answer.mode == request.mode, request.bus == 0 || answer.bus == request.bus else {
            return false
        }
        // Firmware before 8.0 leaves the PID out of a refusal.
        guard answer.pid == request.pid || (answer.pid == 0 && !answer.success) else {
            return false
        }
        if request.id == DiagnosticRequest.everybody { return Self.modules.contains(answer.id) }
        // The identifier of the request; emulators give that of the answer, or 8 more (vi-firmware 8.2.1).
        return [request.id, request.id &+ 8, request.id &+ 16].contains(answer.id)
    }
}
