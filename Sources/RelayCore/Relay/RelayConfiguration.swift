package import NIOCore
import SDLProtocol

/// How the hub treats apps and the link, with the built-in defaults: what a user may set in the daemon's
/// configuration file, and some values that only tests set.
package struct RelayConfiguration: Sendable, Equatable {
    /// What happens to an app that asks for a session while no head unit is connected.
    package enum WhenAccessoryAbsent: String, Sendable, CaseIterable {
        /// No answer until the head unit comes, at most `holdTimeout`.
        case hold
        /// StartServiceNAK and close.
        case refuse
    }

    /// What happens to connected apps when the link to the head unit ends.
    package enum WhenLinkLost: String, Sendable, CaseIterable {
        /// Closed at once, so that their libraries reconnect.
        case close
        /// Kept connected without their sessions.
        case keep
    }

    /// What happens to invitations to connect around the relay.
    package enum SecondaryTransports: String, Sendable, CaseIterable {
        case strip
        case pass
    }

    /// What happens to an app that uses a session it does not own.
    package enum ForeignFrames: String, Sendable, CaseIterable {
        case drop
        case close
    }

    /// Who answers the head unit's heartbeats.
    package enum Heartbeats: String, Sendable, CaseIterable {
        /// The app, or relayd in its place if the app has not answered after `heartbeatPatience`.
        case answer
        /// The app alone.
        case pass
    }

    /// What happens to an app that reads more slowly than the head unit sends.
    package enum WhenSlow: String, Sendable, CaseIterable {
        /// The link waits for the app for a bounded time, then the app is closed.
        case drop
        /// The link waits for the app as long as the app takes anything.
        case hold
    }

    /// Held by default: app libraries wait for an answer, but give up or spin when they are refused at once.
    package var whenAccessoryAbsent = WhenAccessoryAbsent.hold
    /// How long an app's StartService waits for a head unit to come; libraries give up by themselves after
    /// 10 s or more and try again.
    package var holdTimeout: TimeAmount = .seconds(60)
    /// Closed by default: a closed connection is what makes libraries reconnect and register again.
    package var whenLinkLost = WhenLinkLost.close
    /// Stripped by default: offers name the head unit's own network, which the app's machine cannot
    /// reach and relayd cannot see.
    package var secondaryTransports = SecondaryTransports.strip
    /// Dropped and logged by default, so that the developer sees the line and not just a lost
    /// connection.
    package var foreignFrames = ForeignFrames.drop
    /// How long a head unit may take to answer StartService; real units took 14 s.
    package var startServiceTimeout: TimeAmount = .seconds(20)
    /// How long a stopping relay waits for the head unit to confirm that its sessions have ended.
    package var farewellTimeout: TimeAmount = .seconds(1)
    /// How long a head unit may take to refuse a half message that was ended. Measured with
    /// sdl_core 8.2.0: 2 to 61 ms.
    package var messageEndTimeout: TimeAmount = .milliseconds(500)
    /// How long a head unit may take to answer UnregisterAppInterface before EndService is sent all the same.
    /// Measured with sdl_core 8.2.0: 21 ms at most, 124 ms for eight apps at once.
    package var unregisterTimeout: TimeAmount = .seconds(1)
    /// How long an ended session stays known when the head unit does not answer EndService.
    package var endServiceTimeout: TimeAmount = .seconds(10)
    /// How long an app may take to answer the head unit's EndService before relayd does.
    package var endAnswerTimeout: TimeAmount = .seconds(1)
    /// How long a session with an encrypted half message is kept; nothing can end such a message. sdl_core
    /// forgets it after 10 s (ExpectedConsecutiveFramesTimeout).
    package var encryptedHold: TimeAmount = .seconds(11)
    /// How long a closed app may take to read the last words and hang up.
    package var lingerPatience = LingeringClose.patience
    /// How long after a session's end the head unit may still send in it.
    package var lateWordsWindow: TimeAmount = .seconds(10)
    /// Answered by default, so that the developer finds an app at a breakpoint as it was.
    package var heartbeats = Heartbeats.answer
    /// How long an app may take to answer a heartbeat. sdl_core ends the session 7 s after it.
    package var heartbeatPatience: TimeAmount = .milliseconds(2500)
    /// Bytes of the largest message an app may announce. sdl_core reserves them at once; its apps
    /// have 100 MiB for all their files, and RPCs some KiB.
    package var messageBytes = 101 << 20
    /// Bytes that may wait for one app that does not read; beyond this, the app is closed.
    package var appQueueBytes = 12 << 20
    /// Closed by default: otherwise the other apps would keep waiting.
    package var whenSlow = WhenSlow.drop
    /// How long the link is held for an app that has stopped reading before its queue grows instead.
    package var stallGrace: TimeAmount = .milliseconds(40)
    /// Bytes of one app waiting for the link before that app is no longer read.
    package var linkQueueBytes = 256 << 10
    /// Bytes waiting for the observers before they miss frames.
    package var tapQueueBytes = 8 << 20
    /// TCP connections at once. A link has 255 sessions; some connections are on their way in or out.
    package var maximumApps = 300
    /// Connections beyond `maximumApps` that may wait for their refusal; fewer where descriptors are scarce.
    package var maximumSurplus = AppAdmission.defaultMaximumSurplus
    /// Networks apps may connect from; empty = any that reaches the listening addresses.
    package var allowedNetworks: [Network] = []
    /// Connections one address may make per second, with bursts of some seconds' worth; 0 = any number.
    package var connectionsPerSecond = 100
    /// How long a connection may stay without one whole frame; 0 = for ever. App libraries send StartService
    /// at once, so an app at a breakpoint is not affected.
    package var silentTimeout: TimeAmount = .seconds(60)
    /// StartServices of one app that may wait for their turn.
    package var maximumPendingStartsPerApp = 8
    /// Frames of a session per second beyond which its app is paced; sdl_core ends a session at 1000, audio
    /// and video not counted. 0 switches pacing off.
    package var framesPerSecond = 950
    /// Payload bytes of the largest frame of v3…v5; grows when the head unit announces a larger MTU.
    package var maximumPayloadBytes = FrameRules.defaultMaximumPayloadBytes
    /// Payload bytes of an app's largest control frame.
    ///
    /// No option: a control frame, a StartService for video included, takes some hundred bytes. A head unit
    /// counts a frame larger than its mtu as malformed, whatever its type, and reads the payload as frames;
    /// the mtu is not known before the first session.
    package var controlPayloadBytes = 4096
    /// An incomplete frame older than this is reported as a stall.
    package var stallTimeout: TimeAmount = .seconds(10)

    package init() {}
}
