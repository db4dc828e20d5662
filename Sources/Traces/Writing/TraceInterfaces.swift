import NIOCore
import RelayCore

/// The interfaces of one file of a trace: relayd itself, each link, each app's connection. Each gets its
/// number, and its description in the file, when it is first needed. `TraceEncoder` and `TraceWriter` have
/// one for each file.
struct TraceInterfaces {
    enum Place: Hashable {
        case relay
        case link(Int)
        case app(AppID)

        /// - Parameter link: Number of the latest link.
        init(of app: AppID?, link: Int) {
            self = app.map(Place.app) ?? .link(link)
        }

        init(of record: TraceRecord, link: Int) {
            self = record.app.map(Place.app) ?? (record.isOfLink ? .link(link) : .relay)
        }
    }

    private let accessory: String
    private var numbers: [Place: UInt32] = [:]
    /// Those of apps that have left count.
    private var count: UInt32 = 0

    /// Places that are remembered. With more of them, which only a file that somebody made up has, a place
    /// is described again.
    static let maximumPlaces = 4096

    /// - Parameter accessory: The head unit's address, as configured.
    init(accessory: String) {
        self.accessory = accessory
    }

    /// Nil for a place that is to be described first.
    func number(of place: Place) -> UInt32? { numbers[place] }

    /// Describes a place in the file.
    ///
    /// - Parameter description: Its address; nil where nobody knows it.
    mutating func add(
        _ place: Place, _ description: String?, to blocks: inout TraceBlocks
    ) -> UInt32 {
        // relayd itself is the first of each file.
        if place != .relay, count == 0 { _ = add(.relay, accessory, to: &blocks) }
        if numbers.count >= Self.maximumPlaces { numbers = [:] }
        let name =
            switch place {
            case .relay: "relayd"
            case .link(let number): "link \(number)"
            case .app(let id): "app \(id.rawValue)"
            }
        PcapngWriter.append(
            PcapngInterface(
                linkType: ExportedPDU.linkType, name: name, description: description),
            to: &blocks)
        numbers[place] = count
        defer { count += 1 }
        return count
    }

    /// The app has left; another one with its number is another place.
    mutating func forget(_ app: AppID) { numbers[.app(app)] = nil }

    /// relayd's own view: what it receives is inbound.
    static func direction(_ direction: Direction, app: AppID?) -> PcapngDirection {
        (direction == .fromApp) == (app != nil) ? .inbound : .outbound
    }
}
