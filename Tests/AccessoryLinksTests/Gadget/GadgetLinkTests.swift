import Glibc
import NIOPosix
import Testing

@testable import AccessoryLinks

@Suite("GadgetLink")
struct GadgetLinkTests {
    @Test("a link that has started no thread ends at once")
    func notStarted() async throws {
        // No descriptor has this number, so duplicating it fails, as when no descriptors are left.
        let link = try GadgetLink(
            FakeGadget(), socket: OwnedDescriptor(.max), end: USBLinkEnd(LinkDetails())
        ) { _ in }
        do throws(LinkProblem) {
            try link.start()
            Issue.record("started")
        } catch {
            #expect(
                error.message == "a descriptor could not be duplicated: \(systemMessage(EBADF))")
        }
        let counted = Watched<GadgetLink.Counts?>(nil)
        // On a thread that may block.
        NIOThreadPool.singleton.submit { _ in
            let counts = link.stop(because: nil)
            counted.update { $0 = counts }
        }
        #expect(try await counted.wait(for: "the end") { $0 != nil } == GadgetLink.Counts())
    }
}
