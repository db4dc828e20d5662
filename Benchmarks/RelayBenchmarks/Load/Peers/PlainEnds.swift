// The ends in C, as the benchmarks use them.

import CPlainEnds
import Glibc

enum PlainEnds {
    /// Throws an error for a code that an end returned.
    static func check(_ code: Int32, _ what: String) throws {
        guard code != 0 else { return }
        throw BenchmarkError("\(what): \(String(cString: strerror(code)))")
    }

    /// Runs a head unit that answers while `body` runs.
    static func withHeadUnit<Result>(
        _ socket: Socket, _ answers: PlainAnswers, _ body: () throws -> Result
    ) throws -> Result {
        guard let headUnit = answers.start(on: socket.descriptor) else {
            throw BenchmarkError("a head unit could not be started")
        }
        defer { plain_head_unit_stop(headUnit) }
        return try body()
    }

    /// Computes on every processor while `body` runs, as a compiler does.
    static func besideCompiler<Result>(_ body: () throws -> Result) throws -> Result {
        let processors = Int32(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        guard let load = plain_load_start(processors) else {
            throw BenchmarkError("the load could not be started")
        }
        defer { plain_load_stop(load) }
        return try body()
    }

    /// Sends requests over an app's connection, one in flight.
    ///
    /// - Returns: Microseconds of each round trip.
    static func roundTrips(_ count: Int, _ request: [UInt8], over app: Socket) throws -> [Double] {
        var times = [Int64](repeating: 0, count: count)
        try check(
            plain_round_trips(app.descriptor, request, request.count, count, &times), "round trips")
        return times.map { Double($0) / 1000 }
    }
}

/// A head unit's answers, as they travel.
struct PlainAnswers {
    /// The answer to each RPC request.
    var response: [UInt8] = []
    /// The answer to each StartService while there are sessions left.
    var grant: [UInt8] = []
    /// The answer to each later StartService.
    var refusal: [UInt8] = []
    var sessions = 0

    fileprivate func start(on descriptor: Int32) -> OpaquePointer? {
        response.withUnsafeBufferPointer { response in
            grant.withUnsafeBufferPointer { grant in
                refusal.withUnsafeBufferPointer { refusal in
                    var answers = plain_answers(
                        response: response.isEmpty ? nil : response.baseAddress,
                        response_bytes: response.count,
                        grant: grant.isEmpty ? nil : grant.baseAddress, grant_bytes: grant.count,
                        refusal: refusal.isEmpty ? nil : refusal.baseAddress,
                        refusal_bytes: refusal.count, sessions: Int32(sessions))
                    return plain_head_unit_start(descriptor, &answers)
                }
            }
        }
    }
}

/// Frames of one size, one after the other.
struct PlainFrames {
    var wire: [UInt8]
    var frameBytes: Int
    /// Whether each frame is an RPC request.
    var areRequests = false

    func withUnsafeFrames<Result>(_ body: (UnsafePointer<plain_frames>) -> Result) -> Result {
        wire.withUnsafeBufferPointer { wire in
            var frames = plain_frames(
                bytes: wire.baseAddress, frame_bytes: frameBytes, count: wire.count / frameBytes,
                are_requests: areRequests ? 1 : 0)
            return body(&frames)
        }
    }
}
