import NIOCore
import RelayCore

/// The interfaces of one trace file: relayd itself, each link, each app's connection. An interface gets its
/// number, and its description in the file, when it is first needed. `TraceEncoder` and `TraceWriter` have
/// one for each file.
struct TraceInterfaces {
    enum Place: Hashable {
        case relay
        case link(Int)
        case app(AppID)

        /// - Parameter link: The number of the latest link.
        init(of app: AppID?, link: Int) {
            self = app.map(Place.app) ?? .link(link)
        }

        init(of record: TraceRecord, link: Int) {
            self = record.app.map(Place.app) ?? (record.isOfLink ? .link(link) : .relay)
        }
    }

    private let accessory: String
    private var numbers: [Place: UInt32] = [:]
    /// The number of interfaces, including those of apps that have left.
    private var count: UInt32 = 0

    /// Places that are remembered. Only a forged file has more; then a place is described again.
    static let maximumPlaces = 4096

    /// - Parameter accessory: The head unit's address, as configured.
    init(accessory: String) {
        self.accessory = accessory
    }

    /// Nil for a place that has to be described first.
    func number(of place: Place) -> UInt32? { numbers[place] }

    /// Describes a place in the file.
    ///
    /// - Parameter description: The address of the place; nil when unknown.
    mutating func add(
        _ place: Place, _ description: String?, to blocks: inout TraceBlocks
    ) -> UInt32 {
        // relayd itself is the first interface of each file.
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

    /// Forgets an app that has left; another one with its number is a different place.
    mutating func forget(_ app: AppID) { numbers[.app(app)] = nil }

    /// From relayd's point of view: frames that it receives are inbound.
    static func direction(_ direction: Direction, app: AppID?) -> PcapngDirection {
        (direction == .fromApp) == (app != nil) ? .inbound : .outbound
    }
}
