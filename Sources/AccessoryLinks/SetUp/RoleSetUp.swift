/// What root has to change once for a role of this machine's. `relayctl setup` says what it amounts to, does it,
/// and takes it back.
package protocol RoleSetUp: Sendable {
    /// What is left to do, as commands; empty when it is set up.
    var doing: [String] { get }

    /// What would be taken back, as commands; empty when nothing is set up.
    var undoing: [String] { get }

    /// What is left to do for people.
    var whatNext: String { get }

    func perform() throws(LinkProblem)
    func undo() throws(LinkProblem)
}
