// How the model judges the head unit's frames, and which apps the hub gives them to.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

extension HubModel {
    /// The last byte of a frame of the head unit has reached the hub.
    mutating func headUnitSays(_ sent: SDLCoreModel.Sent) {
        var entry = Said(sent: sent)
        if sent.frame.controlType == .startServiceACK {
            entry.waiting = starts.filter {
                $0.isOnLink && !$0.isDoubtful && $0.frame.asksForV5 == (sent.frame.version >= 5)
            }.map(\.number)
        }
        if sent.frame.controlType == .endService, sent.frame.service == .rpc {
            for place in starts.indices {
                starts[place].until = starts[place].until + Self.answerToEnd
            }
        }
        if sent.frame.isUnregistered(ofSuccess: false) { stop?.unanswered.remove(sent.cause) }
        said.append(entry)
    }

    /// The hub has written a frame to an app.
    mutating func writtenToApp(_ frame: Frame, _ number: AppNumber) {
        // Earlier frames that are not this one were dropped, rightly or not.
        // On a lossy line an earlier one that looks the same may have been lost.
        let place =
            isLossy
            ? lastBeforeGrant(frame) ?? said.lastIndex { $0.sent.frame == frame }
            : said.firstIndex { $0.sent.frame == frame }
        // A frame written to an app that has left reaches nobody.
        let number = apps[number]?.isConnected == true ? number : nil
        if let place {
            let index = said.distance(from: said.startIndex, to: place)
            var kept: [Said] = []
            for _ in 0..<index {
                let isHeld = mayBeHeld
                let earlier = said.removeFirst()
                // On a lossy line this may be another one that looks the same, from before a grant.
                if isHeld || isLossy && earlier.sent.frame.controlType == .startServiceACK {
                    kept.append(earlier)
                } else {
                    pass(earlier, to: nil)
                }
            }
            pass(said.removeFirst(), to: number)
            for earlier in kept.reversed() { said.prepend(earlier) }
            return
        }
        guard let number else { return }
        if let place = saidBeforeLoss.firstIndex(of: frame) {
            saidBeforeLoss.removeSubrange(...place)
            guard frame.controlType == .startServiceACK, frame.service == .rpc else { return }
            return answered(number, isV5: frame.version >= 5)
        }
        switch frame.controlType {
        case .startServiceNAK where frame.sessionID == 0: answered(number)
        case .endService where apps[number]?.mayBeClosed == true: break
        case .registerSecondaryTransportNAK: break
        case _ where isLossy: break
        default: fail(.unasked, "app \(number) got \(frame), which the head unit did not say")
        }
    }

    /// The hub is finished with the frames that it was given.
    mutating func settled() {
        saidBeforeLoss = []
        // On a lossy line whole frames may be held back until more is known.
        guard !isLossy else { return }
        var held = CircularBuffer<Said>()
        while !said.isEmpty {
            if mayBeHeld {
                held.append(said.removeFirst())
            } else {
                pass(said.removeFirst(), to: nil)
            }
        }
        said = held
    }

    /// Whether the oldest frame begins a message, and only its next frame tells whether the message answers a
    /// request of the hub's own, and so reaches no app.
    private var mayBeHeld: Bool {
        guard let oldest = said.first?.sent.frame, oldest.type == .first else { return false }
        return !said.contains {
            $0.sent.frame.type == .consecutive && $0.sent.frame.sessionID == oldest.sessionID
                && $0.sent.frame.messageID == oldest.messageID
        }
    }

