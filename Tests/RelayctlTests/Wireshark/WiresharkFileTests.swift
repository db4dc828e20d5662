import Foundation
import RelayTesting
import Testing

@testable import relayctl

@Suite("Files for Wireshark") struct WiresharkFileTests {
    /// The output of tshark 4.0, and below of 4.2.
    private static let listing40 = """
        Temp:                	/tmp
        Personal configuration:	/home/ann/.config/wireshark
        Global configuration:	/usr/share/wireshark
        Personal Plugins:    	/home/ann/.local/lib/wireshark/plugins/4.0
        Personal Lua Plugins:	/home/ann/.local/lib/wireshark/plugins
        Global Lua Plugins:  	/usr/lib/x86_64-linux-gnu/wireshark/plugins
        Extcap path:         	/usr/lib/x86_64-linux-gnu/wireshark/extcap

        """
    private static let listing42 = """
        Personal configuration:	/home/ann/.config/wireshark
        Personal Lua Plugins:	/home/ann/.local/lib/wireshark/plugins
        Personal Extcap path:	/home/ann/.local/lib/wireshark/extcap
        Global Extcap path:  	/usr/lib/x86_64-linux-gnu/wireshark/extcap

        """

    private func folders(
        _ listing: String?, _ variables: [String: String] = ["HOME": "/home/ann"]
    ) throws -> WiresharkFolders {
        try WiresharkFolders(environment: { variables[$0] }, listing: { listing })
    }

    @Test("tshark says where Wireshark looks, and without it both usual folders are meant")
    func places() throws {
        let plugins = "/home/ann/.local/lib/wireshark/plugins"
        let old = try folders(Self.listing40)
        #expect(old.plugins == plugins && old.extcap == ["/home/ann/.config/wireshark/extcap"])
        let new = try folders(Self.listing42)
        #expect(new.plugins == plugins && new.extcap == ["/home/ann/.local/lib/wireshark/extcap"])
        for listing in [nil, "", "tshark: not found\n"] {
            let unknown = try folders(listing)
            #expect(unknown.plugins == plugins && unknown.extcap == new.extcap + old.extcap)
        }
        let elsewhere = try folders(nil, ["HOME": "/home/ann", "XDG_CONFIG_HOME": "/etc/ann"])
        #expect(elsewhere.extcap.last == "/etc/ann/wireshark/extcap")
        #expect(throws: WiresharkFolders.Problem.self) { try folders(nil, [:]) }
    }

    private func files(
        in directory: TemporaryDirectory, program: String = "/usr/bin/relayctl"
    ) throws -> [WiresharkFile] {
        try WiresharkFile.all(
            in: folders(nil, ["HOME": directory.file("home")]), program: program)
    }

    @Test("what is installed is the dissector of the repository, and a script that calls relayctl")
    func install() async throws {
        try await TemporaryDirectory.run { directory in
            let home = directory.file("home")
            defer { try? FileManager.default.removeItem(atPath: home) }
            let files = try files(in: directory)
            #expect(try files.map { try $0.state() } == [.absent, .absent, .absent])
            for file in files { try file.install() }
            #expect(try files.map { try $0.state() } == [.installed, .installed, .installed])
            let dissector = try Data(contentsOf: URL(fileURLWithPath: files[0].path))
            let source = Checkout.root.appending(path: "config/wireshark/sdl.lua")
            #expect(try dissector == Data(contentsOf: source))
            #expect(access(files[1].path, X_OK) == 0)
            for file in files { #expect(try file.uninstall()) }
            #expect(try files.map { try $0.state() } == [.absent, .absent, .absent])
            #expect(try !files[0].uninstall())
        }
    }

    @Test("another version is replaced, somebody else's file stays") func others() async throws {
        try await TemporaryDirectory.run { directory in
            let home = directory.file("home")
            defer { try? FileManager.default.removeItem(atPath: home) }
            let files = try files(in: directory)
            for file in files { try file.install() }
            let newer = try self.files(in: directory, program: "/opt/it's/relayctl")
            #expect(try newer.map { try $0.state() } == [.installed, .differs, .differs])
            try newer[1].install()
            #expect(try newer[1].state() == .installed)
            let script = try String(contentsOfFile: newer[1].path, encoding: .utf8)
            #expect(script.contains(#"exec '/opt/it'\''s/relayctl' extcap "$@""#))

            try Data("-- my own dissector\n".utf8).write(to: URL(fileURLWithPath: files[0].path))
            #expect(try files[0].state() == .foreign)
            #expect(throws: WiresharkFile.Problem.self) { try files[0].install() }
            #expect(throws: WiresharkFile.Problem.self) { _ = try files[0].uninstall() }
            #expect(try files[0].state() == .foreign)
        }
    }

    @Test("a folder that cannot be made is named") func noFolder() async throws {
        try await TemporaryDirectory.run { directory in
            _ = try directory.write("a file", to: "home")
            let file = try files(in: directory)[0]
            #expect(throws: WiresharkFile.Problem.self) { try file.install() }
        }
    }

    @Test("install and uninstall together are refused") func both() async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["wireshark", "--install", "--uninstall"], output: recorder.output())
        #expect(code == 64)
    }
}
