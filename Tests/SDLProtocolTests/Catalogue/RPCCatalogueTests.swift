import Foundation
import RelayTesting
import Testing

@testable import SDLProtocol

// The contents of the built-in catalogue, and that its table and a specification's XML agree.

@Suite struct RPCCatalogueTests {
    private let catalogue = RPCCatalogue.builtIn

    // The numbers of RPC specification 8.0.0. Counted are the children of <interface>: 152
    // <function>s, which have 89 names, 121 <struct>s, 111 <enum>s. Elements inside <history> are
    // not counted, nor are SyncPData and OnSyncPData, which only have a number left.
    @Test("the built-in catalogue holds all of RPC specification 8.0.0")
    func counts() {
        #expect(catalogue.version == SDLVersion(8, 0, 0))
        #expect(catalogue.date == "2021-10-27")
        #expect(Set(catalogue.functions.map(\.name)).count == 89)
        #expect(catalogue.functions.count { $0.type == .request } == 63)
        #expect(catalogue.functions.count { $0.type == .response } == 64)
        #expect(catalogue.functions.count { $0.type == .notification } == 25)
        #expect(catalogue.structs.count == 121)
        #expect(catalogue.enums.count == 111)
        #expect(catalogue.functions.reduce(0) { $0 + $1.parameters.count } == 751)
        #expect(catalogue.structs.reduce(0) { $0 + $1.parameters.count } == 616)
        #expect(catalogue.enums.reduce(0) { $0 + $1.elements.count } == 900)
    }

    @Test("names and numbers agree with those that messages are decoded by")
    func functionNumbers() {
        for function in catalogue.functions {
            #expect(function.id.name == function.name)
            #expect(catalogue.name(of: function.id) == function.name)
        }
        let only = Set(FunctionID.all.map(\.name)).subtracting(catalogue.functions.map(\.name))
        #expect(only == ["SyncPData", "OnSyncPData"])
    }

    @Test("every type that is used is defined")
    func typesAreDefined() {
        let parameters =
            catalogue.functions.flatMap(\.parameters) + catalogue.structs.flatMap(\.parameters)
        for parameter in parameters.flatMap({ [$0] + $0.earlier }) {
            switch parameter.kind {
            case .structure(let name): #expect(catalogue.structure(name) != nil, "\(name)")
            case .enumeration(let name): #expect(catalogue.enumeration(name) != nil, "\(name)")
            case .boolean, .integer, .float, .string: break
            }
        }
    }

    @Test("a parameter has its bounds, its values and its earlier definitions")
    func parameters() throws {
        let show = try #require(catalogue.function(.show, .request))
        let field = try #require(show.parameters.first { $0.name == "mainField1" })
        #expect(field.kind == .string)
        #expect(!field.isMandatory)
        #expect(field.length == RPCBounds(minimum: 0, maximum: 500))
        let buttons = try #require(show.parameters.first { $0.name == "softButtons" })
        #expect(buttons.kind == .structure("SoftButton"))
        #expect(buttons.arraySize == RPCBounds(minimum: 0, maximum: 8))

        let choice = try #require(catalogue.structure("Choice"))
        let commands = try #require(choice.parameters.first { $0.name == "vrCommands" })
        #expect(!commands.isMandatory)
        #expect(commands.lifetime.since == SDLVersion(1, 0, 0))
        #expect(commands.redefined == SDLVersion(5, 0, 0))
        #expect(commands.earlier.map(\.isMandatory) == [true])
        #expect(commands.length.minimum == 1)

        let answer = try #require(catalogue.function(.listFiles, .response))
        let code = try #require(answer.parameters.first { $0.name == "resultCode" })
        #expect(code.values.first == "SUCCESS")
        #expect(!code.values.contains("ABORTED"))
    }

    @Test("something deprecated says since when it exists and since when it is deprecated")
    func lifetimes() throws {
        let layout = try #require(catalogue.function(.setDisplayLayout, .request))
        #expect(layout.lifetime.since?.short == "3.0")
        #expect(layout.lifetime.deprecated?.short == "6.0")
        let types = try #require(catalogue.enumeration("VehicleDataType"))
        let prndl = try #require(types.elements.first { $0.name == "VEHICLEDATA_PRNDL" })
        #expect(prndl.lifetime.until?.short == "7.0")
        #expect(!prndl.lifetime.isDeprecated)
    }

    @Test(
        "reading the built-in catalogue is quick",
        .enabled(if: Sanitizer.isAbsent, "it measures time, of which a sanitizer takes its share"))
    func loadTime() {
        // A generous limit, for debug builds. A release build takes under 5 ms.
        let durations = (0..<3).map { _ in
            let start = ProcessorTime.ofThread()
            #expect(RPCCatalogue(table: RPCCatalogue.builtInTable).version.major == 8)
            return ProcessorTime.ofThread() - start
        }
        #expect(durations.allSatisfy { $0 < 0.5 }, "\(durations)")
    }

