package import NIOCore

/// What one accessory language provides so that its apps and its link can be served: how bytes become units,
/// who gets which of them, and what happens to an app that reads too slowly.
///
/// The hub does the rest: transports, sockets and their ends, who may connect, the order and the flush of
/// writes, the clock and its one timer, tap, limits and status. Each further language is a class of its own
/// beside `SDLLanguage`; neither knows of the other. Everything is called on the hub's loop, between the
/// hub's `beginRead` and `endRead` unless stated otherwise.
package protocol AccessoryLanguage: AnyObject {
    // MARK: The link

    /// A link has opened. Its bytes go to the returned reader.
    func linkOpened(_ link: LinkConnection) -> any LinkReader
    /// The link is gone, with everything that was written but not sent.
    func linkClosed(because reason: String)
    /// The kernel has taken everything that was flushed to the link. Called outside of a read.
    func linkTookAll()
    /// Whether the link must not be read now.
    var isLinkHeld: Bool { get }
    /// No sink of the tap makes the hub wait any more (`FrameTap.isHolding`): the language resumes what it
    /// says by itself and has held back. Called outside of a read.
    func tapHasRoom()

    // MARK: Apps

    /// An app has connected. Its bytes go to the returned reader. The language may greet or close it.
    func connected(_ app: AppConnection) -> any AppReader
    /// The app is gone; everything it said before has been passed on.
    ///
    /// - Returns: How the app left, if nobody sent it away.
    func disconnected(_ app: AppConnection) -> AppLeaving
    /// Everything that could be written to this app was flushed, and its socket did not take it all.
    func blocked(_ app: AppConnection)
    /// The app's socket takes bytes again, or nothing waits for it any more. Called outside of a read.
    func tookAll(_ app: AppConnection)
    /// relayd sends the app away: whatever has to be said for it on the link is said now.
    func leave(_ app: AppConnection)

    // MARK: Time

    /// Flushes the link, after everything that one or more reads have caused is decided. Also called outside
    /// of a read.
    func flushLink()
    /// Bytes written to the link since its last flush.
    var unflushedLinkBytes: Int { get }
    /// The read is over and the apps are flushed: units that wait for the link may go.
    func readIsOver()
    /// When to call `advance`; nil while nothing is due.
    var nextDeadline: NIODeadline? { get }
    func advance()

    // MARK: For status, reload and stop

    func reconfigure(_ configuration: RelayConfiguration)
    /// Adds what only the language knows.
    func describe(_ link: inout RelaySnapshot.Link)
    func describe(_ app: inout RelaySnapshot.App)
    /// relayd stops: says everything that has to be said for all apps.
    func leaveAll()
    /// Whether the accessory has confirmed everything said at the end, or owes no confirmation.
    var isAllSaid: Bool { get }
    /// How long an app may be connected without sending a whole unit; 0 for ever.
    var silentTimeout: TimeAmount { get }
    /// Refuses an app for which there is no room, in answer to its first words.
    ///
    /// - Returns: A handler that tells the app so and closes the channel.
    func refusal(_ reason: String) -> any ChannelHandler

    // MARK: Names for people

    /// What is at the other end of the link.
    var accessoryName: String { get }
    /// What connects to use the accessory.
    var clientName: String { get }
}

extension AccessoryLanguage {
    package func tapHasRoom() {}

    package var accessoryName: String { "head unit" }
    package var clientName: String { "app" }
}

/// Turns the bytes of the link into units.
package protocol LinkReader: AnyObject {
    func received(_ bytes: ByteBuffer)
    /// The read is over, and flushed; or the link is read again after a pause.
    func waits()
    /// Nothing is read for a while, or ever again.
    func stops()
}

/// Turns the bytes of one app into units.
package protocol AppReader: AnyObject {
    func received(_ bytes: ByteBuffer)
    /// Passes on whole units as long as `AppConnection.mayGoOn`.
    func passOn()
    /// The read is over, and flushed; or the app is read again after a pause.
    func waits()
    /// Nothing is read for a while, or ever again.
    func stops()
    /// The connection has ended by itself; what is left of the app's words is passed on now.
    func hungUp()
}
