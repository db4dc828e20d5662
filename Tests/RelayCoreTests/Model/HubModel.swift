// Which app may get which frames: a slow and obvious account of sessions, grants, frames and goodbyes,
// kept outside the hub from what goes in and what comes out.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

/// Notes what apps and head unit say and checks each frame the hub writes.
///
/// Written from the protocol and from sdl_core's habits, without knowledge of the router's phases: a
/// life of a session belongs to the app that was shown its grant, from the grant to the number's next
/// grant or the link's end. The frames of a goodbye are left to the hub; their effect is checked at the
/// head unit.
struct HubModel {
    /// A promise that was not kept.
    struct Violation: Hashable {
        enum Kind: String {
            case wrongApp, wrongSession, order, lostDown, lostUp, grantLost, grantWrong
            case answerMissing, twoAnswers, unasked, closed, malformed, mixture, stray, ghost, left
            case overtaken, flood, stoppedReading, repeated, stop, wait, harm
        }
        var kind: Kind
        var text: String
    }

    typealias AppNumber = Int

    /// A StartService that has no answer yet.
    struct Start {
        var app: AppNumber
        var frame: Frame
        /// Counts StartServices; tells equal ones apart.
        var number: Int
        var isOnLink = false
        /// Whether it is one more than an app may have waiting.
        var isSurplus = false
        /// Whether the one on the link may be an equal one of an app that has left.
        var isDoubtful = false
        var until: NIODeadline
    }

    struct App {
        var number: AppNumber
        var isConnected = true
        var leftAt: NIODeadline?
        /// Whether the app was told to go, or cannot stay.
        var mayBeClosed = false
        /// Frames, by lane, that have not come out on the link.
        var lanes: [Lane: [Frame]] = [:]
        /// The number of each frame of `lanes` among all frames of the app.
        var order: [Lane: [Int]] = [:]
        var frames = 0
        /// The numbers of the frames that it sent after its own EndService and before the answer.
        var behindEnd: Set<Int> = []
        /// How many of those are known not to have gone out.
        var dropped = 0
        /// Frames it sent in sessions that it did not have, as far as the hub knew.
        var foreign: Set<Frame> = []
    }

    struct Lane: Hashable {
        var session: UInt8
        var life: Int
        var service: UInt8
    }

    /// A frame that the head unit has given the hub, and that the hub has not shown to have used.
    struct Said {
        var sent: SDLCoreModel.Sent
        /// The StartServices on the link that waited for a grant like this when it came.
        var waiting: [Int] = []
    }

    private(set) var violations: [Violation] = []
    var apps: [AppNumber: App] = [:]
    /// The StartServices of all apps, in the order the hub got them.
    var starts: [Start] = []
    /// The StartServices of apps that have left.
    var abandoned: [Start] = []
    var said = CircularBuffer<Said>()
    /// Frames that had come when the hub found in the middle of a read that the link was gone. The apps get
    /// them before they are told.
    var saidBeforeLoss: [Frame] = []
    /// Lives whose grant an app was shown.
    var ownerOfLife: [Int: AppNumber] = [:]
    /// The life the hub knows each number by.
    var lives = [Int?](repeating: nil, count: 256)
    /// Lives that one side has ended.
    var ended: Set<Int> = []
    /// Those of `ended` that the head unit has ended by itself: it hears no more of them.
    var endedByHeadUnit: Set<Int> = []
    /// Numbers of sessions that an EndService of an earlier life has ended. Their half messages stay with
    /// the head unit, and are ended when the number is granted next.
    var endedByStray: Set<UInt8> = []
    /// Lives whose app has said EndService and has not heard the answer.
    var ending: Set<Int> = []
    /// Lives whose app unregisters itself.
    var unregistering: Set<Int> = []
    /// Those of `unregistering` whose app was told that it is done.
    var unregistered: Set<Int> = []
    private var startCount = 0
    var stop: Stop?
    var loneFrames = LoneFrames()
    /// Frames a session may send in a second, relayd's own included.
    var mostFrames = Int.max
    /// When the latest frames were written, by session.
    var written: [UInt8: CircularBuffer<NIODeadline>] = [:]
    /// Frames of apps that have gone out, streams not counted, by session.
    var sent: [UInt8: Int] = [:]
    var isLinkUp = false
    /// Whether bytes on the line may be lost or invented.
    var isLossy = false
    var now = NIODeadline.uptimeNanoseconds(0)
    var strays = 0

