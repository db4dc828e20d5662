import NIOCore
import OpenXCProtocol
import RelayCore

/// The messages that go to the clients together, written once in each form that some client wants. All
/// messages of one form lie in one piece of memory, so that a client can be sent all of them with one write.
struct MessageBatch {
    private(set) var messages:
        [(message: VehicleMessage, destination: VehicleRouter<AppID>.Destination)] =
            []
    /// Clients that get an answer to a command of their own.
    private(set) var asking: [AppID] = []
    private var isForAll = true
    private var forms: [MessageFraming: Form] = [:]

    private struct Form {
        var bytes: ByteBuffer
        /// Where each message lies; nil for one that cannot be expressed in this form.
        var ranges: [Range<Int>?]
        var isComplete: Bool
    }

    mutating func add(
        _ message: VehicleMessage, for destination: VehicleRouter<AppID>.Destination
    ) {
        messages.append((message, destination))
        if destination != .all { isForAll = false }
        if case .client(let id) = destination, !asking.contains(id) { asking.append(id) }
        if case .response = message.content { isForAll = false }
    }

    /// The clients, those that wait for an answer first. Writing to each of a hundred others takes half a
    /// millisecond, and longer on a busy machine.
    func inOrder<Client>(_ clients: [AppID: Client]) -> [Client] {
        asking.compactMap { clients[$0] }
            + clients.lazy.filter { !asking.contains($0.key) }.map(\.value)
    }

    var indices: Range<Int> { messages.indices }
    func message(_ index: Int) -> VehicleMessage { messages[index].message }
    func destination(_ index: Int) -> VehicleRouter<AppID>.Destination {
        messages[index].destination
    }

    /// All messages in one buffer; nil unless all of them are for everybody and can be expressed in this
    /// form.
    mutating func all(in framing: MessageFraming) -> (ByteBuffer, count: Int)? {
        guard isForAll, !messages.isEmpty else { return nil }
        let form = form(framing)
        return form.isComplete ? (form.bytes, messages.count) : nil
    }

    mutating func bytes(_ index: Int, in framing: MessageFraming) -> ByteBuffer? {
        let form = form(framing)
        guard let range = form.ranges[index] else { return nil }
        return form.bytes.getSlice(at: range.lowerBound, length: range.count)
    }

    private mutating func form(_ framing: MessageFraming) -> Form {
        if let known = forms[framing] { return known }
        var bytes: [UInt8] = []
        var ranges: [Range<Int>?] = []
        for (message, _) in messages {
            let start = bytes.count
            let isSaid = (try? framing.append(message, to: &bytes)) != nil
            ranges.append(isSaid ? start..<bytes.count : nil)
        }
        let form = Form(
            bytes: ByteBuffer(bytes: bytes), ranges: ranges,
            isComplete: ranges.allSatisfy { $0 != nil })
        forms[framing] = form
        return form
    }
}

extension VehicleMessage {
    /// At protobuf responses to these commands, openxc-python stops reading, and it has not asked for them.
    private static let unknownToPython: Set<CommandName> = [
        .modemConfiguration, .rtcConfiguration, .sdMountStatus, .vin,
    ]

    /// Whether a client that has not asked for this message can be sent it in that form.
    func isFit(for framing: MessageFraming) -> Bool {
        guard framing == .protobuf, case .response(let response) = content else { return true }
        return !Self.unknownToPython.contains(response.command)
    }
}
