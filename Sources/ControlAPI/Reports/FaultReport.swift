// Fault rules: requests for them, and reports on them.

/// One rule as it is requested.
package struct FaultRuleRequest: Codable, Sendable, Equatable {
    /// Filter for the messages it applies to, in the language of `relayctl tail`.
    package var filter: String
    /// The fault, e.g. "delay 2s jitter 500ms count 5".
    package var action: String

    package init(filter: String, action: String) {
        (self.filter, self.action) = (filter, action)
    }
}

/// The body of `POST /v1/faults`.
package struct FaultRequest: ControlBody, Equatable {
    /// Rules to be added: all of them, or none.
    package var rules: [FaultRuleRequest]?
    /// A fault of the whole link: "unplug", "freeze 5s", "slow 20KB/s", "half-open".
    package var link: String?
    /// Allows, towards a real head unit, faults that may harm its other apps.
    package var mayHarmOthers: Bool?

    package static let members = ["rules", "link", "may_harm_others"]

    package init(
        rules: [FaultRuleRequest]? = nil, link: String? = nil, mayHarmOthers: Bool? = nil
    ) {
        (self.rules, self.link, self.mayHarmOthers) = (rules, link, mayHarmOthers)
    }

    enum CodingKeys: String, CodingKey {
        case rules, link
        case mayHarmOthers = "may_harm_others"
    }
}

/// Whether a rule is active.
package struct FaultState: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Its time has not come yet.
    package static let waiting = FaultState(rawValue: "waiting")
    package static let on = FaultState(rawValue: "on")
    /// Its time is over, or it has reached its maximum number of messages.
    package static let over = FaultState(rawValue: "over")
}

/// One rule and what it has done.
package struct FaultRuleReport: Codable, Sendable, Equatable {
    /// Its number, from 1 since relayd started.
    package var id: Int
    /// Filter for the messages it applies to; for a fault of the link, its name.
    package var filter: String
    /// The fault, without its options.
    package var action: String
    /// Whether it applies to everything that passes the link.
    package var link: Bool
    /// The share of messages that it affects, more than 0 and at most 1.
    package var probability: Double
    /// Maximum number of messages affected; left out when there is no limit.
    package var count: Int?
    /// Start time in milliseconds after it was added; left out for an immediate start.
    package var fromMilliseconds: Int?
    package var untilMilliseconds: Int?
    package var mayHarmOthers: Bool
    package var addedAt: Timestamp
    package var state: FaultState
    /// Messages that it could have affected.
    package var matched: Int
    /// Messages that it affected.
    package var hits: Int

    package init(
        id: Int, filter: String, action: String, link: Bool, probability: Double, count: Int?,
        fromMilliseconds: Int?, untilMilliseconds: Int?, mayHarmOthers: Bool, addedAt: Timestamp,
        state: FaultState, matched: Int, hits: Int
    ) {
        self.id = id
        self.filter = filter
        self.action = action
        self.link = link
        self.probability = probability
        self.count = count
        self.fromMilliseconds = fromMilliseconds
        self.untilMilliseconds = untilMilliseconds
        self.mayHarmOthers = mayHarmOthers
        self.addedAt = addedAt
        self.state = state
        self.matched = matched
        self.hits = hits
    }

    enum CodingKeys: String, CodingKey {
        case id, filter, action, link, probability, count
        case fromMilliseconds = "from_ms"
        case untilMilliseconds = "until_ms"
        case mayHarmOthers = "may_harm_others"
        case addedAt = "added_at"
        case state, matched, hits
    }
}

/// The answer to `GET /v1/faults`, and with only the new rules, to `POST /v1/faults`.
package struct FaultList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// What was done, for people; left out where nothing was done.
    package var summary: String?
    /// Oldest first.
    package var rules: [FaultRuleReport]
    /// Frames held back by rules.
    package var heldFrames: Int
    package var heldBytes: Int

    package init(
        summary: String? = nil, rules: [FaultRuleReport], heldFrames: Int = 0, heldBytes: Int = 0
    ) {
        (self.summary, self.rules) = (summary, rules)
        (self.heldFrames, self.heldBytes) = (heldFrames, heldBytes)
    }

    enum CodingKeys: String, CodingKey {
        case schema, summary, rules
        case heldFrames = "held_frames"
        case heldBytes = "held_bytes"
    }
}

/// In `GET /v1/status`: that there are fault rules, or frames that they hold back.
package struct FaultStatus: Codable, Sendable, Equatable {
    /// Number of rules, active or not.
    package var rules: Int
    /// Messages affected.
    package var hits: Int
    /// Frames held back.
    package var heldFrames: Int
    package var heldBytes: Int
    /// The oldest rules, at most `mostShown`; the status is requested often.
    package var first: [FaultRuleReport]

    package static let mostShown = 8

    package init(
        rules: Int, hits: Int, heldFrames: Int, heldBytes: Int, first: [FaultRuleReport]
    ) {
        (self.rules, self.hits) = (rules, hits)
        (self.heldFrames, self.heldBytes) = (heldFrames, heldBytes)
        self.first = Array(first.prefix(Self.mostShown))
    }

    enum CodingKeys: String, CodingKey {
        case rules, hits
        case heldFrames = "held_frames"
        case heldBytes = "held_bytes"
        case first
    }
}
