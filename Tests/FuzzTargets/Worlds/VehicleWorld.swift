// A vehicle interface shared by clients, without sockets, on manual time.

import Logging
import NIOCore
import NIOEmbedded
import OpenXCProtocol

@testable import OpenXCRelay
@testable import RelayCore

/// A hub that speaks OpenXC, whose channels and clock the script controls.
final class VehicleWorld {
    private static let clients = 4
    private static let tapBytes = 64 << 10

    private let loop = EmbeddedEventLoop()
    private let hub: Switchboard
    private let settings: OpenXCSettings
    private var link: VehicleEnd?
    private var peers: [ClientEnd?] = Array(repeating: nil, count: clients)
    /// Whether the vehicle interface may have refused something, or sent something unasked.
    private var hasSpokenFreely = false

    init() throws {
        var configuration = OpenXCConfiguration()
        configuration.queueBytes = 2048
        configuration.writes = ["127.0.0.1 can:1", "127.0.0.1 name:horn"].compactMap {
            ClientWrites($0)
        }
        let place = OpenXCEndpoint.Place.terminal("/filtered")
        var endpoint = OpenXCEndpoint(place, description: "/filtered")
        (endpoint.framing, endpoint.names, endpoint.ids) = (
            .lines, ["a"], [IdentifierRange("1-9")].compactMap { $0 }
        )
        (endpoint.onChange, endpoint.maximumRate) = (true, 5)
        configuration.endpoints = [endpoint]
        let settings = OpenXCSettings(configuration)
        self.settings = settings
        hub = Switchboard(
            loop: loop, configuration: RelayConfiguration(), accessoryAddress: "openxc+test:",
            tapQueue: TapQueue(maximumBytes: Self.tapBytes),
            logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() },
            language: { OpenXCLanguage($0, settings: settings) })
        try openLink()
        for client in 0..<2 { try connect(client) }
    }

    private func openLink() throws {
        guard link?.channel.isActive != true else { return }
        let channel = EmbeddedChannel(handler: LinkConnection(hub: hub), loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 50001)).wait()
        link = VehicleEnd(channel)
    }

    private func connect(_ client: Int) throws {
        guard peers[client]?.channel.isActive != true else { return }
        let channel = EmbeddedChannel(loop: loop)
        let entrance = client == 3 ? "/filtered" : "127.0.0.1:50001"
        try hub.gate.accept(
            channel, at: entrance, as: client == 3 ? "pty:/filtered" : "127.0.0.1:9")
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 50001)).wait()
        peers[client] = ClientEnd(channel)
    }

    // MARK: - Steps

    func take(_ step: FuzzScript.Step) throws {
        var bytes = FuzzBytes(step.bytes)
        let client = step.whom % Self.clients
        switch step.kind {
        case 0: vehicleSays(step.bytes)
        case 1: peers[client]?.says(step.bytes)
        case 2, 3: vehicleSays(try written(FuzzMessage.ofVehicle(&bytes), &bytes))
        case 4, 5, 6: peers[client]?.says(try written(FuzzMessage.ofClient(&bytes), &bytes))
        case 7: answer(&bytes)
        case 8:
            let spans: [TimeAmount] = [
                .milliseconds(1), .milliseconds(199), .seconds(1), .seconds(11),
            ]
            loop.advanceTime(by: bytes.one(of: spans))
        case 9: try connect(client)
        case 10: peers[client]?.channel.close(promise: nil)
        case 11:
            if step.whom & 1 == 0 { link?.channel.close(promise: nil) } else { try openLink() }
        case 12: stall(peers[client]?.channel, step.whom)
        case 13: stall(link?.channel, step.whom)
        case 14: _ = hub.snapshot(missedBatches: 0)
        default:
            var configuration = settings.configuration
            configuration.writes = bytes.byte() & 1 == 0 ? [] : configuration.writes
            settings.configuration = configuration
            hub.reconfigure(RelayConfiguration(), accessoryAddress: "openxc+test:")
        }
        loop.run()
        try hear()
    }

    private func written(_ message: VehicleMessage, _ bytes: inout FuzzBytes) throws -> [UInt8] {
        var text: [UInt8] = []
        let framing: MessageFraming = bytes.byte() & 1 == 0 ? .json : .protobuf
        if (try? framing.append(message, to: &text)) == nil {
            try MessageFraming.json.append(message, to: &text)
        }
        return text
    }

    private func vehicleSays(_ bytes: [UInt8]) {
        hasSpokenFreely = true
        link?.says(bytes)
    }

    /// Answers the next waiting command as firmware does.
    private func answer(_ bytes: inout FuzzBytes) {
        guard let link, !link.asked.isEmpty else { return }
        let command = link.asked.removeFirst()
        let response = VehicleMessage(
            .response(CommandResponse(command, message: bytes.text(20), status: true)))
        var text: [UInt8] = []
        response.appendJSON(to: &text)
        link.says(text + [0])
    }

    private func stall(_ channel: EmbeddedChannel?, _ whom: Int) {
        guard let channel else { return }
        channel.isWritable = whom & 8 == 0
        channel.pipeline.fireChannelWritabilityChanged()
        channel.read()
    }

    private func hear() throws {
        try link?.hear(afterFreeWords: hasSpokenFreely)
        for peer in peers { try peer?.hear() }
    }

    // MARK: - The end

    /// Closes all clients; by then, subscriptions that no client needs have been withdrawn.
    func finish() throws {
        for peer in peers { peer?.channel.close(promise: nil) }
        loop.run()
        try hear()
        guard let link, link.channel.isActive, !hasSpokenFreely else { return }
        try ensure(link.wanted.isEmpty, "nobody wants \(link.wanted) any more")
    }

    func end() {
        for peer in peers { _ = try? peer?.channel.finish(acceptAlreadyClosed: true) }
        _ = try? link?.channel.finish(acceptAlreadyClosed: true)
        try? loop.syncShutdownGracefully()
    }
}

