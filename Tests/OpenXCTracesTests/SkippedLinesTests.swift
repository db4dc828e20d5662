// The log about the lines of a trace that are not messages: each number is reported once.

import OpenXCProtocol
import OpenXCTraces
import Testing

@Suite("Lines of a trace that are skipped")
struct SkippedLinesTests {
    @Test("are all told with their numbers, in few lines of the log")
    func numbers() {
        var skipped = SkippedLines()
        #expect(skipped.takeRest() == nil)
        #expect(skipped.add(1, .notJSON) == "line 1 is skipped: not a JSON object")
        #expect(
            skipped.add(4, .missing)
                == "line 4 is skipped: a required member is missing (2 such lines so far)")
        #expect(skipped.add(5, .notJSON) == nil)
        #expect(
            skipped.add(9, .notHex)
                == "lines 5, 9 are skipped: the last one is text that is not pairs of hexadecimal "
                + "digits (4 such lines so far)")
        for number in [20, 21, 22] { #expect(skipped.add(number, .notJSON) == nil) }
        #expect(skipped.takeRest() == "lines 20–22 are skipped")
        #expect(skipped.takeRest() == nil)
        #expect(
            skipped.add(30, .notJSON)
                == "line 30 is skipped: not a JSON object (8 such lines so far)")
    }

    @Test("of a file that is damaged all over make no line of the log without end")
    func damaged() {
        var skipped = SkippedLines()
        var told: [String] = []
        for number in 1...1000 {
            if let words = skipped.add(number * 2, .notJSON) { told.append(words) }
        }
        #expect(told.count == 10)
        #expect(told.allSatisfy { $0.utf8.count < 700 })
        #expect(told[9].hasPrefix("lines 514, 516, "))
        #expect(told[9].contains(", 712 and 156 behind them are skipped: the last one is"))
        #expect(skipped.takeRest()?.hasPrefix("lines 1026, 1028, ") == true)
    }

    @Test("that are read in several pieces are one line")
    func pieces() {
        var skipped = SkippedLines()
        _ = skipped.add(1, .notJSON)
        _ = skipped.add(2, .notJSON)
        _ = skipped.add(7, .notJSON)
        #expect(skipped.add(7, .tooLong)?.hasPrefix("line 7 is skipped: ") == true)
    }
}
