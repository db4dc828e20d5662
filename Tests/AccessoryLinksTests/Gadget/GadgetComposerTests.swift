import Glibc
import RelayTesting
import Synchronization
import Testing

@testable import AccessoryLinks

// The composer in a tree of plain folders. configfs creates files in a new folder and removes them with it;
// here the test does that.

@Suite("GadgetComposer")
struct GadgetComposerTests {
    private final class Kernel: Sendable {
        let mounts = Mutex<[String]>([])
        let refusal = Mutex<CInt>(0)
    }

    private func run(
        _ body: (GadgetComposer, Kernel, GadgetLayout) throws -> Void
    ) async throws {
        try await RelayTesting.TemporaryDirectory.run { directory in
            var places = GadgetLayout.Places()
            places.gadgets = directory.file("gadgets")
            places.functions = directory.file("usb-ffs")
            mkdir(places.gadgets, 0o755)
            let layout = GadgetLayout(places, user: getuid(), group: getgid())
            let kernel = Kernel()
            var composer = GadgetComposer(layout)
            composer.mount = { path, source, options in
                let refusal = kernel.refusal.withLock { $0 }
                if refusal == 0 { kernel.mounts.withLock { $0.append("\(source) \(options)") } }
                return refusal
            }
            composer.unmount = { _ in
                kernel.mounts.withLock { mounts in
                    guard !mounts.isEmpty else { return EINVAL }
                    mounts.removeLast()
                    return 0
                }
            }
            try body(composer, kernel, layout)
            rmdir(places.gadgets)
        }
    }

    /// Creates the files that configfs creates by itself.
    private func makeFiles(_ layout: GadgetLayout, _ isThere: Bool) {
        let folders = [
            layout.gadget, "\(layout.gadget)/strings", "\(layout.gadget)/strings/0x409",
            "\(layout.gadget)/configs", "\(layout.gadget)/configs/c.1",
            "\(layout.gadget)/configs/c.1/strings", "\(layout.gadget)/configs/c.1/strings/0x409",
            "\(layout.gadget)/functions",
        ]
        let files =
            layout.filesOfRelayd + [
                "\(layout.gadget)/bcdUSB", "\(layout.gadget)/configs/c.1/MaxPower",
                "\(layout.gadget)/configs/c.1/strings/0x409/configuration",
            ]
        if isThere {
            for folder in folders { mkdir(folder, 0o755) }
            for file in files { close(open(file, O_WRONLY | O_CREAT, 0o644)) }
        } else {
            for file in files { unlink(file) }
            for folder in folders.reversed() { rmdir(folder) }
        }
    }

    @Test("without gadgets in the kernel it says so, and leaves nothing")
    func noGadgets() async throws {
        try await run { composer, _, layout in
            rmdir(layout.places.gadgets)
            do throws(LinkProblem) {
                try composer.compose()
                Issue.record("composed")
            } catch {
                #expect(error.code == .unsupported)
                #expect(error.remedy?.hasPrefix("modprobe libcomposite") == true)
            }
            #expect(!composer.isComposed)
        }
    }

    @Test("removing where there is nothing is no failure")
    func removesNothing() async throws {
        try await run { composer, _, _ in
            try composer.remove()
            #expect(!composer.isComposed)
        }
    }

    @Test("what is in use is not removed, and the reason is told")
    func busy() async throws {
        try await run { composer, _, layout in
            mkdir(layout.places.functions, 0o755)
            mkdir(layout.functionFS, 0o755)
            var busy = composer
            busy.unmount = { _ in EBUSY }
            #expect(busy.isComposed)
            do throws(LinkProblem) {
                try busy.remove()
                Issue.record("removed")
            } catch {
                #expect(error.code == .busy)
                #expect(error.remedy == "stop relayd first")
            }
            try composer.remove()
            #expect(!composer.isComposed)
        }
    }

    @Test("half a gadget that a killed composer has left is removed first")
    func leftOver() async throws {
        try await run { composer, kernel, layout in
            mkdir(layout.places.functions, 0o755)
            mkdir(layout.functionFS, 0o755)
            kernel.mounts.withLock { $0 = ["old"] }
            #expect(composer.isComposed)
            // configfs would have made the files by now; plain folders have none, so it stops here.
            do throws(LinkProblem) {
                try composer.compose()
                Issue.record("composed of plain folders")
            } catch {
                #expect(error.message.contains("bcdUSB"))
            }
            #expect(kernel.mounts.withLock { $0 } == [])
            makeFiles(layout, false)
            #expect(!composer.isComposed)
        }
    }

    @Test("a drop-in is enabled by a link, and gone without a trace; those of others stay")
    func dropIn() async throws {
        try await RelayTesting.TemporaryDirectory.run { directory in
            let shipped = try directory.write("[Service]\n", to: "gadget.conf")
            let reloads = Mutex(0)
            var place = ServiceDropIn(shipped: shipped)
            place.folder = directory.file("relayd.service.d")
            place.reload = {
                reloads.withLock { $0 += 1 }
                return 0
            }
            let setUp = GadgetSetUp(place)
            #expect(!setUp.isSetUp)
            try setUp.perform()
            #expect(setUp.isSetUp)
            #expect(SymbolicLink.target(of: place.enabled) == shipped)
            try setUp.undo()
            #expect(!setUp.isSetUp)
            #expect(access(place.folder, F_OK) != 0)
            #expect(reloads.withLock { $0 } == 2)
            #expect(
                setUp.doing == [
                    "mkdir -p \(place.folder)", "ln -s \(shipped) \(place.enabled)",
                    "systemctl daemon-reload",
                ])

            mkdir(place.folder, 0o755)
            let other = "\(place.folder)/other.conf"
            close(open(other, O_WRONLY | O_CREAT, 0o644))
            try setUp.perform()
            try setUp.undo()
            #expect(access(other, F_OK) == 0)
            unlink(other)
            rmdir(place.folder)
        }
    }
}