// MARK: - Ends

extension EmbeddedChannel {
    fileprivate func says(_ bytes: [UInt8]) {
        guard isActive else { return }
        do { try writeInbound(ByteBuffer(bytes: bytes)) } catch { close(promise: nil) }
    }

    fileprivate func heard() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let more = try readOutbound(as: ByteBuffer.self) { bytes += more.readableBytesView }
        return bytes
    }
}

/// Reads what relayd has written, which is whole messages with nothing between them.
private enum StrictReading {
    static func messages(_ bytes: [UInt8], _ whose: String) throws -> [VehicleMessage] {
        var messages: [VehicleMessage] = []
        var rest = bytes[...]
        while let first = rest.first {
            if first == UInt8(ascii: "{"), rest.dropFirst().first != 0x08 {
                guard let end = rest.firstIndex(where: { $0 == 0 || $0 == UInt8(ascii: "\n") })
                else {
                    throw BrokenPromise("\(whose) hears half a message: \(rest)")
                }
                messages.append(try VehicleMessage(json: Array(rest[..<end]).span))
                rest = rest[(end + 1)...]
            } else {
                // As clients do: by the length, whatever a text looks like.
                let length = first < 0x80 ? 1 : 2
                let second = Int(rest.dropFirst().first ?? 0)
                let count = length + (length == 1 ? Int(first) : Int(first & 0x7F) | second << 7)
                guard rest.count >= count,
                    let message = try? VehicleMessage(
                        protobuf: Array(rest.prefix(count).dropFirst(length)))
                else {
                    throw BrokenPromise("\(whose) hears what is no message: \(rest)")
                }
                messages.append(message)
                rest = rest.dropFirst(count)
            }
        }
        return messages
    }
}

private final class VehicleEnd {
    let channel: EmbeddedChannel
    /// Commands that have not been answered.
    var asked: [CommandName] = []
    /// What the interface was asked for and not asked to stop.
    private(set) var wanted: Set<String> = []

    init(_ channel: EmbeddedChannel) { self.channel = channel }

    func says(_ bytes: [UInt8]) { channel.says(bytes) }

    /// - Parameter afterFreeWords: Whether it may have refused what is counted as wanted.
    func hear(afterFreeWords: Bool) throws {
        for message in try StrictReading.messages(channel.heard(), "the vehicle interface") {
            try ensure(message.json.utf8.count < 383, "too long for firmware: \(message.json)")
            switch message.content {
            case .command(let command): try hear(command, afterFreeWords)
            case .can(let can): try ensure(can.bus == 1, "not permitted: \(message.json)")
            case .measurement(let measurement):
                try ensure(measurement.name == "horn", "not permitted: \(message.json)")
            default: throw BrokenPromise("nothing for a vehicle interface: \(message.json)")
            }
        }
    }

    private func hear(_ command: Command, _ afterFreeWords: Bool) throws {
        asked.append(command.name)
        switch command {
        case .payloadFormat: throw BrokenPromise("it is switched over for all")
        case .other(let name, _):
            try ensure(
                !CommandName.known.contains { name.hasPrefix($0.word) }, "in disguise: \(name)")
        case .passthrough(let bus, let isOn): want("passthrough \(bus)", isOn)
        case .acceptanceFilterBypass(let bus, let isOn): want("bypass \(bus)", isOn)
        case .diagnosticRequest(let action, let request):
            try ensure((request.name?.utf8.count ?? 0) < 10, "too long: \(request.name ?? "")")
            guard action == .cancel || request.isRecurring else { return }
            let key = "\(max(1, request.bus)) \(request.id) \(request.mode) \(request.pid)"
            try ensure(
                action == .cancel || afterFreeWords || !wanted.contains(key),
                "a second request of one key: \(key)")
            want(key, action == .add)
        default: break
        }
    }

    private func want(_ key: String, _ isOn: Bool) {
        if isOn { wanted.insert(key) } else { wanted.remove(key) }
    }
}

private final class ClientEnd {
    let channel: EmbeddedChannel

    init(_ channel: EmbeddedChannel) { self.channel = channel }

    func says(_ bytes: [UInt8]) { channel.says(bytes) }

    func hear() throws {
        for message in try StrictReading.messages(channel.heard(), "a client") {
            switch message.content {
            case .measurement, .can, .diagnostic, .response: break
            default: throw BrokenPromise("a client stops reading at \(message.json)")
            }
        }
    }
}
