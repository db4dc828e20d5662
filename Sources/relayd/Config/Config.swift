package import Logging
package import Media
package import NIOCore
package import OpenXCRelay
package import RelayCore
import SDLTraffic
package import Traces

// Everything a user can decide about relayd, with the built-in defaults. `Daemon` reads it and
// hands each part the few values it needs; no other part reads files or the environment.

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

    /// An RPC specification to use instead of the built-in one, an XML file such as MOBILE_API.xml:
    /// for head units with a newer one, or with RPCs of their manufacturer. Empty = built in.
    package var rpcSpec = ""

    /// Whether RPCs are compared with the specification. It costs less than writing the log line.
    package var rpcValidation = true

    /// How apps and the link are treated: the sections `apps` and `sessions`, and the hub's part of
    /// `limits`.
    package var hub = RelayConfiguration()
    package var limits = Limits()
    package var log = Log()
    package var record = Record()
    package var media = Media()
    package var control = Control()
    package var dashboard = Dashboard()
    package var drive = Drive()
    package var openxc = OpenXC()

    package init() {}

    /// Whether relayd may take part in the conversation: send, inject, and anything else that acts in place
    /// of an app or the head unit.
    package struct Drive: Sendable, Equatable {
        /// Off: somebody who attaches a relay only to watch must not press a driver's buttons by mistake.
        package var enabled = false

        package init() {}
    }

    /// A vehicle interface and its clients, when the address speaks OpenXC.
    package struct OpenXC: Sendable, Equatable {
        /// Where clients connect. Only this machine by default: OpenXC has no authentication. 50001 is
        /// the port of the OpenXC vehicle simulator, and the default of openxc-python.
        package var listen = [ListenAddress(host: "127.0.0.1", port: 50001)]

        /// The path of a link to a pseudo-terminal that relayd provides, for programs that speak to serial
        /// ports; empty for none.
        package var pty = ""

        /// Group that may open the pseudo-terminals, by name or number; empty = the daemon's own group.
        package var ptyGroup = ""

        /// How clients are treated.
        package var relay = OpenXCConfiguration()

        package init() {}
    }

    /// Bounds on the memory used for observing the traffic.
    package struct Limits: Sendable, Equatable {
        /// Largest multi-frame message the log assembles, in bytes. The largest images apps send
        /// fit; larger messages are relayed all the same, but not decoded.
        package var maximumMessage = 16 * 1024 * 1024

        /// Bytes of the latest messages kept for relayctl: some ten thousand messages, the last
        /// minutes of a busy bench. 0 keeps none.
        package var ring = MessageRing.defaultMaximumBytes

        package init() {}
    }

    /// What is logged, and where.
    package struct Log: Sendable, Equatable {
        package var format = Format.auto

        /// relayd's own messages from this severity up. Traffic has its own switch.
        package var level = Logger.Level.info

        package var destination = Destination.auto
        package var color = Color.auto

        /// Whether the decoded RPC traffic is logged. On, because that is what relayd is for.
        package var traffic = true

        /// Only traffic of these apps (name, app ID or #connection); empty = all.
        package var apps: [String] = []

        /// Only these functions; names with a leading ! are left out; empty = all.
        package var functions: [String] = []

        /// Only traffic that this filter accepts (Documentation/filters.md); empty = all.
        package var filter = ""

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
            /// To journald if systemd connected relayd's output to it, else `terminal`.
            case auto
            /// Traffic to standard output, relayd's own messages to standard error.
            case terminal
            /// To journald, with every value as a field of its own.
            case journald
        }

        /// Whether lines are coloured.
        package enum Color: String, Sendable, CaseIterable {
            /// On a terminal that supports it, unless NO_COLOR is set.
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

    /// Recordings of the traffic, frame by frame.
    package struct Record: Sendable, Equatable {
        /// Where they are: an absolute path, or `auto`.
        package var directory = "auto"

        /// Whether relayd records from its start to its end. Recordings hold everything apps and the
        /// head unit say, so nobody gets one without asking.
        package var always = false

        /// A file of this size is followed by the next one; 0 = one file. Tools can read a GiB at
        /// once.
        package var fileSize = 1 << 30

        /// A file of this age is followed by the next one; 0 = no limit.
        package var fileTime = TimeAmount.zero

        /// Number of files kept of one recording; 0 = all.
        package var files = 8

        package var streams = TraceStreams.all

        /// Parameters whose values are overwritten before they are written.
        package var mask: [String] = []

        package var whenBehind = RecordingPolicy.WhenBehind.wait

        /// Bytes buffered between the relay and the disk: one second of the fastest link there is.
        package var queue = 64 << 20

        /// Bytes of memory in which the latest traffic is kept; 0 = none. Off, because audio and video
        /// are copied for it, a small computer has better uses for the memory, and the traffic kept
        /// includes everything apps and the head unit say.
        package var last = 0

        /// Events at which that traffic is saved to a file automatically.
        package var saveOn: [SaveTrigger] = []

        /// With less memory, a single large frame would push out everything else.
        package static let leastLast = 4 << 20

        package init() {}
    }

    /// Pictures, sound and files, extracted from passing traffic.
    package struct Media: Sendable, Equatable {
        /// What is saved to files. Nothing by default: the files hold everything apps show, play and
        /// hear.
        package var save: [MediaKind] = []

        /// Where they are: an absolute path, or `auto`.
        package var directory = "auto"

        /// Total bytes of all files in the directory; at this limit writing stops, and nothing is removed.
        package var limit = 1 << 30

        /// Number of files in the directory: as many as a file manager still lists comfortably.
        package var files = 10_000

        /// Bytes buffered between the relay and the disk; beyond this media have gaps, and nobody
        /// waits.
        package var queue = 32 << 20

        /// The TCP port of this machine where players get video; 0 = none, because every user of this machine
        /// can reach it.
        package var videoPort = 0

        package init() {}
    }

    /// The control socket, on which relayctl speaks to relayd.
    package struct Control: Sendable, Equatable {
        package var socket = SocketPath.auto

        /// Permission bits of the socket: owner and group by default, because anyone who may write
        /// to it may command relayd.
        package var mode: UInt32 = 0o660

        /// Group that owns the socket, by name or number; empty = the daemon's own group.
        package var group = ""

        /// Whether users who are admitted by the mode, but are not relayd's own user, root or in
        /// the socket's group, may only look. With the default mode nobody else gets in.
        package var readOnlyForOthers = true

        /// Simultaneous connections; further ones are answered 429. A dashboard and a few scripts
        /// need fewer than ten.
        package var connections = 64

        /// Connections of one user: a dashboard or two and some scripts.
        package var connectionsPerPeer = 16

        /// Streams of one user; its other connections are for requests that end.
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
        /// On by default: every user of this machine can reach the port, but looking needs the token,
        /// which is given only to those who may use the control socket.
        package var enabled = true

        /// This machine only by default; on any other address, looking needs the token.
        package var address = ListenAddress(host: "127.0.0.1", port: 2777)

        /// Whether looking needs the token even on this machine, whose other users would see VIN and
        /// positions.
        package var tokenToRead = true

        /// A file with the token. By default relayd keeps its own, so that open pages and Prometheus
        /// survive a restart of relayd; empty for a new token at each start.
        package var tokenFile = ownTokenFile

        /// Stands for the file that relayd makes (see `TokenFile`).
        package static let ownTokenFile = "auto"

        /// Simultaneous connections; further ones are answered 429.
        package var connections = 64

        /// Connections of one address. All users of this machine share one address, so its share is
        /// large.
        package var connectionsPerPeer = 56

        /// Streams of one address. They do not end, so they leave half of the connections to others.
        package var streamsPerPeer = 24

        package init() {}
    }
}
