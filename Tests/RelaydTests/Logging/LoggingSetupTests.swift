import Glibc
import RelayTesting
import Testing

@testable import relayd

// The destination and format that follow from the configuration and the environment.

@Suite("Logging setup")
struct LoggingSetupTests {
    /// Runs the body with two pipes in place of standard output and standard error.
    private static func withStreams(_ body: (Int32, Int32) throws -> Void) throws {
        var first: [Int32] = [-1, -1]
        var second: [Int32] = [-1, -1]
        try #require(pipe(&first) == 0 && pipe(&second) == 0)
        defer { for descriptor in first + second { close(descriptor) } }
        try body(first[1], second[1])
    }

    @Test("without systemd, lines go to the two standard streams, without colour in a pipe")
    func terminal() throws {
        try Self.withStreams { output, error in
            let outputs = LoggingSetup.outputs(
                for: Config.Log(), environment: [:], standardOutput: output, standardError: error)
            #expect(!outputs.messages.isJournal && !outputs.traffic.isJournal)
            #expect(outputs.messages !== outputs.traffic)
            #expect(outputs.messageFormat == .text(color: false))
            #expect(outputs.trafficFormat == .text(color: false))
        }
    }

    @Test("under systemd, each stream that is the journal's is written as entries")
    func journal() throws {
        try Self.withStreams { output, error in
            let outputs = LoggingSetup.outputs(
                for: Config.Log(), environment: ["JOURNAL_STREAM": JournalStream.name(of: error)],
                standardOutput: output, standardError: error)
            #expect(outputs.messages.isJournal)
            #expect(!outputs.traffic.isJournal)
        }
    }

    @Test("a JOURNAL_STREAM inherited from elsewhere is not ours")
    func inheritedJournalStream() throws {
        try Self.withStreams { output, error in
            for stream in ["1:1", "", "nonsense"] {
                #expect(!Journal.isStream(error, environment: ["JOURNAL_STREAM": stream]))
            }
            #expect(!Journal.isStream(-1, environment: ["JOURNAL_STREAM": "1:1"]))
            #expect(
                Journal.isStream(
                    output, environment: ["JOURNAL_STREAM": JournalStream.name(of: output)]))
        }
    }

    @Test("journald on request, the terminal where there is none")
    func journaldOnRequest() throws {
        var config = Config.Log()
        config.destination = .journald
        try Self.withStreams { output, error in
            for isAvailable in [true, false] {
                let outputs = LoggingSetup.outputs(
                    for: config, environment: [:], standardOutput: output, standardError: error,
                    journalIsAvailable: isAvailable)
                #expect(outputs.messages.isJournal == isAvailable)
                #expect(outputs.traffic.isJournal == isAvailable)
            }
        }
    }

    @Test("two streams that end in the same place share one writer, which keeps the order")
    func shared() throws {
        try Self.withStreams { output, _ in
            let outputs = LoggingSetup.outputs(
                for: Config.Log(), environment: [:], standardOutput: output, standardError: output)
            #expect(outputs.messages === outputs.traffic)
        }
    }

    @Test("lines that could not be written are counted of both streams, and of a shared one once")
    func missedLines() async throws {
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        defer { close(full) }
        let (error, taken) = (open("/dev/full", O_WRONLY), open("/dev/null", O_WRONLY))
        try #require(error >= 0 && taken >= 0)
        defer {
            close(error)
            close(taken)
        }
        for (output, error, missed) in [
            (full, taken, 1), (taken, error, 1), (full, error, 1), (taken, taken, 0),
        ] {
            let outputs = LoggingSetup.outputs(
                for: Config.Log(), environment: [:], standardOutput: output, standardError: error)
            outputs.traffic.write("traffic")
            await outputs.traffic.flush(within: .seconds(30))
            outputs.messages.write("message")
            await outputs.messages.flush(within: .seconds(30))
            let isShared = outputs.messages === outputs.traffic
            #expect(outputs.missedLines == (isShared ? 2 * missed : missed))
        }
    }

    @Test("JSON is never coloured, text when asked or on a terminal that can")
    func formats() throws {
        var config = Config.Log()
        config.format = .json
        config.color = .always
        try Self.withStreams { output, error in
            let outputs = LoggingSetup.outputs(
                for: config, environment: [:], standardOutput: output, standardError: error)
            #expect(outputs.messageFormat == .json && outputs.trafficFormat == .json)
            #expect(LoggingSetup.wantsColor(.always, output, environment: ["NO_COLOR": "1"]))
            #expect(!LoggingSetup.wantsColor(.auto, output, environment: [:]))
        }

        var master: Int32 = -1
        var terminal: Int32 = -1
        try #require(openpty(&master, &terminal, nil, nil, nil) == 0)
        defer {
            close(master)
            close(terminal)
        }
        #expect(LoggingSetup.wantsColor(.auto, terminal, environment: ["TERM": "xterm"]))
        #expect(LoggingSetup.wantsColor(.auto, terminal, environment: ["NO_COLOR": ""]))
        #expect(!LoggingSetup.wantsColor(.auto, terminal, environment: ["NO_COLOR": "1"]))
        #expect(!LoggingSetup.wantsColor(.auto, terminal, environment: ["TERM": "dumb"]))
        #expect(!LoggingSetup.wantsColor(.never, terminal, environment: [:]))
    }
}
