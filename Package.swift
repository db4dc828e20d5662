// swift-tools-version: 6.3
// The target graph of relayd: who may import whom, and why each external package is here.

import PackageDescription

/// For relayd itself: next to NIO and libyaml the compiler attributes structures of Glibc to other C modules,
/// so requiring an import of the defining module would name one of swift-nio's.
let daemonSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// The commit, as Scripts/build-release passes it; only characters that a version may hold (semver.org, 10).
/// Git is not asked here: SwiftPM would keep the answer past the next commit.
let build = (Context.environment["RELAY_BUILD"] ?? "").filter {
    $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".")
}

/// One list of compiler settings, used by every Swift target.
let settings: [SwiftSetting] = daemonSettings + [.enableUpcomingFeature("MemberImportVisibility")]

/// For modules off an app's data path, and those that mostly wait for the system: optimised for size, where
/// the rest is optimised for speed. Documentation/performance.md says what it costs.
let small = SwiftSetting.unsafeFlags(["-Osize"], .when(configuration: .release))
/// For modules that every frame passes through. Checking for overlapping accesses to a value took a quarter
/// of the event loop's instructions. Debug builds still check, and all tests run in them; so do the fuzzer
/// and the model. Scripts/build-release turns it off for all modules.
let fast: [SwiftSetting] =
    ["RELAY_FUZZ", "RELAY_MODEL"].contains { Context.environment[$0] != nil }
    ? []
    : [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]