    /// - Parameter number: The app that got it; nil when none did.
    private mutating func pass(_ entry: Said, to number: AppNumber?) {
        let sent = entry.sent
        let frame = sent.frame
        switch (frame.controlType, frame.service) {
        case (.startServiceACK, .rpc) where sent.life.map { ownerOfLife[$0] == nil } ?? false:
            return grant(entry, to: number)
        case (.startServiceNAK, .rpc) where frame.sessionID == 0:
            if let number { answered(number) }
            return
        default: break
        }
        guard let life = sent.life else {
            // Late: for a life that is over. The app that has the number now may see it.
            if let number, let now = lives[Int(frame.sessionID)], now != sent.cause {
                stray(sent, number)
            }
            return
        }
        let owner = ownerOfLife[life]
        let isEnd =
            (frame.controlType == .endService || frame.controlType == .endServiceACK)
            && frame.service == .rpc
        defer {
            if isEnd {
                if number != nil, frame.controlType == .endServiceACK, !ending.contains(life) {
                    endedByStray.insert(frame.sessionID)
                }
                ended.insert(life)
                endedByHeadUnit.insert(life)
            }
            if number != nil, frame.controlType == .endServiceNAK, frame.service == .rpc {
                ending.remove(life)
            }
        }
        guard let number else {
            guard let owner, let app = apps[owner], app.isConnected, !app.mayBeClosed,
                !ended.contains(life), !isLossy, lives[Int(frame.sessionID)] == life,
                // Answers to a former app of the number are better swallowed.
                sent.cause == life, !sent.isAboutHalf, !frame.answersRelay
            else { return }
            return fail(.lostDown, "app \(owner) did not get \(frame)")
        }
        guard number == owner else {
            return fail(
                .wrongApp,
                "app \(number) got \(frame) of life \(life), which is app \(owner ?? 0)'s")
        }
        if sent.cause != life { stray(sent, number) }
        // Not when the app has registered again since.
        if sent.cause == life, frame.isUnregistered(ofSuccess: true), unregistering.contains(life) {
            unregistered.insert(life)
        }
    }

    private mutating func grant(_ entry: Said, to number: AppNumber?) {
        let sent = entry.sent
        guard let life = sent.life else { return }
        let session = Int(sent.frame.sessionID)
        lives[session] = life
        let isV5 = sent.frame.version >= 5
        guard let number else {
            // A waiting app may have been given another grant that came with it.
            let waiting = starts.first { start in
                entry.waiting.contains(start.number) && apps[start.app]?.mayBeClosed == false
            }
            if let waiting, !isLossy {
                fail(.grantLost, "\(sent.frame) did not reach app \(waiting.app), who waits")
            }
            return
        }
        // A v4 grant for a request that was given up cannot be told from an old head unit's answer to a
        // request for v5: any app that gets it can use it.
        if !starts.contains(where: { $0.app == number && ($0.frame.asksForV5 == isV5 || !isV5) }) {
            fail(.grantWrong, "app \(number) got \(sent.frame), and did not ask for it")
        }
        ownerOfLife[life] = number
        let isExact = starts.contains { $0.app == number && $0.frame.asksForV5 == isV5 }
        answered(number, isV5: isExact ? isV5 : nil)
    }

    /// - Parameter isV5: What was granted; nil for a refusal.
    private mutating func answered(_ number: AppNumber, isV5: Bool? = nil) {
        let own = starts.indices.filter {
            starts[$0].app == number && (isV5 == nil || starts[$0].frame.asksForV5 == isV5)
        }
        let surplus = own.first { starts[$0].isSurplus && isV5 == nil }
        // A late v5 grant may be taken for the answer to the app's own request for v4.
        let others = starts.indices.filter { starts[$0].app == number && isV5 != nil }
        // When it went out, an equal one of another app may have been taken for it.
        let equal = own.first { place in
            starts.contains { $0.isOnLink && $0.frame == starts[place].frame }
        }
        guard
            let place = surplus ?? own.first(where: { starts[$0].isOnLink }) ?? equal
                ?? others.first(where: { starts[$0].isOnLink }) ?? own.first
        else {
            return fail(.twoAnswers, "app \(number) got an answer to no StartService")
        }
        let start = starts.remove(at: place)
        // The app's own StartService went out, unless it was refused here.
        guard !start.isOnLink, surplus == nil,
            let other = starts.firstIndex(where: { $0.frame == start.frame && $0.isOnLink })
        else { return }
        starts[other].isOnLink = false
    }
}
