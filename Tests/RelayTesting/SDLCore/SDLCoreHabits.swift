// What the stand-in for sdl_core does and when: each habit by its name, with the number measured.

package import NIOCore

/// Switches and numbers of `SDLCoreModel`. The defaults are sdl_core 8.2.0 with its default ini, as
/// measured on one connection that several apps share; where the real one races, a chance decides.
package struct SDLCoreHabits: Sendable {
    // MARK: Time

    /// Between a control frame and its answer.
    package var controlLatency: ClosedRange<Int64> = 300_000...2_000_000
    /// Between a message and its answer, in nanoseconds.
    package var requestLatency: ClosedRange<Int64> = 2_000_000...12_000_000
    /// Between registration and HMI level FULL; nil leaves apps in NONE.
    package var activationDelay: TimeAmount? = .milliseconds(20)

    // MARK: Half messages

    /// `ExpectedConsecutiveFramesTimeout`: how long an unfinished message is kept after its last
    /// frame; checked only when a frame comes.
    package var halfTimeout: TimeAmount = .seconds(10)
    /// A message of fewer bytes than an RPC header is completed with what the heap held before:
    /// 18 of 20 times when the message before was smaller, else never.
    package var staleHeapChance = 0.9

    // MARK: The end of a session

    /// EndService overtakes the requests before it, and their answers go out on a session that does
    /// not exist: 10 of 65 in v5, 10 of 20 in v4.
    package var lateAnswerChance = 0.16
    package var lateAnswerChanceV4 = 0.5
    /// The same when no app is registered and the answer is a refusal: 43 of 45.
    package var lateRefusalChance = 0.95
    /// EndService directly behind Unregister counts as an unexpected end: 62 of 65.
    package var unexpectedEndChance = 0.95
    /// After SIGTERM: how long the connection stays open in silence. 6.6 s in a recording, 47 s seen.
    package var slowEnd: TimeAmount = .milliseconds(6600)

    // MARK: Limits

    /// `FrequencyCount` in `FrequencyTime`: frames of services 0, 7 and 15 of one session.
    package var framesPerSecond = 1000
    /// `MalformedFrequencyCount` in `MalformedFrequencyTime`, of a connection.
    package var malformedPerSecond = 10
    /// Between one malformed frame too many and the end of the connection.
    package var malformedDelay: TimeAmount = .milliseconds(200)
    /// Requests that an app in HMI level NONE may send in 10 ms.
    package var requestsInNone = 100
    /// Sessions of all connections together.
    package var maximumSessions = 255
    /// `HeartBeatTimeout`, once the app has sent a heartbeat.
    package var heartbeatTimeout: TimeAmount = .seconds(7)
    /// Connections after which heartbeat answers are not recognised any more.
    package var heartbeatConnections = 255
    /// Whether the connection is no longer read after a first frame that announces 0 bytes.
    package var stopsReadingAtEmptyMessage = true

    // MARK: A line that loses something

    /// EndService of the RPC service never arrives: a serial line has damaged it.
    package var lostEndChance = 0.0

    // MARK: Starts that go wrong

    /// StartService is not answered at all.
    package var unansweredStartChance = 0.0
    /// StartService is answered after `lateStart`; frames after it are answered at once.
    package var lateStartChance = 0.0
    package var lateStart: TimeAmount = .seconds(14)
    /// A StartService that asks for protection begins a handshake that is never finished.
    package var unansweredProtectionChance = 0.0

    package init() {}

    /// Nothing is left to chance: answers come in order and after fixed times.
    package static var punctual: Self {
        var habits = Self()
        habits.controlLatency = 1_000_000...1_000_000
        habits.requestLatency = 5_000_000...5_000_000
        habits.lateAnswerChance = 0
        habits.lateAnswerChanceV4 = 0
        habits.lateRefusalChance = 0
        habits.unexpectedEndChance = 0
        return habits
    }
}
