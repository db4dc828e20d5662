import Media
import NIOCore

/// Who gets which pictures: the video that began last, for each player from a picture on that a decoder can
/// begin with. A value, without sockets; `VideoPort` has them.
struct VideoFeed {
    /// Counts players, from 1.
    typealias Player = Int

    /// Bytes for a player.
    struct Piece: Equatable {
        var player: Player
        var bytes: ByteBuffer
    }

    /// What somebody watches with; more are turned away.
    static let maximumPlayers = 8
    /// What a player may be behind. One that is further behind gets nothing until the next picture that it
    /// can begin with.
    static let maximumPending = 8 << 20
    /// Pictures that are kept so that a player need not wait for the next that it can begin with: some
    /// encoders make one in ten seconds, some only the first. Of more than that nothing is kept.
    static let maximumGroup = 8 << 20

    private struct Place {
        var isWaiting = true
        /// Bytes that its socket has not taken.
        var pending = 0
    }

    private var places: [Player: Place] = [:]
    private var lastPlayer: Player = 0
    /// Streams that go on, by when they began.
    private var streams: [MediaID] = []
    /// The next picture for those that begin with it.
    private var entry: ByteBuffer?
    /// Of the stream that is shown: from the latest entry on; empty when that became too much.
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

    /// What the next bytes of the stream are for a decoder that begins there.
    mutating func entry(_ stream: MediaID, _ bytes: ByteBuffer) {
        if stream == shown { entry = bytes }
    }

    /// A picture.
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

    /// - Returns: Its number and what it gets at once; nil when there are too many.
    mutating func joined() -> (player: Player, pieces: [Piece])? {
        guard places.count < Self.maximumPlayers else { return nil }
        lastPlayer += 1
        places[lastPlayer] = Place()
        let player = lastPlayer
        return (player, group.map { give($0, to: player) })
    }

    /// Its socket has taken so many bytes.
    mutating func took(_ bytes: Int, _ player: Player) { places[player]?.pending -= bytes }

    mutating func left(_ player: Player) { places[player] = nil }
}
