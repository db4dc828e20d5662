/// What a StartServiceACK of the RPC service does to its session. The bytes alone do not tell: both
/// kinds may be encrypted, and head units differ in the hash they give.
package enum GrantMeaning: Hashable, Sendable {
    /// A new session begins; what the same app had with its number is over.
    case opens
    /// The running session is protected from here on; its first hash stays valid (SDL protocol spec,
    /// "Services of a session").
    case protects
    /// Nobody asked: the running session goes on as it was.
    case nothing
}
