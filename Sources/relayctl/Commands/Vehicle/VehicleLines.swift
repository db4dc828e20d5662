import ControlAPI
import NIOCore

/// Shows the stream of a vehicle's messages as they arrive, also across a restart of relayd. Used by the
/// commands of `relayctl vi` that show messages.
struct VehicleLines {
    private let client: ControlClient
    private let query: [String]
    private let wanted: VehicleStreamBody?
    private let isFollowing: Bool
    private let isJSON: Bool
    private let screen = Output.current

    /// The run of relayd that was read last, and its last number; nil before relayd has answered.
    private var instance: String?
    private var cursor = 0
    /// relayd is known to be gone.
    private var isAway = false

    /// Time between attempts to reach relayd again.
    private static let pause = Duration.milliseconds(500)

    /// - Parameters:
    ///   - query: Which messages, and how many past ones.
    ///   - wanted: What is switched on meanwhile; nil for nothing.
    private init(
        _ client: ControlClient, _ query: [String], _ wanted: VehicleStreamBody?,
        isFollowing: Bool, isJSON: Bool
    ) {
        (self.client, self.query, self.wanted) = (client, query, wanted)
        (self.isFollowing, self.isJSON) = (isFollowing, isJSON)
    }

    /// Returns when the reader is gone, or when all is shown and `isFollowing` is false.
    ///
    /// - Throws: `ControlClientError` if relayd was never reached or waiting does not help; exit code 1
    ///   if the vehicle interface refuses the wanted settings.
    static func show(
        _ client: ControlClient, _ query: [String], _ wanted: VehicleStreamBody? = nil,
        isFollowing: Bool = true, _ options: OutputOptions
    ) async throws {
        var lines = VehicleLines(
            client, query, wanted, isFollowing: isFollowing, isJSON: options.json)
        lines.screen.follow()
        do {
            while try await lines.read() { try await Task.sleep(for: Self.pause) }
        } catch ControlClientError.refused(_, _, _, _, .vehicleRefused?, let message) {
            Output.current.write("relayctl: \(message)\n", to: .error)
            throw VehicleCommand.failed
        }
    }

    /// Reads one connection to its end, or finds that relayd cannot be reached.
    ///
    /// - Returns: Whether to go on.
    private mutating func read() async throws -> Bool {
        do {
            let question = try question()
            var goesOn = true
            // The closure cannot change `self` while `self.client` is in use.
            var reader = self
            defer { self = reader }
            let end = try await client.lines(of: question) { lines in
                goesOn = reader.take(lines)
                return goesOn
            }
            // A follower reconnects; any other reader would not know that there was more.
            if !isFollowing, case .brokenOff(let path) = end {
                throw ControlClientError.brokenOff(path)
            }
            return goesOn && isFollowing
        } catch let error as ControlClientError {
            guard instance != nil, isFollowing, error.mayPass || error.isAboutTheLink else {
                throw error
            }
            if !isAway { note("relayd is gone; waiting for it to come back") }
            isAway = true
            return true
        }
    }

    private func question() throws -> ControlQuestion {
        var query = query.filter { instance == nil || !$0.hasPrefix("last=") }
        if !isFollowing { query.append("follow=0") }
        if let instance { query += ["instance=\(instance.percentEncoded())", "after=\(cursor)"] }
        let path = Routes.vehicleStream + "?" + query.joined(separator: "&")
        guard let wanted else { return ControlQuestion(path: path) }
        return ControlQuestion(
            method: "POST", path: path, body: try APICoding.encodeLine(wanted))
    }

    // MARK: - What comes

    /// Writes lines that arrived together in one call. Returns false when the reader is gone.
    private mutating func take(_ lines: [ByteBuffer]) -> Bool {
        var text = ""
        for line in lines {
            let bytes = Array(line.readableBytesView)
            if let message = try? APICoding.decode(VehicleMessageReport.self, from: bytes) {
                cursor = message.n
                if !isJSON { text += VehicleTables.line(message) + "\n" }
            } else if let note = try? APICoding.decode(StreamNote.self, from: bytes) {
                take(note)
            }
            if isJSON { text += JSONText.safe(String(buffer: line)) + "\n" }
        }
        return text.isEmpty || screen.write(text)
    }

    private mutating func take(_ note: StreamNote) {
        if let name = note.instance {
            if instance == nil {
                // Only the past messages that were asked for.
                cursor = note.latest ?? 0
            } else if instance != name {
                self.note("relayd was restarted; its messages count from 1 again")
                cursor = 0
            } else if isAway {
                self.note("relayd is back")
            }
            (instance, isAway) = (name, false)
        }
        if let next = note.next { cursor = next }
        if let missed = note.missed {
            let verb = missed == 1 ? "was" : "were"
            self.note("\(Units.count(missed, "message")) \(verb) missed")
        }
    }

    private func note(_ text: String) { screen.write("relayctl: \(text)\n", to: .error) }
}

extension ControlClientError {
    /// relayd is back, but the vehicle interface is not, or has not answered yet.
    fileprivate var isAboutTheLink: Bool {
        guard case .refused(_, _, _, _, let code, _) = self else { return false }
        return code == .conflict || code == .noAnswer
    }
}
