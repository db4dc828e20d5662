// libFuzzer around one of the targets. `Scripts/fuzz` runs it; the options are libFuzzer's, and the
// target is named in RELAY_FUZZ_TARGET, because libFuzzer starts this program again by itself.

import CLibFuzzer
import FuzzTargets
import Glibc

/// Set once, before the fuzzer runs.
nonisolated(unsafe) var target = FuzzTarget.all[0]

/// Wall-clock seconds after which an input is taken to run forever, however busy the machine is.
let endless = 120

/// Seconds of processor time that this process has used.
func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Runs the target on one input.
///
/// - Throws: `BrokenPromise`.
func run(_ input: UnsafeRawBufferPointer) throws {
    let start = processorTime()
    try target.run(input)
    let seconds = processorTime() - start
    guard seconds <= target.seconds else {
        throw BrokenPromise(
            "\(input.count) bytes take \(seconds) s of processor time, expected at most "
                + "\(target.seconds) s")
    }
}

/// Runs the target under libFuzzer, with the limits it states.
func fuzz(_ chosen: FuzzTarget) -> Int32 {
    target = chosen
    let limits = [
        "-max_len=\(target.maximumBytes)", "-rss_limit_mb=\(target.memory)",
        "-timeout=\(endless)",
    ]
    // The last option counts, so the command line may override these.
    let options = CommandLine.arguments.prefix(1) + limits + CommandLine.arguments.dropFirst()
    var count = CInt(options.count)
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = .allocate(
        capacity: options.count + 1)
    for (index, word) in options.enumerated() { arguments?[index] = strdup(word) }
    arguments?[options.count] = nil
    return LLVMFuzzerRunDriver(&count, &arguments) { data, size in
        do {
            try run(UnsafeRawBufferPointer(start: data, count: size))
        } catch {
            print("broken promise of \(target.name): \(error)")
            fflush(nil)
            abort()
        }
        return 0
    }
}

/// Exits with a message about the command line.
func refuse(_ text: String) -> Never {
    let line = Array("RelayFuzz: \(text)\n".utf8)
    write(STDERR_FILENO, line, line.count)
    exit(64)
}

let name = getenv("RELAY_FUZZ_TARGET").map { String(cString: $0) }
if let name {
    guard let found = FuzzTarget.named(name) else { refuse("there is no target \(name)") }
    exit(fuzz(found))
}
let words = Array(CommandLine.arguments.dropFirst())

/// The target named after a subcommand.
func chosen() -> FuzzTarget {
    guard words.count > 1, let found = FuzzTarget.named(words[1]) else {
        refuse("expected the name of a target; --list has them")
    }
    return found
}

switch (words.first, words.count) {
case ("--list", 1):
    for target in FuzzTarget.all {
        print("\(target.name)\t\(target.about)\t\(target.promise)")
    }
case ("--words", 2):
    // A dictionary as libFuzzer reads it: one quoted word per line.
    for word in chosen().words() {
        let escaped = word.utf8.map { byte in
            let digits = String(byte, radix: 16)
            return "\\x" + (digits.count < 2 ? "0" : "") + digits
        }
        print("\"\(escaped.joined())\"")
    }
case ("--unpack", 3): try FuzzCorpus.unpack(chosen(), to: words[2])
case ("--pack", 3): try FuzzCorpus.pack(chosen().name, from: words[2])
default:
    refuse(
        "expected --list, --words TARGET, --unpack TARGET FOLDER, --pack TARGET FOLDER, "
            + "or RELAY_FUZZ_TARGET in the environment")
}
