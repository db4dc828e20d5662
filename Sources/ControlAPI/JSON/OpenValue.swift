/// A word from a list that may grow: the states and kinds of the control API.
///
/// With a plain Swift enum, an older relayctl would refuse the whole status of a newer relayd because of
/// one new state. This type keeps an unknown word as it arrived, so that it can be shown.
package protocol OpenValue:
    RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible
where RawValue == String {
    init(rawValue: String)
}

extension OpenValue {
    package var description: String { rawValue }

    /// The word for people: "waiting for head unit" of "waiting_for_head_unit".
    package var words: String { String(rawValue.map { $0 == "_" ? " " : $0 }) }
}
