import Foundation
import NIOCore
import RelayTesting
import Testing

@testable import relayd

@Suite("The dashboard's files")
struct DashboardFilesTests {
    private static let folder = Checkout.root.appending(
        path: "Sources/relayd/Control/Dashboard/Page")

    @Test("each file of the folder is in the program, byte by byte, with a type that browsers run")
    func whole() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        try #require(names.contains("main.js"))
        for name in names {
            let response = try #require(
                DashboardPage.file(named: name), "Sources/CFiles/dashboard.c lists \(name)")
            let content = try Data(contentsOf: Self.folder.appending(path: name))
            guard case .whole(let body) = response.body else {
                Issue.record("\(name) comes in pieces")
                continue
            }
            #expect(body == ByteBuffer(bytes: content), "\(name)")
            #expect(response.headers.first(name: "Content-Type") != "application/octet-stream")
        }
    }

    @Test("what is no file of the dashboard is none")
    func none() {
        for name in ["", "..", "main.js\u{0}", "Main.js", "openapi.json"] {
            #expect(DashboardPage.file(named: name)?.status == nil, "\(name)")
        }
    }
}