    @Test("the catalogue and its index stay under 2 MiB")
    func memory() {
        let parameters =
            catalogue.functions.flatMap(\.parameters) + catalogue.structs.flatMap(\.parameters)
        let all = parameters.flatMap { [$0] + $0.earlier }
        // Long names have storage of their own, which malloc rounds up to 16 bytes; arrays have a header.
        func heap(_ name: String) -> Int { name.utf8.count > 15 ? name.utf8.count + 48 : 0 }
        var bytes = all.count * MemoryLayout<RPCParameter>.stride
        bytes += all.reduce(0) { $0 + heap($1.name) + $1.values.count * 16 + 64 }
        for enumeration in catalogue.enums {
            bytes += enumeration.elements.count * MemoryLayout<RPCEnum.Element>.stride + 64
            bytes += enumeration.elements.reduce(0) { $0 + heap($1.name) }
        }
        let index = CatalogueIndex(catalogue)
        bytes += index.names.capacity
        bytes += index.members.capacity * MemoryLayout<CatalogueIndex.Member>.stride
        bytes += index.groups.capacity * MemoryLayout<CatalogueIndex.Group>.stride
        bytes += index.slots.capacity * MemoryLayout<Int32>.stride
        #expect(bytes < 2 << 20, "\(bytes)")
    }

    // MARK: Table and XML

    /// The generator's output for `sample-spec.xml`.
    private static let sampleTable: StaticString = """
        rpc 3.2.1 2026-11-21
        E FunctionID +1.0
        :RESERVED
        :PingID +1.0
        :OnPongID
        E Result +1.0
        :SUCCESS
        :RETRY
        :IN-USE +2.5 ~
        <+2.0 -2.5
        S Target +2.0
        <+1.0 -2.0
        :name String! l0..255
        :children Target a..2 +2.1
        F Ping 70000 request +1.0
        :target Target!
        :note String l..20 +2.0
        <String! l..10 +1.0 -2.0
        F Ping 70000 response +1.0
        :success Boolean!
        :resultCode Result! =0,1
        :info String l..1000
        F OnPong 70001 notification +3.0 ~
        <+1.5 -3.0
        :temperatures Double v-40..359.99 a1..3 -3.0
        :count Integer! v0..
        :any Integer! a..
        """

    @Test("a specification's XML and its table are read as the same catalogue")
    func sampleEqualsTable() throws {
        let file = Fixtures.folder.appending(path: "sample-spec.xml")
        let catalogue = try RPCCatalogue(xml: Array(Data(contentsOf: file)))
        #expect(catalogue == RPCCatalogue(table: Self.sampleTable))
        let note = try #require(catalogue.functions.first?.parameters.last)
        #expect(note.lifetime.since?.short == "1.0")
        #expect(note.redefined?.short == "2.0")
        #expect(note.earlier.map(\.length.maximum) == [10])
        #expect(catalogue.functions.last?.lifetime.since?.short == "1.5")
        #expect(catalogue.functions.last?.lifetime.deprecated?.short == "3.0")
    }

    @Test("the generator writes the table that the specification's XML is read as")
    func generator() async throws {
        let file = Fixtures.folder.appending(path: "sample-spec.xml")
        let script = Fixtures.folder.appending(
            path: "../../Sources/SDLProtocol/Catalogue/generate-catalogue")
        let generated = try await ChildProcess.run(
            "/usr/bin/python3", [script.path, "--print", file.path], environment: [:])
        #expect(generated.ending == .exited(0), "\(generated.errors)")
        #expect(generated.output == "\(Self.sampleTable)")
    }

    @Test(
        "the published XML of the specification equals the built-in catalogue",
        .enabled(
            if: ProcessInfo.processInfo.environment["RELAYD_RPC_SPEC"] != nil,
            "RELAYD_RPC_SPEC names no MOBILE_API.xml of 8.0.0"))
    func publishedXMLEqualsBuiltIn() throws {
        let path = try #require(ProcessInfo.processInfo.environment["RELAYD_RPC_SPEC"])
        let xml = try Array(Data(contentsOf: URL(filePath: path)))
        let catalogue = try RPCCatalogue(xml: xml)
        #expect(catalogue.functions == self.catalogue.functions)
        #expect(catalogue.structs == self.catalogue.structs)
        #expect(catalogue.enums == self.catalogue.enums)
        #expect(catalogue == self.catalogue)
    }
}
