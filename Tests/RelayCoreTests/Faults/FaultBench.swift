// Fault rules on paper: frames go in, and what comes out, and when, is recorded.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

final class FaultBench {
    typealias Stage = FaultStage<String>

    var stage: Stage
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var lastRule: UInt32 = 0

    init(_ rules: (String, String)..., seed: UInt64 = 1, framesPerSecond: Int = 0) throws {
        stage = Stage(dice: FaultDice(seed: seed), framesPerSecond: framesPerSecond)
        for app in ["radio", "maps"] {
            stage.know(
                app,
                FaultAppFacts(
                    connection: app == "radio" ? 1 : 2, name: "My \(app)", appID: "id-\(app)"))
        }
        for (filter, action) in rules { try add(filter, action) }
    }

    @discardableResult
    func add(_ filter: String, _ action: String) throws -> UInt32 {
        lastRule += 1
        let rule = try FaultRule(filter: filter, action: action, isHeadUnitReal: false)
        stage.add(rule, id: lastRule, at: now, WallTime(nanoseconds: 0))
        return lastRule
    }

    func remove(_ rule: UInt32) -> Bool { stage.remove(rule, at: now) }

    /// One thing that comes out, in order.
    enum Outcome: Equatable {
        case unit(Frame, from: String)
        case app(Frame, to: String)
        case dropped(Frame, DropReason)
        case replaced(Frame)
        case disconnected(String)

        /// The frame, if it passed.
        var passed: Frame? {
            switch self {
            case .unit(let frame, _), .app(let frame, _): frame
            default: nil
            }
        }
    }

    private(set) var marks: [FrameFate] = []

    func app(_ app: String, says frame: Frame) -> [Outcome] {
        let isFree = stage.take(frame, .fromApp, of: app, at: now)
        return (isFree ? [.unit(frame, from: app)] : []) + due()
    }

    func app(_ app: String, says frames: [Frame]) -> [Outcome] {
        frames.flatMap { self.app(app, says: $0) }
    }

    func unit(says frame: Frame, to app: String) -> [Outcome] {
        let isFree = stage.take(frame, .fromAccessory, of: app, at: now)
        return (isFree ? [.app(frame, to: app)] : []) + due()
    }

    func pass(_ time: TimeAmount) -> [Outcome] {
        let end = now + time
        var outcomes: [Outcome] = []
        while let next = stage.nextDeadline, next <= end {
            now = max(now, next)
            let found = due()
            outcomes += found
            // A deadline may be too early, but no two in a row.
            if found.isEmpty, stage.nextDeadline == next { break }
        }
        now = end
        return outcomes + due()
    }

    /// The outcomes that are due now, as a carrier would carry them out.
    func due() -> [Outcome] {
        var outcomes: [Outcome] = []
        while let effect = stage.next(at: now) {
            switch effect {
            case .pass(let frame, .fromApp, let app, let tag):
                outcomes.append(.unit(frame, from: app))
                marks.append(tag.fate)
            case .pass(let frame, .fromAccessory, let app, let tag):
                outcomes.append(.app(frame, to: app))
                marks.append(tag.fate)
            case .drop(let frame, _, _, let reason): outcomes.append(.dropped(frame, reason))
            case .replace(let frame, _, _): outcomes.append(.replaced(frame))
            case .say(let frame, let app):
                let isFree = stage.take(frame, .fromAccessory, of: app, at: now, isOwn: true)
                if isFree { outcomes.append(.app(frame, to: app)) }
            case .disconnect(let app, _): outcomes.append(.disconnected(app))
            case .report: break
            }
        }
        return outcomes
    }

    /// The hits of each rule.
    var hits: [UInt64] { stage.rules.map(\.hits) }
}

extension String: FaultApp {
    /// Made of the first eight letters of the name, which are enough here.
    var faultNumber: UInt64 { utf8.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

extension Frame {
    /// A PutFile in `frames` frames, with the RPC header at the start of the second one.
    static func faultFile(
        session: UInt8, message: UInt32, frames count: Int, bytes: Int = 1000,
        json: String = #"{"syncFileName":"icon"}"#, service: ServiceType = .bulk
    ) -> [Frame] {
        var frames = Frame.message(
            session: session, service: service, message: message, frames: count, bytes: bytes)
        var payload = frames[1].payload
        payload.setInteger(FunctionID.putFile.rawValue, at: payload.readerIndex)
        payload.setInteger(Int32(message), at: payload.readerIndex + 4)
        payload.setInteger(UInt32(json.utf8.count), at: payload.readerIndex + 8)
        payload.setString(json, at: payload.readerIndex + 12)
        frames[1] = Frame(
            version: 5, type: .consecutive, service: service, info: frames[1].info,
            sessionID: session, messageID: message, payload: payload)
        return frames
    }
}
