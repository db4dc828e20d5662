import ControlAPI
import Glibc
import NIOCore

/// Wireshark's requests to a program in its folder of capture programs (Wireshark Developer's Guide,
/// "Extcap"), and the answers: running relayds are interfaces. The script of `WiresharkFile` passes the
/// requests on.
struct Extcap: Sendable {
    /// A relayd that may be running.
    struct Place: Sendable, Equatable {
        /// Wireshark remembers an interface by this name.
        var name: String
        var socket: ControlSocket
    }

    enum Question: Sendable, Equatable {
        case interfaces
        case linkTypes
        case options
        case capture(interface: String, pipe: String)
        /// Whether a capture filter is valid.
        case filter(String)
        /// Unknown to this relayctl; later versions of Wireshark may ask more.
        case unknown

        /// Unknown options and their values are skipped.
        init(_ arguments: [String]) {
            var flags: Set<String> = []
            var values: [String: String] = [:]
            var rest = arguments[...]
            while let word = rest.popFirst() {
                guard word.hasPrefix("--") else { continue }
                if let sign = word.firstIndex(of: "=") {
                    values[String(word[..<sign])] = String(word[word.index(after: sign)...])
                } else if let next = rest.first, !next.hasPrefix("--") {
                    values[word] = next
                    rest.removeFirst()
                } else {
                    flags.insert(word)
                }
            }
            let interface = values["--extcap-interface"]
            if flags.contains("--extcap-interfaces") {
                self = .interfaces
            } else if flags.contains("--extcap-dlts") {
                self = .linkTypes
            } else if flags.contains("--extcap-config") {
                self = .options
            } else if flags.contains("--capture"), let interface, let pipe = values["--fifo"] {
                self = .capture(interface: interface, pipe: pipe)
            } else if let filter = values["--extcap-capture-filter"] {
                self = .filter(filter)
            } else {
                self = .unknown
            }
        }
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let places: [Place]

    /// Live bytes of a trace, from now on.
    static let liveTrace = Routes.recordLive
    /// Wireshark asks at every start, and waits. A relayd that answers more slowly, on a busy machine, is
    /// shown without its head unit.
    private static let patience = TimeAmount.milliseconds(300)
    /// LINKTYPE_WIRESHARK_UPPER_PDU: packets that name their dissector.
    private static let linkType = 252

    /// - Parameter instances: Names of directories in /run that belong to named benches, `relayd-NAME`.
    init(
        in surroundings: Surroundings = .current, instances: () -> [String] = Extcap.instances
    ) {
        let usual = (try? ControlSocket.forTool(in: surroundings)) ?? []
        var places: [Place] = []
        for socket in usual {
            switch socket.place {
            case .user: places.append(Place(name: "relayd.user", socket: socket))
            case .temporary: places.append(Place(name: "relayd.tmp", socket: socket))
            default: places.append(Place(name: "relayd", socket: socket))
            }
        }
        // Otherwise $RELAYD_SOCKET is the only place, as for the other commands.
        if usual.first?.place == .system {
            for name in instances() {
                let path = "/run/\(name)/\(ControlSocket.fileName)"
                guard let socket = try? ControlSocket.forTool(given: path).first else { continue }
                places.append(Place(name: name, socket: socket))
            }
        }
        self.places = places
    }

    private static func instances() -> [String] {
        guard let folder = opendir("/run") else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isPlain = name.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: "}")
            }
            if name.hasPrefix("relayd-"), isPlain { names.append(name) }
        }
        return names.sorted()
    }

    // MARK: Answers

    /// The list of interfaces: one line for each running relayd.
    func interfaces() async -> String {
        let shown = await withTaskGroup(of: (Int, String)?.self) { group in
            for (index, place) in places.enumerated() where Self.isSocket(place.socket.path) {
                group.addTask { await Self.display(place).map { (index, $0) } }
            }
            return await group.reduce(into: [Int: String]()) { found, one in
                if let one { found[one.0] = one.1 }
            }
        }
        var text = "extcap {version=\(Version.current)}{display=relayd}\n"
        for (index, place) in places.enumerated() {
            guard let display = shown[index] else { continue }
            text += "interface {value=\(place.name)}{display=\(display)}\n"
        }
        return text
    }

    /// - Returns: nil when nothing listens there, or it is not relayd.
    private static func display(_ place: Place) async -> String? {
        let client = ControlClient(sockets: [place.socket], timeout: patience)
        do {
            let address = try await client.status().value.accessory.address
            return "\(place.name): \(value(SafeText.clean(address)))"
        } catch ControlClientError.timedOut, ControlClientError.crowded {
            return place.name
        } catch {
            return nil
        }
    }

    static let linkTypes =
        "dlt {number=\(linkType)}{name=WIRESHARK_UPPER_PDU}{display=SDL, as relayd records it}\n"

    static let filterAnswer = "relayd knows no capture filters; use a display filter\n"

    /// Copies the trace of a relayd into Wireshark's pipe, until one of the two ends.
    ///
    /// - Throws: `Problem`, or `ControlClientError` when relayd cannot be asked or refuses.
    func capture(from interface: String, into pipe: String) async throws {
        guard let place = places.first(where: { $0.name == interface }) else {
            throw Problem(description: "there is no relayd \(SafeText.clean(interface))")
        }
        signal(SIGPIPE, SIG_IGN)
        // Waits for Wireshark to open its end.
        let descriptor = open(pipe, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw Problem(description: "\(SafeText.clean(pipe)) cannot be written: \(reason)")
        }
        defer { close(descriptor) }
        let client = ControlClient(sockets: [place.socket])
        let end = try await client.bytes(of: Self.liveTrace) { bytes, _ in
            try Self.write(bytes, to: descriptor)
        }
        if case .brokenOff(let socket) = end { throw ControlClientError.brokenOff(socket) }
    }

    /// - Returns: False when the reader is gone.
    private static func write(_ bytes: ByteBuffer, to descriptor: CInt) throws -> Bool {
        var rest = bytes.readableBytesView
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                return false
            } else if errno != EINTR {
                throw Problem(
                    description: "the trace cannot be written: \(String(cString: strerror(errno)))")
            }
        }
        return true
    }

    // MARK: Parts

    private static func isSocket(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// Replaces braces, which would end the value.
    private static func value(_ text: String) -> String {
        text.replacing("{", with: "(").replacing("}", with: ")")
    }
}
