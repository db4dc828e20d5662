import SDLAdvice
import SDLProtocol
import SDLTraffic

/// relayd's advice on a dialogue.
func advice(_ body: (inout Dialogue) -> Void) -> [Advice] {
    var talk = Dialogue(validator: .builtIn)
    body(&talk)
    return advice(on: talk.entries).recent()
}

/// An advisor that has seen these entries.
///
/// - Parameter sink: Called with each piece of advice.
func advice(
    on entries: [TrafficEntry], sink: @escaping @Sendable (Advice) -> Void = { _ in }
) -> TrafficAdvisor {
    let advisor = TrafficAdvisor(facts: SessionFacts(), sink: sink)
    advisor.consume(entries)
    return advisor
}
