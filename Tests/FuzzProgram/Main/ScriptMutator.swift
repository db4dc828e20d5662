// Changes scripts step by step: bytes moved across a length or a header end the dialogue there, so libFuzzer
// alone rarely finds problems that take several frames.

import CLibFuzzer
import FuzzTargets

/// libFuzzer calls this instead of its own mutation, which is still used for half of the changes and inside the
/// steps of the other half.
@_cdecl("LLVMFuzzerCustomMutator")
func mutate(
    _ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int, _ seed: UInt32
) -> Int {
    var random = Mutation(seed: seed)
    guard target.isScript, random.below(2) == 0 else {
        return LLVMFuzzerMutate(data, size, maximum)
    }
    var steps = Array(FuzzScript(UnsafeRawBufferPointer(start: data, count: size)))
    guard !steps.isEmpty else { return LLVMFuzzerMutate(data, size, maximum) }
    for _ in 0...random.below(3) { random.change(&steps) }
    let bytes = FuzzScript.bytes(of: steps).prefix(maximum)
    UnsafeMutableRawBufferPointer(start: data, count: maximum).copyBytes(from: bytes)
    return bytes.count
}

private struct Mutation {
    private var state: UInt64

    init(seed: UInt32) {
        state = UInt64(seed) | 1 << 32
    }

    mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % max(1, bound)
    }

    mutating func change(_ steps: inout [FuzzScript.Step]) {
        let index = below(steps.count)
        let place = below(steps.count + 1)
        switch below(8) {
        case 0 where steps.count > 1: steps.remove(at: index)
        case 1: steps.insert(steps[index], at: place)
        case 2: steps.swapAt(index, below(steps.count))
        case 3: steps[index].operation = UInt8(below(256))
        case 4:
            // The same for another app, or another command with the same bytes.
            var step = steps[index]
            step.operation = step.operation & 0x0F | UInt8(below(16)) << 4
            steps.insert(step, at: place)
        default: steps[index].bytes = changed(steps[index].bytes)
        }
    }

    /// Changes the bytes with libFuzzer, which knows the words and the values that the code compares with.
    private func changed(_ bytes: [UInt8]) -> [UInt8] {
        let room = bytes.count + 64
        return [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            _ = buffer.initialize(fromContentsOf: bytes)
            count = LLVMFuzzerMutate(buffer.baseAddress, bytes.count, room)
        }
    }
}
