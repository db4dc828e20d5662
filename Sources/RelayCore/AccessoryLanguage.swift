package import NIOCore

/// What one accessory language provides so that its apps and its link can be served: how bytes become
/// units, who gets which of them, and what an app that reads too slowly costs.
///
/// The hub does the rest: transports, sockets and their ends, who may connect, the order and the
/// flush of writes, the clock and its one timer, tap, limits and status. A language is a class of its
/// own beside `SDLLanguage`; the two know nothing of each other. Everything is called on the hub's
/// loop, between the hub's `beginRead` and `endRead` unless it says otherwise.
package protocol AccessoryLanguage: AnyObject {
    // MARK: The link

    /// A link is there. What comes on it goes to the reader that is returned.
    func linkOpened(_ link: LinkConnection) -> any LinkReader
    /// It is gone, with all that was written and has not left.
    func linkClosed(because reason: String)
    /// The kernel has taken all that was flushed to the link. Outside of a read.
    func linkTookAll()
    /// The link is not to be read now.
    var isLinkHeld: Bool { get }
    /// No sink of the tap has the hub wait any more (`FrameTap.isHolding`): what the language says by itself, and
    /// has kept back, goes on. Outside of a read.
    func tapHasRoom()

    // MARK: Apps

    /// An app is there. What it says goes to the reader that is returned. It may be greeted, or closed.
    func connected(_ app: AppConnection) -> any AppReader
    /// It is gone; all it said before has been passed on.
    ///
    /// - Returns: How it left if nobody sent it away.
    func disconnected(_ app: AppConnection) -> AppLeaving
    /// All that could be written to this app was flushed, and its socket did not take it.
    func blocked(_ app: AppConnection)
    /// Its socket takes bytes again, or nobody waits for it to. Outside of a read.
    func tookAll(_ app: AppConnection)
    /// relayd sends the app away: what has to be said for it on the link is said now.
    func leave(_ app: AppConnection)

    // MARK: Time

    /// Everything is decided that one or more reads have caused: what goes to the link is flushed. Also
    /// outside of a read.
    func flushLink()
    /// Bytes written to the link since its last flush.
    var unflushedLinkBytes: Int { get }
    /// The same, after the apps' flush: what waits for the link may go.
    func readIsOver()
    /// When to call `advance`; nil while nothing is due.
    var nextDeadline: NIODeadline? { get }
    func advance()

    // MARK: For status, reload and stop

    func reconfigure(_ configuration: RelayConfiguration)
    /// Adds what only the language knows.
    func describe(_ link: inout RelaySnapshot.Link)
    func describe(_ app: inout RelaySnapshot.App)
    /// relayd stops: everything is said that has to be said for all apps.
    func leaveAll()
    /// The accessory has confirmed all that was said at the end, or owes nothing.
    var isAllSaid: Bool { get }
    /// How long an app may be connected without a whole unit of its own; 0 for ever.
    var silentTimeout: TimeAmount { get }
    /// What an app is told that finds no place, as an answer to its first words.
    ///
    /// - Returns: A handler that says so and closes the channel.
    func refusal(_ reason: String) -> any ChannelHandler

    // MARK: Names for people

    /// What is at the other end of the link.
    var accessoryName: String { get }
    /// What connects to use it.
    var clientName: String { get }
}

extension AccessoryLanguage {
    package func tapHasRoom() {}

    package var accessoryName: String { "head unit" }
    package var clientName: String { "app" }
}

/// Makes units of what comes on the link.
package protocol LinkReader: AnyObject {
    func received(_ bytes: ByteBuffer)
    /// The read is over, and flushed; or the link is read again after a pause.
    func waits()
    /// Nothing is read for a while, or for good.
    func stops()
}

/// Makes units of what comes from one app.
package protocol AppReader: AnyObject {
    func received(_ bytes: ByteBuffer)
    /// Passes whole units on as long as `AppConnection.mayGoOn`.
    func passOn()
    /// The read is over, and flushed; or the app is read again after a pause.
    func waits()
    /// Nothing is read for a while, or for good.
    func stops()
    /// Its connection has ended by itself; what is left of its words is passed on now.
    func hungUp()
}
