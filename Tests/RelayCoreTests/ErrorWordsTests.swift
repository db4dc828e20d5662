// The words for a connection's failure.

import Glibc
import NIOCore
import Testing

@testable import RelayCore

@Suite("Failures of connections in words")
struct ErrorWordsTests {
    private func words(_ code: CInt, by peer: String = "app") -> String {
        ErrorWords.text(IOError(errnoCode: code, reason: "read"), by: peer)
    }

    @Test("errors that are the peer's doing name it", arguments: ["app", "head unit"])
    func peers(peer: String) {
        #expect(words(ECONNRESET, by: peer) == "the \(peer) reset the connection")
        #expect(words(EPIPE, by: peer) == "the \(peer) does not read any more")
        #expect(words(ETIMEDOUT, by: peer) == "the \(peer) stopped answering")
        for error in [ChannelError.eof, .inputClosed] {
            #expect(ErrorWords.text(error, by: peer) == "the \(peer) closed the connection")
        }
        #expect(
            ErrorWords.text(ChannelError.connectTimeout(.seconds(1)), by: peer)
                == "the \(peer) did not answer in time")
    }

    @Test("others have the system's words, and no errno is without any")
    func system() {
        #expect(words(EHOSTUNREACH) == "No route to host")
        #expect(words(ECONNREFUSED, by: "head unit") == "Connection refused")
        #expect(words(99_999) == "Unknown error 99999")
        #expect(words(-1) == "Unknown error -1")
        for code in 1...133 as ClosedRange<CInt> { #expect(!words(code).isEmpty, "\(code)") }
    }

    @Test("a channel that is closed already is not called broken")
    func channels() {
        for error in [ChannelError.ioOnClosedChannel, .alreadyClosed, .outputClosed] {
            #expect(ErrorWords.text(error, by: "app") == "the connection is closed")
        }
    }

    @Test("what is none of these describes itself")
    func others() {
        struct Strange: Error, CustomStringConvertible {
            let description = "the cable is chewed"
        }
        #expect(ErrorWords.text(Strange(), by: "app") == "the cable is chewed")
    }
}
