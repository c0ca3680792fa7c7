// swift-tools-version: 6.2
import PackageDescription

/// The settings of all targets: explicit `any`, internal imports by default, members only of imported modules, and
/// warnings as errors.
let commonSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// The linker flags of the programs in release builds. With the static runtime, a write takes the daemon a sixth less
/// processor time, and the programs run on machines without Swift. Packed relocations save half a megabyte of memory.
/// With `relro` and `now`, the dynamic linker resolves all symbols at the start of the program, and then makes the
/// table of their addresses read-only.
let programLinkerFlags = [
    "-static-stdlib", "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "-z", "-Xlinker",
    "relro", "-Xlinker", "-z", "-Xlinker", "now",
]

let package = Package(
    name: "settingsd",
    products: [
        .library(name: "SettingsAPI", targets: ["SettingsAPI"]),
        .library(name: "SettingsClient", targets: ["SettingsClient"]),
        .library(name: "SettingsClientCompatibility", targets: ["SettingsClientCompatibility"]),
        .library(name: "SettingsClientTesting", targets: ["SettingsClientTesting"]),
        .library(name: "SettingsHTTP", targets: ["SettingsHTTP"]),
        .library(name: "SettingsKeys", targets: ["SettingsKeys"]),
        .library(name: "SettingsModel", targets: ["SettingsModel"]),
        .executable(name: "settings", targets: ["settings"]),
        .executable(name: "settingsd", targets: ["settingsd"]),
    ],
    targets: [
        .target(name: "SettingsModel", swiftSettings: commonSettings),
        .target(name: "SettingsKeys", dependencies: ["SettingsModel"], swiftSettings: commonSettings),
        .target(name: "SettingsAPI", dependencies: ["SettingsModel"], swiftSettings: commonSettings),
        // C modules: Linux functions, OpenSSL, and the OpenAPI document and the page, which they embed.
        .target(name: "CLinux"),
        .target(name: "COpenSSL"),
        .target(name: "COpenAPI", exclude: ["openapi.json"]),
        .target(name: "CPage", exclude: ["page"]),
        .target(name: "HTTPWire", swiftSettings: commonSettings),
        .target(name: "Platform", dependencies: ["CLinux"], swiftSettings: commonSettings),
        .target(name: "SettingsEngine", dependencies: ["SettingsAPI", "SettingsModel"], swiftSettings: commonSettings),
        .target(name: "HTTPServer", dependencies: ["HTTPWire", "Platform"], swiftSettings: commonSettings),
        .target(
            name: "SettingsStorage",
            dependencies: ["Platform", "SettingsAPI", "SettingsEngine", "SettingsModel"],
            swiftSettings: commonSettings),
        .target(
            name: "SettingsCluster",
            dependencies: [
                "HTTPWire", "Platform", "SettingsAPI", "SettingsEngine", "SettingsModel", "SettingsStorage",
            ],
            swiftSettings: commonSettings),
        .target(
            name: "SettingsWeb",
            dependencies: [
                "COpenAPI", "CPage", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsEngine",
                "SettingsModel", "SettingsStorage",
            ],
            swiftSettings: commonSettings),
        .target(
            name: "SettingsServer",
            dependencies: [
                "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsCluster", "SettingsEngine",
                "SettingsModel", "SettingsStorage", "SettingsWeb",
            ],
            swiftSettings: commonSettings),
        .target(
            name: "SettingsHTTP", dependencies: ["COpenSSL", "HTTPWire", "Platform", "SettingsAPI", "SettingsModel"],
            swiftSettings: commonSettings),
        .target(
            name: "SettingsClient",
            dependencies: [
                "Platform", "SettingsAPI", "SettingsEngine", "SettingsHTTP", "SettingsKeys", "SettingsModel",
            ],
            swiftSettings: commonSettings),
        .target(
            name: "SettingsClientCompatibility", dependencies: ["SettingsAPI", "SettingsClient", "SettingsKeys"],
            swiftSettings: commonSettings),
        .target(
            name: "SettingsClientTesting",
            dependencies: ["SettingsAPI", "SettingsClient", "SettingsHTTP", "SettingsKeys"],
            swiftSettings: commonSettings),
        .executableTarget(
            name: "settings", dependencies: ["Platform", "SettingsAPI", "SettingsHTTP", "SettingsModel"],
            swiftSettings: commonSettings,
            linkerSettings: [.unsafeFlags(programLinkerFlags, .when(configuration: .release))]),
        .executableTarget(
            name: "settingsd", dependencies: ["SettingsServer"], swiftSettings: commonSettings,
            linkerSettings: [.unsafeFlags(programLinkerFlags, .when(configuration: .release))]),
        .executableTarget(
            name: "json-benchmark", dependencies: ["SettingsModel"], path: "Tools/JSONBenchmark",
            swiftSettings: commonSettings),
        .executableTarget(
            name: "schema-conformance", dependencies: ["SettingsModel"], path: "Tools/SchemaConformance",
            swiftSettings: commonSettings),
        .executableTarget(
            name: "watch-load", dependencies: ["CLinux"], path: "Tools/WatchLoad", swiftSettings: commonSettings),
        .target(
            name: "ClientCostKeys", dependencies: ["SettingsClient"], path: "Tools/ClientCostKeys",
            swiftSettings: commonSettings),
        .executableTarget(
            name: "client-cost",
            dependencies: ["ClientCostKeys", "SettingsClient", "SettingsClientTesting", "SettingsHTTP"],
            path: "Tools/ClientCost",
            swiftSettings: commonSettings),
        // The example has its own Package.swift, which a user would write. This target differs from it only in that
        // warnings are errors.
        .executableTarget(
            name: "music-player", dependencies: ["SettingsClient"], path: "Examples/MusicPlayer/Sources",
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // A program that tests start several times, so that several processes use the same suite.
        .executableTarget(
            name: "settings-worker", dependencies: ["SettingsClient"], path: "Tests/SettingsWorker",
            swiftSettings: commonSettings),
        .target(
            name: "TestSupport",
            dependencies: [
                "HTTPServer", "SettingsAPI", "SettingsCluster", "SettingsModel", "SettingsServer", "SettingsStorage",
            ],
            path: "Tests/TestSupport",
            swiftSettings: commonSettings),
        .target(
            name: "ClientTestSupport",
            dependencies: [
                "HTTPServer", "SettingsEngine", "SettingsHTTP", "SettingsModel", "SettingsServer", "SettingsStorage",
                "SettingsWeb", "TestSupport",
            ],
            path: "Tests/ClientTestSupport", swiftSettings: commonSettings),
        // A library with a second global `Defaults`, for tests of programs that import it beside SettingsClient.
        .target(
            name: "ExportingKit", dependencies: ["SettingsClient", "SettingsClientTesting"], path: "Tests/ExportingKit",
            swiftSettings: commonSettings),
        // A program that writes settings until a test kills it.
        .executableTarget(
            name: "outbox-writer", dependencies: ["SettingsClientCompatibility"], path: "Tests/OutboxWriter",
            swiftSettings: commonSettings),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "SettingsClient", "SettingsClientCompatibility", "SettingsClientTesting", "SettingsKeys",
                "SettingsModel",
                "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsCluster", "SettingsEngine",
                "SettingsModel", "SettingsServer", "SettingsStorage", "SettingsWeb", "TestSupport",
            ],
            exclude: ["Fixtures"], swiftSettings: commonSettings),
        .testTarget(name: "HTTPWireTests", dependencies: ["HTTPWire", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(
            name: "MainActorAppTests", dependencies: ["SettingsClient", "SettingsClientTesting", "TestSupport"],
            swiftSettings: commonSettings + [.defaultIsolation(MainActor.self)]),
        .testTarget(
            name: "SettingsClientTests",
            dependencies: [
                "ClientTestSupport", "ExportingKit", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI",
                "SettingsClient", "SettingsClientCompatibility", "SettingsClientTesting", "SettingsHTTP",
                "SettingsKeys",
                "SettingsModel", "SettingsServer", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SettingsHTTPTests",
            dependencies: [
                "ClientTestSupport", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsEngine",
                "SettingsHTTP", "SettingsModel", "SettingsServer", "SettingsStorage", "SettingsWeb", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SettingsEngineTests",
            dependencies: ["SettingsAPI", "SettingsEngine", "SettingsModel", "TestSupport"],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SettingsServerTests",
            dependencies: [
                "CLinux", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsCluster", "SettingsEngine",
                "SettingsModel", "SettingsServer", "SettingsStorage", "SettingsWeb", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SettingsAPITests", dependencies: ["SettingsAPI", "SettingsModel"], swiftSettings: commonSettings),
        .testTarget(
            name: "SettingsKeysTests", dependencies: ["SettingsKeys", "SettingsModel", "TestSupport"],
            swiftSettings: commonSettings),
        // These tests run the built programs `settings` and `settingsd`.
        .testTarget(
            name: "SettingsToolTests",
            dependencies: [
                "ClientTestSupport", "Platform", "SettingsClient", "SettingsClientTesting", "SettingsModel",
                "TestSupport",
                "settings",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SettingsModelTests", dependencies: ["SettingsModel", "TestSupport"], swiftSettings: commonSettings),
    ],
    swiftLanguageModes: [.v6]
)
