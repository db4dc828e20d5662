import SDLAdvice
import SDLProtocol
import SDLTraffic

/// What relayd advises on a dialogue.
func advice(_ body: (inout Dialogue) -> Void) -> [Advice] {
    var talk = Dialogue(validator: .builtIn)
    body(&talk)
    return advice(on: talk.entries).recent()
}

/// Who has seen these entries.
///
/// - Parameter sink: Called with what is told.
func advice(
    on entries: [TrafficEntry], sink: @escaping @Sendable (Advice) -> Void = { _ in }
) -> TrafficAdvisor {
    let advisor = TrafficAdvisor(facts: SessionFacts(), sink: sink)
    advisor.consume(entries)
    return advisor
}