/// For the programs: lld, because gold cannot pack the addresses that are set at the start into an eighth of
/// the space (glibc 2.36 or newer, Debian 12). Functions with identical code are merged, so a backtrace may
/// name another of them.
let linking = LinkerSetting.unsafeFlags(
    ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--icf=all"],
    .when(configuration: .release))

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioLocks = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "relayd",
    products: [
        .executable(name: "relayd", targets: ["relayd"]),
        .executable(name: "relayctl", targets: ["relayctl"]),
    ],
    dependencies: [
        // The event loop that carries every byte, and HTTP/1.1 for both ends of the control API.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        // The logging API; our back ends (terminal, journald) plug into it.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // Flags, help and completions of both programs.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Ordered start and stop of the daemon's parts; signals.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // The binary form of OpenXC's messages, without file streams and field masks.
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
    ],
    targets: [
        // "Did you mean …?" for whatever people type.
        .target(name: "DidYouMean", swiftSettings: settings + [small]),
        // The language in which people say what they want to see: its text and its meaning.
        .target(
            name: "MessageFilters", dependencies: ["DidYouMean", "SDLProtocol", nioCore],
            swiftSettings: settings + [small]),
        // YAML as a tree with the position of each node, for reading the configuration and scenarios.
        .target(
            name: "YAML", dependencies: ["SDLProtocol", "CLibYAML"],
            swiftSettings: daemonSettings + [small]),
        // The addresses of a host, without blocking an event loop.
        .target(
            name: "HostNames", dependencies: [nioCore, nioPosix], swiftSettings: settings + [small]),
        // What the bytes mean. Values only: no sockets, clocks or logs. Its interface is public, although
        // nothing outside this package uses it: Swift 6.3 never inlines what is `package` into another
        // module, not even if it is marked @inlinable.
        .target(
            name: "SDLProtocol", dependencies: ["DidYouMean", nioCore],
            exclude: ["Catalogue/generate-catalogue"], swiftSettings: settings + fast),
        // The same for the other accessory, an OpenXC vehicle interface. Knows nothing of SDL.
        .target(
            name: "OpenXCProtocol", dependencies: [protobuf],
            exclude: ["Protobuf/generate-protobuf", "Protobuf/openxc.proto"],
            swiftSettings: settings),
        // A head unit made of code; the `sim:` link and the tests share it.
        .target(
            name: "SimulatedAccessory", dependencies: ["SDLProtocol", nioCore],
            swiftSettings: settings + [small]),
        // A vehicle interface made of code, for the link `sim:openxc` and the tests.
        .target(
            name: "SimulatedVehicle", dependencies: ["OpenXCProtocol", nioCore],
            swiftSettings: settings + [small]),
        // Traces in OpenXC's own form: read, written, and played as the vehicle interface would.
        .target(
            name: "OpenXCTraces", dependencies: ["OpenXCProtocol", "CZlib", nioCore],
            swiftSettings: settings + [small]),
        // An app made of code: the demo, `relayctl sample-app` and the tests share it.
        .target(
            name: "SampleApp", dependencies: ["SDLProtocol", nioCore],
            swiftSettings: settings + [small]),
        // Replays of recordings: as the head unit for live apps, or as an app for a live head unit.
        .target(
            name: "Replays", dependencies: ["Traces", "RelayCore", "SDLProtocol", nioCore],
            swiftSettings: settings + [small]),
        // How bytes reach the accessory. Moves bytes without looking into them.
        .target(
            name: "AccessoryLinks",
            dependencies: [
                "SimulatedAccessory", "SimulatedVehicle", "Replays", "Traces", "OpenXCTraces",
                "SDLProtocol", "OpenXCProtocol", "CLibUSB", "CShims",
                "CSystemd", "DidYouMean", "HostNames", nioCore,
                nioPosix, nioLocks, logging,
            ],
            swiftSettings: settings + [small]),
        // Who gets which frame.
        .target(
            name: "RelayCore",
            dependencies: [
                "SDLProtocol", "MessageFilters", "DidYouMean", "HostNames", nioCore, nioPosix,
                logging,
            ],
            swiftSettings: settings + fast),
        // The same for a vehicle interface and its clients, as the hub's language.
        .target(
            name: "OpenXCRelay", dependencies: ["OpenXCProtocol", "RelayCore", nioCore, logging],
            swiftSettings: settings),
        // What passed between a vehicle interface and its clients: latest values, stream entries, wording.
        .target(
            name: "OpenXCTraffic",
            dependencies: [
                "OpenXCRelay", "OpenXCProtocol", "RelayCore", "SDLTraffic", "SDLProtocol", nioCore,
            ],
            swiftSettings: settings + [small]),
        // What each advice code means and what to do about it: pages for people. A module of its own, because
        // `relayctl explain` shows them without relayd, and so without the hub.
        .target(name: "SDLAdvice", swiftSettings: settings + [small]),
        // What passed the hub, decoded once: log, kept messages, facts, statistics, advice. The hub
        // knows nothing of it.
        .target(
            name: "SDLTraffic",
            dependencies: [
                "RelayCore", "MessageFilters", "SDLAdvice", "SDLProtocol", "DidYouMean", nioCore,
            ],
            swiftSettings: settings + [small]),
        // Recordings of what passed the hub, as pcapng: made by relayd, read by relayctl.
        .target(
            name: "Traces", dependencies: ["RelayCore", "SDLProtocol", nioCore],
            swiftSettings: settings + [small]),
        // Pictures, sound and files out of what passed the hub. Values only: no files or sockets.
        .target(
            name: "Media", dependencies: ["RelayCore", "SDLTraffic", "SDLProtocol", nioCore],
            swiftSettings: settings + [small]),
        // What the tool may ask the daemon: routes and their JSON.
        .target(
            name: "ControlAPI", dependencies: ["CVersion"],
            exclude: ["API.md", "generate-openapi"],
            swiftSettings: settings + [small]),
        // What a recording contains: its messages, as they were seen live, and counts. For relayctl, and for
        // relayd's own recordings in the control API.
        .target(
            name: "DecodedTraces",
            dependencies: [
                "Traces", "SDLTraffic", "ControlAPI", "MessageFilters", "RelayCore", "SDLProtocol",
                nioCore,
            ],
            swiftSettings: settings + [small]),
        // What a bench does by itself, step by step: read from YAML, run without sockets or clocks, with the
        // outcome.
        .target(
            name: "Scenarios",
            dependencies: [
                "YAML", "ControlAPI", "RelayCore", "MessageFilters", "DidYouMean", "SDLProtocol",
                // The built-in scenarios.
                "CFiles", nioCore,
            ],
            swiftSettings: settings + [small]),
        .executableTarget(
            name: "relayd",
            dependencies: [
                "RelayCore", "SDLTraffic", "SDLAdvice", "AccessoryLinks", "ControlAPI", "Traces",
                "DecodedTraces", "Media",
                "SDLProtocol", "OpenXCProtocol", "OpenXCRelay", "OpenXCTraffic", "MessageFilters",
                "DidYouMean",
                // The app that relayd acts as when an RPC is to be sent and no app is at hand.
                "SampleApp", "Scenarios", "YAML",
                "CFiles", "CShims", "CSystemd",
                nioCore, nioPosix, nioHTTP1, logging, lifecycle, unixSignals, arguments,
            ],
            // These are embedded in the program, in CFiles.
            exclude: ["Control/Dashboard/Page", "Control/OpenAPI"],
            swiftSettings: daemonSettings + [small], linkerSettings: [linking]),
        .executableTarget(
            name: "relayctl",
            dependencies: [
                // AccessoryLinks, so that `relayctl devices` judges addresses exactly as relayd does.
                // RelayCore, SDLTraffic and DecodedTraces, so that `relayctl trace` shows a recording as
                // relayd shows it live.
                "AccessoryLinks", "ControlAPI", "Media", "RelayCore", "Replays",
                "SampleApp", "SDLAdvice", "Scenarios",
                "SDLProtocol", "SDLTraffic", "Traces", "DecodedTraces", "MessageFilters",
                // What the bytes and words of OpenXC may be.
                "OpenXCProtocol",
                // To read the link's address from a configuration file.
                "YAML",
                "DidYouMean",
                "CFiles", "CNcurses",
                nioCore, nioPosix, nioLocks, nioHTTP1, arguments,
            ],
            swiftSettings: settings + [small], linkerSettings: [linking]),
        // The commit that a build was made from.
        .target(
            name: "CVersion",
            cSettings: build.isEmpty ? [] : [.define("RELAY_BUILD", to: "\"\(build)\"")]),
        // The dashboard, the API's description and what relayctl prints or installs are embedded in the
        // programs: one file to install, none to find.
        .target(name: "CFiles"),
        // What Glibc's Swift module leaves out (termios2, ucred, …).
        .target(name: "CShims"),
        .systemLibrary(
            name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        // YAML with line and column of every node, for error messages with positions.
        .systemLibrary(
            name: "CLibYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(
            name: "CLibUSB", pkgConfig: "libusb-1.0", providers: [.apt(["libusb-1.0-0-dev"])]),
        // Traces compressed with gzip.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // Terminals with their keys and sequences, and differences between two screens, for `relayctl top`.
        .systemLibrary(name: "CNcurses", providers: [.apt(["libncurses-dev"])]),
        // FakeAccessory, FramePeer, PseudoTerminal, ChildProcess: for tests and benchmarks, not installed.
        .target(
            name: "RelayTesting",
            dependencies: [
                "RelayCore", "SDLTraffic", "ControlAPI", "SDLProtocol", "SimulatedAccessory",
                "CShims", nioCore, nioPosix, logging,
            ],
            path: "Tests/RelayTesting", swiftSettings: settings),
        // What untrusted bytes can reach, each as one function that checks its promises on given bytes, run
        // over the committed inputs; Scripts/fuzz runs the same functions under libFuzzer.
        .testTarget(
            name: "FuzzTargets",
            dependencies: [
                "relayd", "relayctl", "RelayCore", "SDLTraffic", "AccessoryLinks", "ControlAPI",
                "Media", "Replays", "Traces", "SDLProtocol", "OpenXCProtocol", "OpenXCRelay",
                "OpenXCTraces", "OpenXCTraffic", "CZlib", "MessageFilters", "SampleApp",
                "Scenarios",
                "SimulatedAccessory", "SimulatedVehicle",
                "RelayTesting", nioCore, nioPosix,
                nioEmbedded, logging,
            ],
            swiftSettings: daemonSettings),
        .testTarget(name: "DidYouMeanTests", dependencies: ["DidYouMean"], swiftSettings: settings),
        .testTarget(
            name: "MessageFiltersTests", dependencies: ["MessageFilters", "SDLProtocol"],
            swiftSettings: settings),
        .testTarget(
            name: "ScenariosTests",
            dependencies: [
                "Scenarios", "YAML", "ControlAPI", "SDLProtocol", "RelayTesting", nioCore,
                nioEmbedded,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "HostNamesTests", dependencies: ["HostNames", nioCore, nioPosix],
            swiftSettings: settings),
        .testTarget(
            name: "SDLProtocolTests",
            dependencies: ["SDLProtocol", "RelayTesting", nioCore],
            swiftSettings: settings),
        .testTarget(
            name: "OpenXCProtocolTests", dependencies: ["OpenXCProtocol"],
            swiftSettings: settings),
        .testTarget(
            name: "OpenXCRelayTests",
            dependencies: [
                "OpenXCRelay", "OpenXCProtocol", "RelayCore", "RelayTesting", nioCore, nioPosix,
                nioEmbedded, logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "SimulatedVehicleTests",
            dependencies: [
                "SimulatedVehicle", "OpenXCProtocol", "OpenXCRelay", nioCore, nioEmbedded,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OpenXCTracesTests",
            dependencies: ["OpenXCTraces", "OpenXCProtocol", "CZlib", "RelayTesting", nioCore],
            swiftSettings: settings),
        .testTarget(
            name: "OpenXCTrafficTests",
            dependencies: [
                "OpenXCTraffic", "OpenXCRelay", "OpenXCProtocol", "RelayCore", "RelayTesting",
                nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "SimulatedAccessoryTests",
            dependencies: [
                "SimulatedAccessory", "SampleApp", "SDLProtocol", "RelayTesting", nioCore,
                nioEmbedded,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AccessoryLinksTests",
            dependencies: [
                "AccessoryLinks", "RelayTesting", "CLibUSB", "CShims", nioCore, nioPosix, logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RelayCoreTests",
            dependencies: [
                "RelayCore", "SDLTraffic", "SDLProtocol", "SimulatedAccessory", "RelayTesting",
                nioCore, nioPosix, nioEmbedded, logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "SDLTrafficTests",
            dependencies: [
                "SDLTraffic", "SDLAdvice", "RelayCore", "SDLProtocol", "MessageFilters",
                "RelayTesting", nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TracesTests",
            dependencies: [
                "Traces", "SDLTraffic", "RelayCore", "SDLProtocol", "RelayTesting", nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DecodedTracesTests",
            dependencies: [
                "DecodedTraces", "Traces", "SDLTraffic", "ControlAPI", "RelayCore", "SDLProtocol",
                "MessageFilters", "RelayTesting", nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MediaTests",
            dependencies: [
                "Media", "SDLTraffic", "RelayCore", "SDLProtocol", "RelayTesting", nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ReplaysTests",
            dependencies: [
                "Replays", "Traces", "SampleApp", "SimulatedAccessory", "RelayCore", "SDLProtocol",
                "RelayTesting", nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ControlAPITests", dependencies: ["ControlAPI"], swiftSettings: settings),
        .testTarget(
            name: "RelaydTests",
            dependencies: [
                "relayd", "ControlAPI", "AccessoryLinks", "OpenXCProtocol", "OpenXCRelay",
                "OpenXCTraffic", "RelayCore", "SDLTraffic",
                "Traces", "DecodedTraces",
                "RelayTesting", "SDLProtocol", nioCore, nioPosix, nioHTTP1, nioEmbedded, logging,
                lifecycle,
                arguments,
            ],
            swiftSettings: daemonSettings),
        .testTarget(
            name: "RelayctlTests",
            dependencies: [
                "relayctl", "relayd", "AccessoryLinks", "ControlAPI", "Media", "RelayCore",
                "SDLAdvice",
                "SDLTraffic", "Traces", "DecodedTraces", "MessageFilters", "RelayTesting",
                "SDLProtocol", nioCore, nioPosix, nioHTTP1, nioEmbedded, logging, lifecycle,
                arguments,
            ],
            swiftSettings: settings),
        // The built programs, driven from outside.
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "RelayTesting", "RelayCore", "SDLProtocol", "OpenXCProtocol", "Traces",
                "ControlAPI",
                nioCore, nioPosix,
            ],
            swiftSettings: settings),
    ]
)

// Benchmarks are added only on request, as Scripts/bench does: an ordinary build does not pay for them.
if Context.environment["RELAY_BENCHMARKS"] != nil {
    package.products += [
        // Preloaded into relayd when its allocations are counted.
        .library(name: "MallocCounter", type: .dynamic, targets: ["CMallocCounter"])
    ]
    package.targets += [
        .target(name: "CMallocCounter", path: "Benchmarks/MallocCounter"),
        // Both ends of a measurement, without a Swift runtime between two system calls.
        .target(name: "CPlainEnds", path: "Benchmarks/PlainEnds"),
        .executableTarget(
            name: "RelayBenchmarks",
            dependencies: [
                "RelayCore", "SDLTraffic", "SDLProtocol", "OpenXCProtocol", "Traces", "ControlAPI",
                "RelayTesting", "CShims", "CMallocCounter", "CPlainEnds",
                nioCore, nioPosix, logging, arguments,
            ],
            path: "Benchmarks/RelayBenchmarks", swiftSettings: settings),
    ]
}

// The model of the hub as a program is added only on request, as Scripts/model does. Only what it needs is
// built, optimised, and with its internals visible to it as they are to the tests.
if Context.environment["RELAY_MODEL"] != nil {
    let needed = [
        "DidYouMean", "HostNames", "SDLProtocol", "SimulatedAccessory", "RelayCore", "SDLAdvice",
        "MessageFilters", "SDLTraffic", "CShims", "RelayTesting", "ControlAPI", "CVersion",
    ]
    let open: [SwiftSetting] = [.unsafeFlags(["-enable-testing"])]
    package.products = [.executable(name: "RelayModel", targets: ["RelayModel"])]
    package.targets = package.targets.filter { needed.contains($0.name) }
    for target in package.targets where !["CShims", "CVersion"].contains(target.name) {
        target.swiftSettings = settings + open
    }
    package.targets.append(
        .executableTarget(
            name: "RelayModel",
            dependencies: [
                "RelayCore", "SDLProtocol", "RelayTesting", nioCore, nioEmbedded, logging,
            ],
            path: "Tests", exclude: ["RelayCoreTests/Model/HubModelTests.swift"],
            sources: [
                "ModelProgram", "RelayCoreTests/Model",
                "RelayCoreTests/SDLCore/CoreDialogue.swift",
            ],
            swiftSettings: settings))
}

// The fuzzer is added only on request, as Scripts/fuzz does: every Swift target then counts the edges it
// passes. Parts of a program cannot be linked into another program, nor can a test, so all are libraries
// here, the programs with their entry points renamed.
if Context.environment["RELAY_FUZZ"] != nil {
    let counted: [SwiftSetting] = [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
    package.products = [.executable(name: "RelayFuzz", targets: ["RelayFuzz"])]
    package.targets = package.targets.compactMap { target in
        guard target.type != .system, target.name != "CShims" else { return target }
        let settings = (target.swiftSettings ?? []) + counted
        switch target.name {
        case "relayd", "relayctl":
            let entry = [
                "-Xfrontend", "-entry-point-function-name", "-Xfrontend", "\(target.name)_main",
            ]
            return .target(
                name: target.name, dependencies: target.dependencies, resources: target.resources,
                swiftSettings: settings + [.unsafeFlags(entry)])
        case "FuzzTargets":
            return .target(
                name: target.name, dependencies: target.dependencies, path: "Tests/FuzzTargets",
                exclude: ["BusyAnswerTests.swift", "FuzzReplayTests.swift"], swiftSettings: settings
            )
        default:
            guard target.type == .regular else { return nil }
            target.swiftSettings = settings
            return target
        }
    }
    package.targets += [
        .target(name: "CLibFuzzer", path: "Tests/FuzzProgram/LibFuzzer"),
        .executableTarget(
            name: "RelayFuzz", dependencies: ["FuzzTargets", "CLibFuzzer"],
            path: "Tests/FuzzProgram/Main", swiftSettings: settings,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
    ]
}
