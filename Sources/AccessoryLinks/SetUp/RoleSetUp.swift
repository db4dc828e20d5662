/// The changes that root has to make once for one of this machine's roles. `relayctl setup` lists them, makes them,
/// and undoes them.
package protocol RoleSetUp: Sendable {
    /// What is left to do, as commands; empty when everything is set up.
    var doing: [String] { get }

    /// What would be undone, as commands; empty when nothing is set up.
    var undoing: [String] { get }

    /// What is left for people to do.
    var whatNext: String { get }

    func perform() throws(LinkProblem)
    func undo() throws(LinkProblem)
}
