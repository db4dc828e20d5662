// Which answers belong to a diagnostic request, and when they are all there.

import OpenXCProtocol
import Testing

@testable import OpenXCTraffic

@Suite("A diagnostic request and its answers")
struct DiagnosticConversationTests {
    private static let taken = CommandResponse(.diagnosticRequest, status: true)

    private static func answer(
        _ id: UInt32 = 0x7E0, bus: Int32 = 1, mode: UInt32 = 1, pid: UInt32 = 12,
        success: Bool = true,
        value: Double = 1
    ) -> DiagnosticResponse {
        DiagnosticResponse(
            bus: bus, id: id, mode: mode, pid: pid, success: success, value: .number(value))
    }

    @Test("one module's request is over with response and answer, whichever comes first")
    func one() {
        var conversation = DiagnosticConversation(
            DiagnosticRequest(bus: 1, id: 0x7E0, mode: 1, pid: 12))
        conversation.taken(Self.taken)
        #expect(!conversation.isOver)
        conversation.heard(Self.answer())
        #expect(conversation.isOver)

        conversation = DiagnosticConversation(
            DiagnosticRequest(bus: 1, id: 0x7E0, mode: 1, pid: 12))
        conversation.heard(Self.answer())
        #expect(!conversation.isOver)
        conversation.taken(Self.taken)
        #expect(conversation.isOver)
        #expect(conversation.answers == [Self.answer()])
    }

    @Test("what others have asked for is not taken for the answer")
    func others() {
        var conversation = DiagnosticConversation(
            DiagnosticRequest(bus: 1, id: 0x7E0, mode: 1, pid: 12))
        conversation.taken(Self.taken)
        for answer in [
            Self.answer(0x7E1), Self.answer(bus: 2), Self.answer(mode: 2), Self.answer(pid: 13),
            Self.answer(pid: 0),
        ] { conversation.heard(answer) }
        #expect(conversation.answers == [])
        #expect(!conversation.isOver)
    }

    @Test("a refusal without PID, and the identifiers that emulators give, are the answer")
    func habits() {
        for answer in [
            Self.answer(pid: 0, success: false), Self.answer(0x7E8), Self.answer(0x7F0),
        ] {
            var conversation = DiagnosticConversation(
                DiagnosticRequest(bus: 1, id: 0x7E0, mode: 1, pid: 12))
            conversation.taken(Self.taken)
            conversation.heard(answer)
            #expect(conversation.answers == [answer])
            #expect(conversation.isOver)
        }
    }

    @Test("all modules may answer until nothing more is waited for")
    func all() {
        // No bus means the first one, whose number is unknown.
        var conversation = DiagnosticConversation(DiagnosticRequest(id: 0x7DF, mode: 1, pid: 12))
        conversation.taken(Self.taken)
        for id: UInt32 in [0x7E8, 0x7EA, 0x7F1] { conversation.heard(Self.answer(id)) }
        #expect(!conversation.isOver)
        conversation.end()
        #expect(conversation.isOver)
        #expect(conversation.answers.map(\.id) == [0x7E8, 0x7EA])
    }

    @Test("a refused request has no answers, and one in pieces is over with the last")
    func ends() {
        let request = DiagnosticRequest(bus: 1, id: 0x7E0, mode: 9, pid: 2)
        var refused = DiagnosticConversation(request)
        refused.taken(CommandResponse(.diagnosticRequest, status: false))
        #expect(refused.isOver)
        var long = DiagnosticConversation(request)
        long.taken(Self.taken)
        for (frame, payload) in [(0, [0x49, 2] as [UInt8]), (1, [0x31]), (-1, [0x32])] {
            #expect(!long.isOver)
            var piece = DiagnosticResponse(
                bus: 1, id: 0x7E0, mode: 9, pid: 2, success: true, payload: payload)
            piece.frame = Int32(frame)
            long.heard(piece)
        }
        #expect(long.isOver)
        #expect(long.answers.map(\.payload) == [[0x49, 2, 0x31, 0x32]])
    }

    @Test("answers are bounded") func bounded() {
        var conversation = DiagnosticConversation(DiagnosticRequest(id: 0x7DF, mode: 1, pid: 12))
        for _ in 0..<1000 { conversation.heard(Self.answer(0x7E8)) }
        #expect(conversation.answers.count == DiagnosticConversation.maximumAnswers)
    }
}
