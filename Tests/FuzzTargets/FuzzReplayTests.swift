// The fuzz targets without the fuzzer: every test run replays the inputs it has kept and found.

import RelayTesting
import Testing

/// Replays what Scripts/fuzz has kept and found, without the fuzzer.
// Run one after another on a thread of their own: they compute for seconds, some wait for a server in this
// process, and together they would starve the other tests of processor time.
@Suite("Fuzz targets")
struct FuzzReplayTests {
    // Not one case per target: between two cases, a busy test process runs all the other tests first.
    @Test("keep their promises for every kept input")
    func replay() async throws {
        try await onOwnThread {
            for target in FuzzTarget.all {
                let inputs = try FuzzCorpus.inputs(of: target.name)
                #expect(inputs.count > 0, "there are inputs of \(target.name)")
                for input in inputs {
                    #expect(throws: Never.self, "\(target.name), \(input)") {
                        try input.bytes.withUnsafeBytes { try target.run($0) }
                    }
                }
            }
        }
    }

    @Test("keep their promises for nothing at all")
    func nothing() async {
        await onOwnThread {
            for target in FuzzTarget.all {
                #expect(throws: Never.self, "\(target.name)") {
                    try target.run(UnsafeRawBufferPointer(start: nil, count: 0))
                }
            }
        }
    }

    @Test("a broken promise is told")
    func broken() {
        #expect(throws: BrokenPromise.self) { try ensure(false, "") }
    }

    @Test("a script is read as it was written, and any bytes are one")
    func script() {
        let steps = [FuzzScript.Step(3, of: 2, [1, 2, 3]), FuzzScript.Step(0, [])]
        let bytes = FuzzScript.bytes(of: steps)
        #expect(bytes == [0x23, 3, 0, 1, 2, 3, 0, 0, 0])
        bytes.withUnsafeBytes { #expect(Array(FuzzScript($0)).map(\.bytes) == [[1, 2, 3], []]) }
        ([7, 200, 0, 1] as [UInt8]).withUnsafeBytes { raw in
            #expect(Array(FuzzScript(raw)).count > 0)
        }
    }

    @Test("the control API is reached at each of its doors")
    func control() async throws {
        func ask(_ door: Int, _ path: String, _ fields: String = "") async throws -> String {
            try await blocking {
                let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n"
                return String(
                    decoding: try ControlWorld(door).exchange(Array(request.utf8)), as: UTF8.self)
            }
        }
        let token = String(decoding: ControlWorld.token, as: UTF8.self)
        #expect(!token.isEmpty)
        #expect(try await ask(0, "/v1/dashboard").contains(token))
        #expect(try await ask(1, "/v1/dashboard").hasPrefix("HTTP/1.1 403 "))
        #expect(try await ask(2, "/v1/dashboard").hasPrefix("HTTP/1.1 403 "))
        #expect(try await ask(2, "/v1/status").contains(#""kind" : "sim""#))
        #expect(try await ask(3, "/v1/status").hasPrefix("HTTP/1.1 401 "))
        let withToken = try await ask(3, "/v1/status", "Authorization: Bearer $token\r\n")
        #expect(withToken.hasPrefix("HTTP/1.1 200 "))
        // Half a minute passes, so that the stream sends a sign of life.
        let stream = try await ask(0, "/v1/messages/stream")
        #expect(stream.contains("{\"instance\""))
        #expect(stream.contains("{\"next\":5}"))
    }
}
