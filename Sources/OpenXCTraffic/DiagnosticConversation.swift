package import OpenXCProtocol

/// Decides which messages belong to a diagnostic request, and when its answers are complete. A value.
package struct DiagnosticConversation: Sendable {
    package private(set) var response: CommandResponse?
    /// Complete answers, in the order in which they came.
    package private(set) var answers: [DiagnosticResponse] = []
    package private(set) var isOver = false

    private let request: DiagnosticRequest
    private var joiner = SegmentJoiner()
    /// The modules that answer to OBD-II (ISO 15765-4, 6.3).
    private static let modules: ClosedRange<UInt32> = 0x7E8...0x7EF
    /// Enough for these modules on several buses.
    package static let maximumAnswers = 64

    package init(_ request: DiagnosticRequest) {
        self.request = request
    }

    /// Takes the command's response: whether the vehicle interface has accepted the request. Answers of the
    /// vehicle may come before it.
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

    /// Stops waiting for answers.
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
        // The identifier of the request; emulators use that of the answer, or 8 more (vi-firmware 8.2.1).
        return [request.id, request.id &+ 8, request.id &+ 16].contains(answer.id)
    }
}
