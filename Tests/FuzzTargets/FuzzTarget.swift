// One place that untrusted bytes can reach: linked by the fuzzer and by the tests that replay its
// inputs.

/// A function that takes any bytes, and what it promises whatever they are.
package struct FuzzTarget: Sendable {
    /// Word on the command line, and name of the folder of inputs.
    package let name: String
    /// Where the bytes go, in a line.
    package let about: String
    /// What holds for every input, besides that nothing traps.
    package let promise: String
    /// Longer inputs are not made: they cost time and reach nothing more.
    package var maximumBytes = scriptBytes
    /// Some hundred steps, or a dozen whole frames.
    static let scriptBytes = 2048
    /// Memory of the whole process, in MiB; more is a finding.
    package var memory = 1024
    /// Seconds of processor time for one input; more is a finding. Not of the clock, which goes on
    /// while a busy machine does something else.
    package var seconds = 1.0
    /// The input is a `FuzzScript`, and may be changed step by step.
    package var isScript = false
    /// Words that inputs are made of besides what the fuzzer finds out itself.
    package var words: @Sendable () -> [String] = { [] }
    /// What to begin with.
    package var seeds: @Sendable () -> [[UInt8]] = { [] }
    /// - Throws: `BrokenPromise`.
    package let run: @Sendable (UnsafeRawBufferPointer) throws -> Void

    package static let all: [FuzzTarget] = [
        traffic, hub, headUnit, sampleApp, bson, json, specification, configuration, control, gate,
        query, filter, drive, faultRule, scenario, usb, gadget, bluetooth, openXC, openXCJSON,
        openXCProtobuf, openXCRelay, openXCTraces, openXCTraffic, addresses, quantities, shownText,
        media, replay,
        traces,
    ]

    package static func named(_ name: String) -> FuzzTarget? {
        all.first { $0.name == name }
    }
}

/// What did not hold.
package struct BrokenPromise: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// - Throws: `BrokenPromise` unless `condition` holds.
func ensure(_ condition: Bool, _ text: @autoclosure () -> String) throws {
    guard condition else { throw BrokenPromise(text()) }
}
