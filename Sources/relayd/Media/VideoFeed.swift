import Media
import NIOCore

/// Decides which player gets which pictures: those of the video that began last, for each player beginning
/// with one at which a decoder can start. A value, without sockets; `VideoPort` has them.
struct VideoFeed {
    /// Counts players, from 1.
    typealias Player = Int

    /// Bytes for a player.
    struct Piece: Equatable {
        var player: Player
        var bytes: ByteBuffer
    }

    /// More players than one person watches with; further ones are turned away.
    static let maximumPlayers = 8
    /// Bytes a player may be behind. A slower player gets nothing until the next picture at which it can
    /// start.
    static let maximumPending = 8 << 20
    /// Bytes of pictures kept so that a player need not wait for the next one at which it can start:
    /// some encoders make one in ten seconds, some only the first. A larger group is not kept at all.
    static let maximumGroup = 8 << 20

    private struct Place {
        var isWaiting = true
        /// Bytes its socket has not taken yet.
        var pending = 0
    }

    private var places: [Player: Place] = [:]
    private var lastPlayer: Player = 0
    /// Running streams, in the order in which they began.
    private var streams: [MediaID] = []
    /// The next picture for players that start with it.
    private var entry: ByteBuffer?
    /// Pictures of the shown stream from the latest entry on; empty if they became too many.
    private var group: [ByteBuffer] = []
    private var groupBytes = 0
    /// How often a player was too slow.
    private(set) var drops = 0

    var playerCount: Int { places.count }
    private var shown: MediaID? { streams.last }

    // MARK: Streams

    mutating func began(_ stream: MediaID) {
        streams.append(stream)
        showAnother()
    }

    /// Sets the form of the next bytes of the stream for a decoder that starts there.
    mutating func entry(_ stream: MediaID, _ bytes: ByteBuffer) {
        if stream == shown { entry = bytes }
    }

    /// Receives a picture.
    mutating func picture(_ stream: MediaID, _ bytes: ByteBuffer) -> [Piece] {
        guard stream == shown else { return [] }
        let entry = entry.take()
        keep(entry ?? bytes, isEntry: entry != nil)
        var pieces: [Piece] = []
        for (player, place) in places.sorted(by: { $0.key < $1.key }) {
            guard !place.isWaiting || entry != nil else { continue }
            let piece = place.isWaiting ? entry ?? bytes : bytes
            if place.pending + piece.readableBytes > Self.maximumPending {
                if !place.isWaiting { drops &+= 1 }
                places[player]?.isWaiting = true
                continue
            }
            pieces.append(give(piece, to: player))
        }
        return pieces
    }

    mutating func ended(_ stream: MediaID) {
        let wasShown = stream == shown
        streams.removeAll { $0 == stream }
        if wasShown { showAnother() }
    }

    private mutating func showAnother() {
        (entry, group, groupBytes) = (nil, [], 0)
        for player in places.keys { places[player]?.isWaiting = true }
    }

    private mutating func keep(_ bytes: ByteBuffer, isEntry: Bool) {
        if isEntry { (group, groupBytes) = ([], 0) }
        guard isEntry || !group.isEmpty else { return }
        groupBytes += bytes.readableBytes
        group.append(bytes)
        if groupBytes > Self.maximumGroup { (group, groupBytes) = ([], 0) }
    }

    private mutating func give(_ bytes: ByteBuffer, to player: Player) -> Piece {
        places[player]?.isWaiting = false
        places[player]?.pending += bytes.readableBytes
        return Piece(player: player, bytes: bytes)
    }

    // MARK: Players

    /// - Returns: Its number and what it gets at once; nil if there are too many players.
    mutating func joined() -> (player: Player, pieces: [Piece])? {
        guard places.count < Self.maximumPlayers else { return nil }
        lastPlayer += 1
        places[lastPlayer] = Place()
        let player = lastPlayer
        return (player, group.map { give($0, to: player) })
    }

    /// Called when the player's socket has taken `bytes` bytes.
    mutating func took(_ bytes: Int, _ player: Player) { places[player]?.pending -= bytes }

    mutating func left(_ player: Player) { places[player] = nil }
}