    mutating func fail(_ kind: Violation.Kind, _ text: String) {
        violations.append(Violation(kind: kind, text: text))
    }

    private static let configuration = RelayConfiguration()
    private static let mostStarts = configuration.maximumPendingStartsPerApp

    /// A session that the head unit has ended is ended by the hub as well before the next StartService.
    static let answerToEnd =
        configuration.endAnswerTimeout + configuration.messageEndTimeout
        + configuration.unregisterTimeout + longestStandstill

    /// One StartService at a time is on the link.
    private static let turn = configuration.startServiceTimeout + answerToEnd

    /// - Parameter place: The number of StartServices before it, without that of an app that has left.
    func patience(behind place: Int) -> NIODeadline {
        guard isLinkUp else { return now + Self.configuration.holdTimeout }
        var patience = Self.turn
        for _ in 0...place { patience = patience + Self.turn }
        return now + patience
    }

    // MARK: - What apps do

    mutating func connected(_ number: AppNumber) {
        apps[number] = App(number: number)
    }

    /// A whole frame of the app has reached the hub.
    mutating func appSays(_ frame: Frame, _ number: AppNumber) {
        if frame.controlType == .startService, frame.service == .rpc, frame.sessionID == 0 {
            let pending = starts.count { $0.app == number }
            startCount += 1
            starts.append(
                Start(
                    app: number, frame: frame, number: startCount,
                    isSurplus: pending >= Self.mostStarts, until: patience(behind: starts.count)))
            return
        }
        // The app may be closed for it; no byte of the frame goes further.
        if frame.hurtsHeadUnit {
            apps[number]?.mayBeClosed = true
            return
        }
        let session = frame.sessionID
        guard let life = lives[Int(session)], ownerOfLife[life] == number else {
            apps[number]?.foreign.insert(frame)
            return
        }
        if frame.controlType == .endServiceACK, frame.service == .rpc, !ended.contains(life) {
            // Nobody asked for it: it is dropped, or it answers for a former life of the number.
            apps[number]?.foreign.insert(frame)
            return
        }
        switch frame.request.map({ FunctionID(rawValue: $0.functionID) }) {
        case .unregisterAppInterface: unregistering.insert(life)
        case .registerAppInterface:
            unregistering.remove(life)
            unregistered.remove(life)
        default: break
        }
        let lane = Lane(session: session, life: life, service: frame.service.rawValue)
        let count = apps[number]?.frames ?? 0
        apps[number]?.frames += 1
        apps[number]?.lanes[lane, default: []].append(frame)
        apps[number]?.order[lane, default: []].append(count)
        if ending.contains(life) { apps[number]?.behindEnd.insert(count) }
        if frame.controlType == .endService, frame.service == .rpc {
            ended.insert(life)
            ending.insert(life)
        }
    }

    mutating func disconnected(_ number: AppNumber) {
        apps[number]?.isConnected = false
        apps[number]?.leftAt = now
        abandoned += starts.filter { $0.app == number && mayStillGo($0) }.map {
            var start = $0
            start.until = now + SDLApp.lastWordsPatience + Self.longestStandstill
            return start
        }
        let left = starts.filter { $0.app == number && !$0.isOnLink }.map(\.frame)
        starts.removeAll { $0.app == number }
        for place in starts.indices where left.contains(starts[place].frame) {
            starts[place].isDoubtful = true
        }
    }

    // MARK: - What the hub writes to the link

