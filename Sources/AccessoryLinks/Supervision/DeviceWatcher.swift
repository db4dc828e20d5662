import Glibc
import NIOCore
import Synchronization

/// Reports when a device node may have appeared, disappeared or changed: inotify on its directory, or on the
/// nearest one that exists (/dev/serial/by-id comes and goes with its contents). Symbolic links are followed: the
/// directory of each link's target is watched too.
///
/// `LinkSupervisor` has one while the link is down. It costs nothing between events.
struct DeviceWatcher: DevicePresence {
    private let node: String
    private let channel: any Channel
    private let health: Health

    /// Why a directory cannot be watched (no read permission, no watches left), so that the node may appear
    /// unnoticed and has to be checked from time to time; nil when all is well.
    var failure: LinkProblem? { health.failure.withLock { $0 } }

    var isWorthTrying: Bool { DeviceNode(node).exists }

    var absence: LinkProblem { DeviceNode(node).absent(others: SerialSurvey.plugged()) }

    /// What the handler on the loop reports to the watcher's owner.
    final class Health: Sendable {
        let failure = Mutex<LinkProblem?>(nil)
    }

    /// Starts watching; `onChange` is called on the loop, at most once per batch of events. The caller checks the
    /// node afterwards, since earlier changes are not reported.
    init(
        node: String, on loop: any EventLoop, onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) {
        let descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else {
            throw .system("\(node) cannot be watched with inotify", errno: errno)
        }
        let health = Health()
        self.health = health
        self.node = node
        channel = try await DescriptorChannel.openReader(
            OwnedDescriptor(descriptor), on: loop, readSize: DeviceWatchHandler.readSize
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    DeviceWatchHandler(
                        node: node, inotify: descriptor, health: health, onChange: onChange))
            }
        }
    }

    func stop() {
        channel.close(promise: nil)
    }
}

/// Reads inotify events and keeps the set of watched directories up to date.
final class DeviceWatchHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// One event with the longest name takes 272 bytes; a smaller buffer gives EINVAL.
    static let readSize = 4096

    /// What can happen to a name in a directory, and to the directory itself.
    private static let mask =
        UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM)
        | UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR)

    /// Symbolic links followed before we give up; the kernel's own limit is 40.
    private static let maximumLinks = 16

    private let node: String
    /// Owned by the channel, which outlives its handlers.
    private let inotify: CInt
    private let health: DeviceWatcher.Health
    private let onChange: @Sendable () -> Void
    /// Names of interest per watch descriptor.
    private var watches: [CInt: Set<String>] = [:]
    private var changed = false

    init(
        node: String, inotify: CInt, health: DeviceWatcher.Health,
        onChange: @escaping @Sendable () -> Void
    ) {
        self.node = node
        self.inotify = inotify
        self.health = health
        self.onChange = onChange
    }

    func handlerAdded(context: ChannelHandlerContext) {
        arm()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var events = unwrapInboundIn(data)
        // struct inotify_event: int wd; uint32_t mask, cookie, len; char name[len], NUL-padded.
        while let (rawWatch, mask, _, length) = events.readMultipleIntegers(
            endianness: .host, as: (UInt32, UInt32, UInt32, UInt32).self),
            let padded = events.readSlice(length: Int(length))
        {
            let name = String(decoding: padded.readableBytesView.prefix { $0 != 0 }, as: UTF8.self)
            let watch = CInt(bitPattern: rawWatch)
            let concernsDirectory =
                mask
                & (UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_IGNORED)
                    | UInt32(IN_Q_OVERFLOW)) != 0
            if concernsDirectory || watches[watch]?.contains(name) == true { changed = true }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard changed else { return }
        changed = false
        arm()
        onChange()
    }

    /// Watches what has to be watched now. A directory may appear between looking and watching, so
    /// this looks again until nothing has changed; the bound keeps a hostile file system from
    /// holding the loop, and every further change is an event anyway.
    private func arm() {
        var plan = Self.plan(for: node)
        for _ in 0..<8 {
            var wanted: [CInt: Set<String>] = [:]
            var failure: LinkProblem?
            for (directory, names) in plan {
                let watch = inotify_add_watch(inotify, directory, Self.mask)
                if watch >= 0 {
                    wanted[watch, default: []].formUnion(names)
                } else if errno != ENOENT && errno != ENOTDIR {
                    failure = .system("\(directory) cannot be watched with inotify", errno: errno)
                }
            }
            health.failure.withLock { $0 = failure }
            for stale in watches.keys where wanted[stale] == nil {
                inotify_rm_watch(inotify, stale)
            }
            watches = wanted
            let again = Self.plan(for: node)
            if again == plan { return }
            plan = again
        }
    }

    /// Directories that exist, and the names in them that decide whether the node can be opened.
    static func plan(for node: String) -> [String: Set<String>] {
        var plan: [String: Set<String>] = [:]
        var path = node
        for _ in 0..<maximumLinks {
            let (directory, name) = nearestDirectory(of: path)
            plan[directory, default: []].insert(name)
            guard let target = SymbolicLink.target(of: path) else { break }
            path = target.hasPrefix("/") ? target : parent(of: path) + "/" + target
        }
        return plan
    }

    /// The deepest existing directory above the path, and the path's next component below it.
    private static func nearestDirectory(of path: String) -> (directory: String, name: String) {
        var directory = parent(of: path)
        var name = lastComponent(of: path)
        while directory != "/" && !isDirectory(directory) {
            name = lastComponent(of: directory)
            directory = parent(of: directory)
        }
        return (directory, name)
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    private static func lastComponent(of path: String) -> String {
        String(path.split(separator: "/").last ?? "")
    }

    private static func isDirectory(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
    }
}
