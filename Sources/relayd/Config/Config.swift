package import Logging
package import RelayCore
import SDLTraffic

// Everything a user can decide about relayd, with the built-in defaults. `Daemon` reads it and
// hands each part the few values it needs; nobody else reads files or the environment.

/// What relayd does, as decided by defaults, file, environment and flags.
///
/// `config/relayd.yaml` is this type written as YAML; a test keeps the two equal.
package struct Config: Sendable, Equatable {
    /// Where the head unit is, as an address the transport catalogue understands. The built-in
    /// simulator is the default, so that relayd shows something on a machine with no hardware.
    package var accessory = "sim:"

    /// Where apps connect. Only this machine by default: SDL has no authentication, so whoever
    /// reaches the port can drive the head unit. 2776 is the port of the iOS Relay app.
    package var listen = [ListenAddress(host: "127.0.0.1", port: 2776)]

    /// An RPC specification to use instead of the built-in one, an XML file such as
    /// MOBILE_API.xml: for head units with a newer one, or RPCs of their maker's. Empty = built in.
    package var rpcSpec = ""

    /// Whether RPCs are compared with the specification. It costs less than writing the log line.
    package var rpcValidation = true

    package var apps = Apps()
    package var sessions = Sessions()
    package var limits = Limits()
    package var log = Log()
    package var control = Control()
    package var dashboard = Dashboard()

    package init() {}

    package struct Apps: Sendable, Equatable {
        /// An app that comes before the head unit is held by default: app libraries wait for an
        /// answer, but give up or spin when they are refused at once.
        package var whenAccessoryAbsent = RelayConfiguration.WhenAccessoryAbsent.hold

        /// How long an app's StartService is held before it is answered with a NAK. A minute
        /// is enough to switch a bench on, and short enough for a person who forgot to.
        package var holdTimeout = Duration.seconds(60)

        /// Apps are closed with the link by default, because a closed connection is what makes
        /// their libraries reconnect and register anew.
        package var whenLinkLost = RelayConfiguration.WhenLinkLost.close

        /// Bytes waiting for one slow app before that app alone is closed: some seconds of a
        /// busy link fit, and one app that hangs cannot take the machine's memory.
        package var queueLimit = 12 * 1024 * 1024

        /// An app that reads, but for long more slowly than the head unit sends: its queue is full
        /// although the link was slowed. Closed by default, because the others would go on waiting.
        package var whenSlow = RelayConfiguration.WhenSlow.drop

        /// How long the link is slowed for an app that does not read, before its queue grows:
        /// long enough for a scheduling hiccup, too short for the other apps to notice.
        package var stallGrace = Duration.milliseconds(40)

        /// TCP connections at once. A link has at most 255 sessions; the rest is room for
        /// connections that are about to be refused or are closing.
        package var maximum = 300

        /// Networks apps may connect from; empty = whoever reaches `listen`.
        package var allow: [Network] = []

        /// Connections one address may make in a second; twenty seconds' worth at once are fine.
        /// Far above what reconnecting libraries do, far below what would keep relayd busy.
        /// 0 = any number.
        package var connectionsPerSecond = 100

        /// How long a connection may stay without one whole frame: libraries send StartService at
        /// once, also those of an app at a breakpoint. 0 = for ever.
        package var silentTimeout = Duration.seconds(60)

        /// Frames a session may send in a second before its app is paced; audio and video do not
        /// count. sdl_core ends a session at 1000. 0 switches pacing off.
        package var framesPerSecond = 950

        /// Bytes a message may announce: sdl_core reserves them at once, and an app that announces
        /// a gigabyte makes all others wait. Its apps have 100 MiB for all their files, so no RPC
        /// needs more than that and its parameters.
        package var messageLimit = 101 * 1024 * 1024

        /// Frames of a session the app does not own are an app's bug: dropped and logged by
        /// default, so that the developer sees the line and not just a lost connection.
        package var foreignFrames = RelayConfiguration.ForeignFrames.drop

        package init() {}
    }

    /// How sessions begin and end.
    package struct Sessions: Sendable, Equatable {
        /// How long the head unit may take to answer a StartService. Real units took 14 s, so
        /// less than 20 s cuts off sessions that would have come.
        package var startServiceTimeout = Duration.seconds(20)

        /// How long a stopping relayd waits for the head unit to confirm that its sessions have
        /// ended. A second is plenty for a head unit that answers, and short for a restart.
        package var farewellTimeout = Duration.seconds(1)

        /// A head unit ends a session whose app does not answer its heartbeat, as at a breakpoint;
        /// relayd answers in its place by default, so that the developer finds the app as it was.
        package var heartbeats = RelayConfiguration.Heartbeats.answer

        /// Offers of a second transport name the head unit's own network, which the app's
        /// machine cannot reach and relayd cannot see; they are stripped by default.
        package var secondaryTransports = RelayConfiguration.SecondaryTransports.strip

        package init() {}
    }

    /// Bounds on memory.
    package struct Limits: Sendable, Equatable {
        /// Bytes of one frame's payload, protocol version 3 and later: the protocol's largest
        /// frame (131084) and some slack, because senders disagree whether it counts the header.
        package var maximumPayload = 131_100

        /// Bytes waiting for the link before apps are held back: two of the largest frames, so
        /// that a slow link never waits for data, and memory does not grow while it is slow.
        package var linkQueue = 256 * 1024

        /// Bytes waiting for the log before it misses frames (counted): the relay never waits
        /// for a terminal.
        package var tapQueue = 8 * 1024 * 1024

        /// Bytes of one multi-frame message the log assembles: the largest images apps send
        /// fit; anything above is relayed all the same, only not decoded.
        package var maximumMessage = 16 * 1024 * 1024

        /// Bytes of the latest messages that are kept for relayctl: some ten thousand messages,
        /// the last minutes of a busy bench. 0 keeps none.
        package var ring = MessageRing.defaultMaximumBytes

        package init() {}
    }

    /// What is written where.
    package struct Log: Sendable, Equatable {
        package var format = Format.auto

        /// relayd's own messages from this severity up. Traffic has its own switch.
        package var level = Logger.Level.info

        package var destination = Destination.auto
        package var color = Color.auto

        /// Whether the decoded RPC traffic is logged. It is what relayd is for, hence on.
        package var traffic = true

        /// Only traffic of these apps (name, app ID or #connection); empty = all.
        package var apps: [String] = []

        /// Only these functions; names with a leading ! are left out; empty = all.
        package var functions: [String] = []

        /// Only traffic of these services; empty = all.
        package var services: [Service] = []

        package init() {}

        /// How a line looks.
        package enum Format: String, Sendable, CaseIterable {
            /// Text, for people.
            case auto
            case text
            /// One JSON object per line.
            case json
        }

        /// Where lines go.
        package enum Destination: String, Sendable, CaseIterable {
            /// To journald when systemd started relayd with its output there, else `terminal`.
            case auto
            /// Traffic to standard output, relayd's own messages to standard error.
            case terminal
            /// To journald, with every value as a field of its own.
            case journald
        }

        /// Whether lines are coloured.
        package enum Color: String, Sendable, CaseIterable {
            /// On a terminal that can, unless NO_COLOR is set.
            case auto
            case always
            case never
        }

        /// The services of the protocol, by the names used on the command line.
        package enum Service: String, Sendable, CaseIterable {
            case control, rpc, audio, video, bulk
        }

        /// The levels a user may choose, most severe first.
        package static let levels: [Logger.Level] = [
            .error, .warning, .notice, .info, .debug, .trace,
        ]
    }

    /// The control socket, on which relayctl speaks to relayd.
    package struct Control: Sendable, Equatable {
        package var socket = SocketPath.auto

        /// Permission bits of the socket: owner and group by default, because whoever may
        /// write to it may command relayd.
        package var mode: UInt32 = 0o660

        /// Group that owns the socket, by name or number; empty = the daemon's own group.
        package var group = ""

        /// Whether users whom the mode lets in although they are neither relayd's own, root, nor
        /// of the socket's group may only look. With the default mode nobody else gets in.
        package var readOnlyForOthers = true

        /// Connections at once; whoever comes then is answered 429. A dashboard and a few scripts
        /// need under ten.
        package var connections = 64

        /// Connections of one user: a dashboard or two and some scripts.
        package var connectionsPerPeer = 16

        /// Streams of one user; the rest of its connections is for requests that end.
        package var streamsPerPeer = 8

        package init() {}

        /// Where the control socket lives.
        package enum SocketPath: Sendable, Equatable {
            /// In the runtime directory: systemd's, the user's, or /tmp, whichever is there.
            case auto
            /// At this absolute path.
            case path(String)
        }
    }

    /// The page for browsers, on a TCP port.
    package struct Dashboard: Sendable, Equatable {
        /// Off by default: every user of this machine can reach a TCP port and look at the
        /// traffic there, which the control socket keeps to its owner and group.
        package var enabled = false

        /// This machine only by default; on any other address looking needs the token.
        package var address = ListenAddress(host: "127.0.0.1", port: 2777)

        /// Whether looking needs the token even on this machine, whose other users would see VIN and
        /// positions.
        package var tokenToRead = true

        /// A file with the token, for those who must know it before relayd starts; empty for a new
        /// token at each start.
        package var tokenFile = ""

        /// Connections at once; whoever comes then is answered 429.
        package var connections = 64

        /// Connections of one address. All users of this machine have one, so its share is large.
        package var connectionsPerPeer = 56

        /// Streams of one address. They do not end, so they leave half of the connections to others.
        package var streamsPerPeer = 24

        package init() {}
    }
}