    mutating func writtenToLink(_ frame: Frame) {
        if frame.controlType == .startService, frame.service == .rpc, frame.sessionID == 0 {
            return startWritten(frame)
        }
        checkHarmless(frame)
        countRate(frame)
        loneFrames.written(frame, of: lives[Int(frame.sessionID)], at: now)
        guard let life = lives[Int(frame.sessionID)] else { return }
        if frame.controlType == .endService, frame.service == .rpc { checkStop(frame, life) }
        // A grant that no app was shown: its goodbye is left to the hub, and so are the last words of an
        // app that had left when the grant came.
        guard let number = ownerOfLife[life], let app = apps[number] else {
            return countSent(frame)
        }
        let lane = Lane(
            session: frame.sessionID, life: life, service: frame.service.rawValue)
        let waiting = app.lanes[lane] ?? []
        if let place = waiting.firstIndex(of: frame) {
            countSent(frame)
            // Frames that waited when the head unit ended the session are dropped, and so are those that
            // wait when the time of a stop is over.
            let isOverdue = stop.map { $0.waitsUntil <= now } ?? false
            let passed = app.order[lane]?.prefix(place) ?? []
            // Frames that an app sends after its own EndService are dropped and counted, even when the
            // head unit refuses to end the session.
            let dropped = passed.count { app.behindEnd.contains($0) }
            apps[number]?.dropped += dropped
            if place > dropped, !endedByHeadUnit.contains(life), !isOverdue, !hasHeardEnd(of: life)
            {
                fail(.order, "\(place) frames of app \(number) were passed by \(frame)")
            }
            let count = app.order[lane]?[place] ?? 0
            if frame.controlType == .endService, frame.service == .rpc {
                checkNothingIsLeft(of: app, before: count, frame, lane)
            }
            apps[number]?.lanes[lane]?.removeFirst(place + 1)
            apps[number]?.order[lane]?.removeFirst(place + 1)
            return
        }
        checkUnregister(frame, life)
        // The hub may already have used a new grant of this number.
        if hasNewGrant(of: frame.sessionID, after: life) { return }
        // Not the app's frame. The hub may end the session of an app that has left or has to go.
        if !app.isConnected || app.mayBeClosed || ended.contains(life) {
            if frame.controlType == .endService, frame.service == .rpc, isLinkUp {
                checkNothingIsLeft(of: app, before: .max, frame, lane)
                ended.insert(life)
            }
            return countSent(frame)
        }
        // The hub answers heartbeats in an app's place where it is told to.
        if frame.controlType == .heartbeatACK { return }
        // The same app sent it in an earlier life of the number, and it was under way when that life
        // ended.
        if app.lanes.contains(where: {
            $0.key.session == frame.sessionID && $0.key.life < life && $0.value.contains(frame)
        }) {
            return countSent(frame)
        }
        // It was sent before the grant and read after it, because the app was paced: when the link was
        // lost and is back, an app that was kept may get the number again that it goes on using.
        if app.foreign.contains(frame) { return countSent(frame) }
        // It ends a message that a former owner of the number left half, before the new one can go on.
        if frame.type == .consecutive, frame.info == 0,
            RPCHeader(frame.payload)?.functionID == HalfMessages.Half.endingFunctionID
        {
            return
        }
        fail(.wrongSession, "on the link in session of app \(number), who did not say it: \(frame)")
    }

    /// Only the order tells which of several equal StartServices it was.
    private mutating func startWritten(_ frame: Frame) {
        guard let place = starts.firstIndex(where: { $0.frame == frame && !$0.isOnLink }) else {
            // Its app said it last and left.
            if let place = abandoned.firstIndex(where: { $0.frame == frame }) {
                abandoned.remove(at: place)
                return
            }
            return fail(.unasked, "on the link and asked for by no app: \(frame)")
        }
        starts[place].isOnLink = true
        guard let other = abandoned.firstIndex(where: { $0.frame == frame }) else {
            starts[place].isDoubtful = false
            return
        }
        // If it was the abandoned one, the app's own still waits for its turn.
        starts[place].isDoubtful = true
        abandoned[other].until = max(abandoned[other].until, starts[place].until)
    }
}
