// Scripts/test --vm where no virtual machine can be built: then gadget: is untested on a kernel, which the
// script must say in words at the end. The tree is a copy of its scripts with stand-ins for all other steps.

import Foundation
import Glibc
import RelayTesting
import Testing

@Suite("Scripts/test --vm") struct VMScriptTests {
    /// The tools of a Debian that has nothing to build a virtual machine with.
    private static let tools = [
        "awk", "bash", "cat", "cp", "cut", "date", "dirname", "env", "find", "flock", "grep",
        "head", "ls",
        "mkdir", "mktemp", "mv", "realpath", "rm", "sed", "sha256sum", "tee", "touch",
    ]
    /// The additional tools for building a virtual machine.
    private static let builders = [
        "qemu-system-x86_64", "mmdebstrap", "cpio", "zstd", "depmod", "dpkg",
    ]

    private static let nothing = "#!/usr/bin/env bash\n"

    /// A tree in which every step but the virtual machine succeeds at once.
    private func withTree(
        testInMachine: String? = nil,
        _ body: (_ directory: TemporaryDirectory, _ environment: [String: String]) async throws ->
            Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            let files = FileManager.default
            func write(_ content: String, to name: String) throws {
                let folder = directory.file((name as NSString).deletingLastPathComponent)
                try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
                chmod(try directory.write(content, to: name), 0o755)
            }
            func copy(_ name: String) throws {
                try write(
                    String(contentsOf: Checkout.root.appending(path: name), encoding: .utf8),
                    to: name)
            }
            try copy("Scripts/test")
            try copy("Tests/VM/vm")
            for test in ["Tests/VM/test-gadget", "Tests/VM/test-bluetooth"] {
                if let testInMachine {
                    try write(testInMachine, to: test)
                } else {
                    try copy(test)
                }
            }
            for step in [
                "Scripts/install-dependencies", "Tests/System/check-units",
                "Sources/ControlAPI/generate-openapi", "config/wireshark/generate-names",
                "Tests/Prometheus/fetch-promtool", "built/relayd", "built/relayctl",
            ] {
                try write(Self.nothing, to: step)
            }
            for tool in Self.tools {
                let places: [String] = ["/usr/bin/\(tool)", "/bin/\(tool)"]
                let path = try #require(places.first { access($0, X_OK) == 0 }, "\(tool)")
                try files.createDirectory(
                    atPath: directory.file("bin"), withIntermediateDirectories: true)
                try files.createSymbolicLink(
                    atPath: directory.file("bin/\(tool)"), withDestinationPath: path)
            }
            try write("#!/usr/bin/env bash\necho 0\n", to: "bin/id")
            try write("#!/usr/bin/env bash\necho x86_64\n", to: "bin/uname")
            try write(
                """
                #!/usr/bin/env bash
                case "$*" in *--show-bin-path) echo '\(directory.file("built"))' ;; esac
                """, to: "bin/swift")
            let environment = Program.environment([
                "PATH": directory.file("bin"), "RELAY_VM_CACHE": directory.file("cache"),
            ])
            try await body(directory, environment)
        }
    }

    private func run(
        _ directory: TemporaryDirectory, _ environment: [String: String]
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.run(
            directory.file("Scripts/test"), ["--vm", "--filter", "Nothing"],
            environment: environment)
    }

    private static let notTested =
        "== NOT TESTED: gadget: and bluetooth: on a kernel, because no virtual machine can be built here"

    @Test("without qemu it says what is missing, and last that nothing was tested")
    func withoutEmulator() async throws {
        try await withTree { directory, environment in
            let done = try await run(directory, environment)
            #expect(done.ending == .exited(0), "\(done.errors)")
            #expect(
                done.errors.contains(
                    "Tests/VM/vm: qemu-system-x86_64 is missing: Scripts/install-dependencies"))
            #expect(done.errors.hasSuffix(Self.notTested))
        }
    }

    @Test(
        "without the kernel's package, or any package, neither",
        arguments: [
            ("exit 0", "there is no package linux-image-amd64"),
            ("exit 100", "the packages could not be had"),
        ])
    func withoutPackages(mmdebstrap: String, words: String) async throws {
        try await withTree { directory, environment in
            for tool in Self.builders + ["apt-get", "apt-cache"] {
                let what = tool == "mmdebstrap" ? mmdebstrap : "exit 0"
                chmod(try directory.write(Self.nothing + what + "\n", to: "bin/\(tool)"), 0o755)
            }
            let done = try await run(directory, environment)
            #expect(done.ending == .exited(0), "\(done.errors)")
            #expect(done.errors.contains("Tests/VM/vm: \(words)"), "\(done.errors)")
            #expect(done.errors.hasSuffix(Self.notTested))
        }
    }

    @Test("a machine that is built, and in which something fails, is a failure")
    func failure() async throws {
        try await withTree(testInMachine: Self.nothing + "exit 1\n") { directory, environment in
            let done = try await run(directory, environment)
            #expect(done.ending == .exited(1))
            #expect(done.errors.contains("== relayd as a phone, in a virtual machine: FAILED"))
            #expect(!done.errors.contains("NOT TESTED"))
        }
    }

    @Test("a success is one")
    func success() async throws {
        try await withTree(testInMachine: Self.nothing) { directory, environment in
            let done = try await run(directory, environment)
            #expect(done.ending == .exited(0), "\(done.errors)")
            #expect(!done.errors.contains("NOT TESTED"))
            #expect(done.output.contains("== relayd as a phone, in a virtual machine: ok"))
        }
    }

    @Test("a machine that is 30 days old is made anew, and kept where that fails")
    func renewal() async throws {
        try await withTree { directory, environment in
            for tool in Self.builders + ["apt-get", "apt-cache"] {
                let what = tool == "mmdebstrap" ? "exit 100" : "exit 0"
                chmod(try directory.write(Self.nothing + what + "\n", to: "bin/\(tool)"), 0o755)
            }
            let vm = directory.file("Tests/VM/vm")
            let first = try await ChildProcess.run(vm, ["build"], environment: environment)
            #expect(first.ending == .exited(75))
            // As if the machine had been built.
            let folders = try FileManager.default.contentsOfDirectory(
                atPath: directory.file("cache")
            ).filter { $0 != "lock" }
            let folder = try #require(folders.first)
            let ready = try directory.write("a day in May\n", to: "cache/\(folder)/ready")
            let fresh = try await ChildProcess.run(vm, ["build"], environment: environment)
            #expect(fresh.ending == .exited(0), "\(fresh.errors)")
            #expect(fresh.errors == "")
            let old = Date(timeIntervalSinceNow: -32 * 86_400)
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: ready)
            let renewed = try await ChildProcess.run(vm, ["build"], environment: environment)
            #expect(renewed.ending == .exited(0), "\(renewed.errors)")
            #expect(renewed.errors.contains("the packages could not be had"))
            #expect(renewed.errors.hasSuffix("going on with the machine of a day in May"))
        }
    }
}
