// One place that untrusted bytes can reach: linked by the fuzzer and by the tests that replay its inputs.

/// A function that takes any bytes, and its promise for all of them.
package struct FuzzTarget: Sendable {
    /// The target's word on the command line, and the name of its folder of inputs.
    package let name: String
    /// Where the bytes go, in one line.
    package let about: String
    /// What holds for every input, besides the absence of traps.
    package let promise: String
    /// The size limit for generated inputs: longer ones cost time and reach nothing new.
    package var maximumBytes = scriptBytes
    /// A few hundred steps, or a dozen whole frames.
    static let scriptBytes = 2048
    /// Memory limit of the whole process, in MiB; exceeding it is a finding.
    package var memory = 1024
    /// Limit of processor time for one input, in seconds; exceeding it is a finding. Not wall-clock time, which
    /// passes while a busy machine does something else.
    package var seconds = 1.0
    /// Whether the input is a `FuzzScript` and may be changed step by step.
    package var isScript = false
    /// Words to build inputs from, besides those that the fuzzer discovers itself.
    package var words: @Sendable () -> [String] = { [] }
    /// Inputs to begin with.
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

/// A promise that did not hold.
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
