// Random dialogues as data: what happens, step by step, made from a seed and cut down when it fails.

import NIOCore
import RelayTesting

@testable import RelayCore

/// One thing that happens. A step chooses among what is there, so it makes sense, or does nothing,
/// whatever came before: any part of a dialogue is a dialogue.
struct HubStep: Hashable {
    enum Kind: Int, CaseIterable {
        // Apps
        case connect, start, register, show, alert, file, bulkFile, goOn, stream, heartbeat, hurt
        case unregister, endService, endAtOnce, protect, foreign, garbage, flood, burst
        case leave, crash, slow, fast
        // The head unit
        case coreEnds, notify, notifyLarge, coreStops
        // The link
        case noise, linkLost, linkBack, stall
        case pass, wait, longWait, disconnect
        // Found out by a write, in the middle of the hub's work
        case linkBreaks, appBreaks
        case reload
    }

    var kind: Kind
    /// Chooses an app, session or frame among those there are.
    var which: Int
    /// Bytes, frames or time, depending on the kind.
    var amount: Int
}

/// What does not change during a dialogue.
struct HubSetting {
    var seed: UInt64
    var habits = SDLCoreHabits()
    var configuration = RelayConfiguration()
    /// Bytes the link's kernel takes; more waits in the channel, and then in the scheduler.
    var kernelBytes = Int.max
    /// How many bytes each step lets through on the link; nil for all.
    var passBytes: Int?
    /// Whether the line may bring bytes that the head unit never sent.
    var isLossy = false
    /// The most bytes of a piece in which frames arrive.
    var pieceBytes = Int.max
    /// Whether the hub is told to stop at the end; else all apps leave, and what is left is checked.
    var endsByStop = false
    /// Whether the head unit may be told to end; it is started again when the link comes back.
    var mayCoreStop = false
    /// Whether writes may fail.
    var mayBreak = false
    /// Whether options may change.
    var mayReload = false
    /// Whether a recording that may miss nothing makes the hub wait.
    var isRecorded = false

    /// Whether the link may stand still for a while. Only where its kernel holds little: bytes that a
    /// kernel or a head unit has taken and not read come in one burst afterwards, and nobody can
    /// promise that the head unit does not count them as a flood.
    var mayStall: Bool { kernelBytes <= 400 }

    /// Half of the dialogues are everyday ones; each of the others makes one thing hard.
    init(seed: UInt64) {
        self.seed = seed
        var random = SeededGenerator(seed: seed)
        // Makes limits per second cheaper to reach.
        habits.framesPerSecond = 120
        configuration.framesPerSecond = 100
        configuration.linkQueueBytes = 8 << 10
        configuration.connectionsPerSecond = 0
        configuration.tapQueueBytes = 0
        switch seed % 8 {
        case 0 where seed / 8 % 2 == 1: kernelBytes = 400
        case 1:
            kernelBytes = 2000
            passBytes = 1500
        case 2:
            kernelBytes = 300
            passBytes = 100
        case 3:
            pieceBytes = 1 + Int.random(in: 0..<40, using: &random)
        case 4:
            habits.unansweredStartChance = 0.3
        case 5:
            habits.lateStartChance = 0.3
            habits.lateStart = .seconds(Int64.random(in: 2...50, using: &random))
        case 6:
            habits.unansweredProtectionChance = 0.7
            kernelBytes = 4000
        case 7:
            isLossy = seed % 16 == 7
            if isLossy { habits.lostEndChance = 0.3 }
            configuration.whenLinkLost = .keep
        default: break
        }
        if seed / 8 % 2 == 0 {
            habits.lateAnswerChance = 0
            habits.lateAnswerChanceV4 = 0
            habits.lateRefusalChance = 0
        }
        if Int.random(in: 0..<4, using: &random) == 0 { configuration.foreignFrames = .close }
        if Int.random(in: 0..<4, using: &random) == 0 { configuration.whenSlow = .hold }
        endsByStop = Int.random(in: 0..<4, using: &random) == 0
        mayCoreStop = Int.random(in: 0..<4, using: &random) == 0
        // 6.6 s in a recording, 47 s seen.
        habits.slowEnd = .milliseconds(Int64.random(in: 6600...47_000, using: &random))
        mayBreak = Int.random(in: 0..<4, using: &random) == 0
        mayReload = Int.random(in: 0..<4, using: &random) == 0
        isRecorded = Int.random(in: 0..<3, using: &random) == 0
    }
}

/// A dialogue that can be repeated.
struct HubScript {
    var setting: HubSetting
    var steps: [HubStep]

    /// - Parameter length: The number of steps.
    init(seed: UInt64, length: Int = 100) {
        setting = HubSetting(seed: seed)
        var random = SeededGenerator(seed: seed &* 0x9E37_79B9)
        let kinds = Self.kinds(setting)
        steps = (0..<length).map { _ in
            let kind = kinds[Int.random(in: 0..<kinds.count, using: &random)]
            return HubStep(
                kind: kind, which: Int.random(in: 0..<64, using: &random),
                amount: Int.random(in: 0..<4096, using: &random))
        }
    }

    private static func kinds(_ setting: HubSetting) -> [HubStep.Kind] {
        let weights: [(HubStep.Kind, Int)] = [
            (.connect, 8), (.start, 10), (.register, 10), (.show, 10), (.alert, 1), (.file, 5),
            (.bulkFile, 5), (.goOn, 12), (.stream, 2), (.heartbeat, 1), (.hurt, 1),
            (.unregister, 2),
            (.endService, 2), (.endAtOnce, 2), (.protect, 2), (.foreign, 1), (.garbage, 1),
            (.flood, 1), (.burst, 3), (.leave, 3), (.crash, 4), (.slow, 1), (.fast, 2),
            (.coreEnds, 2),
            (.notify, 4), (.notifyLarge, 2), (.coreStops, setting.mayCoreStop ? 2 : 0),
            (.noise, setting.isLossy ? 3 : 0),
            (.linkLost, 1), (.linkBack, 2), (.stall, setting.mayStall ? 4 : 0), (.pass, 10),
            (.wait, 12), (.longWait, 2),
            (.disconnect, 1), (.linkBreaks, setting.mayBreak ? 2 : 0),
            (.appBreaks, setting.mayBreak ? 3 : 0), (.reload, setting.mayReload ? 4 : 0),
        ]
        return weights.flatMap { [HubStep.Kind](repeating: $0.0, count: $0.1) }
    }
}
