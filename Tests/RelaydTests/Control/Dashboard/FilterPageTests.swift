import Foundation
import RelayTesting
import SDLProtocol
import Testing

@testable import relayd

@Suite struct FilterPageTests {
    @Test("the dashboard's filter knows the functions of the specification") func functions() throws
    {
        let script = try String(
            contentsOf: Checkout.root.appending(
                path: "Sources/relayd/Control/Dashboard/Page/filter.js"), encoding: .utf8)
        let start = try #require(script.firstRange(of: "FUNCTIONS = `"))
        let names = script[start.upperBound...].prefix { $0 != "`" }
            .split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(names == FunctionID.all.map(\.name))
    }
}
