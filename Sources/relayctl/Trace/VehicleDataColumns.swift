import RelayCore
import SDLProtocol
import SDLTraffic

/// Vehicle data of messages as the columns of a table, for `relayctl trace export`.
struct VehicleDataColumns {
    private var names: Set<String> = []
    private lazy var sorted: [String] = names.sorted()
    /// Number of values without a column.
    private(set) var left = 0

    /// More than the items in the RPC specification and their parts.
    static let maximum = 1000
    private static let notData: Set = ["success", "resultCode", "info"]
    private static let maximumDepth = 8

    mutating func learn(_ message: TrafficEntry) {
        for (name, _) in Self.values(message) where !names.contains(name) {
            if names.count < Self.maximum { names.insert(name) } else { left += 1 }
        }
    }

    var heading: String {
        mutating get { (["time", "app"] + sorted).map(Self.quoted).joined(separator: ",") + "\n" }
    }

    /// Nil for a message without vehicle data.
    mutating func row(_ message: TrafficEntry) -> String? {
        let values = Dictionary(Self.values(message)) { $1 }
        guard !values.isEmpty else { return nil }
        let app = message.appName ?? message.app?.description ?? ""
        let cells = [message.time.rfc3339, app] + sorted.map { values[$0] ?? "" }
        return cells.map(Self.quoted).joined(separator: ",") + "\n"
    }

    private static func values(_ message: TrafficEntry) -> [(String, String)] {
        guard case .rpc(let rpc) = message.content else { return [] }
        switch (rpc.message.functionID, rpc.message.type) {
        case (.onVehicleData, .notification), (.getVehicleData, .response): break
        default: return []
        }
        var values: [(String, String)] = []
        collect(rpc.message.parameters, "", depth: 0, into: &values)
        return values
    }

    private static func collect(
        _ object: JSONObject, _ path: String, depth: Int, into values: inout [(String, String)]
    ) {
        for member in object.members {
            guard let key = object.string(member.key), depth > 0 || !notData.contains(key) else {
                continue
            }
            let name = path + key
            if let inner = object.object(member.value), depth < maximumDepth {
                collect(inner, name + ".", depth: depth + 1, into: &values)
            } else if let text = object.string(member.value) {
                values.append((name, text))
            } else {
                var text: [UInt8] = []
                object.appendCompacted(member.value, to: &text)
                values.append((name, String(decoding: text, as: UTF8.self)))
            }
        }
    }

    /// A cell in the format of RFC 4180, on one line and safe for a terminal. Text that a spreadsheet
    /// would take for a formula gets the prefix for text, because apps choose their names.
    private static func quoted(_ cell: String) -> String {
        var cell = SafeText.line(cell)
        let isFormula = cell.first.map { "=+-@".contains($0) } ?? false
        if isFormula, Double(cell) == nil { cell = "'" + cell }
        guard cell.contains(where: { $0 == "," || $0 == "\"" }) else { return cell }
        return "\"" + cell.replacing("\"", with: "\"\"") + "\""
    }
}
