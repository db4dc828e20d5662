// How the model's account changes when time passes, and when the link is lost and comes back.

import NIOCore
import RelayTesting
import SDLProtocol

@testable import RelayCore

extension HubModel {
    mutating func advance(to now: NIODeadline) {
        self.now = now
        for start in starts where start.until < now && apps[start.app]?.mayBeClosed == false {
            fail(.answerMissing, "app \(start.app) waits for an answer to StartService")
        }
        starts.removeAll { $0.until < now }
        abandoned.removeAll { $0.until < now }
    }

    mutating func linkClosed() {
        isLinkUp = false
        for place in starts.indices {
            starts[place].isOnLink = false
            starts[place].until = patience(behind: place)
        }
        saidBeforeLoss = said.map(\.sent.frame)
        said.removeAll()
        lives = [Int?](repeating: nil, count: 256)
        for number in apps.keys {
            for frames in (apps[number]?.lanes ?? [:]).values {
                apps[number]?.foreign.formUnion(frames)
            }
            apps[number]?.lanes = [:]
            apps[number]?.order = [:]
        }
    }

    mutating func linkOpened() {
        isLinkUp = true
        for place in starts.indices {
            starts[place].isOnLink = false
            starts[place].isDoubtful = false
            starts[place].until = patience(behind: place)
        }
    }
}
