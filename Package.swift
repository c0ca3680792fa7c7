// swift-tools-version: 6.2
import PackageDescription

/// Every target is built the same way: Swift 6 language mode, strict imports, and no warning let through.
let houseRules: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// Programs have the runtime in them: a write takes the daemon a sixth less processor time, and they run without Swift.
/// Packed relocations save half a megabyte of memory; with the others bound at the start, their table is read-only.
let smallProgram = [
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
        .target(name: "SettingsModel", swiftSettings: houseRules),
        .target(name: "SettingsKeys", dependencies: ["SettingsModel"], swiftSettings: houseRules),
        .target(name: "SettingsAPI", dependencies: ["SettingsModel"], swiftSettings: houseRules),
        .target(name: "CLinux"),
        .target(name: "COpenSSL"),
        .target(name: "COpenAPI", exclude: ["openapi.json"]),
        .target(name: "CPage", exclude: ["page"]),
        .target(name: "HTTPWire", swiftSettings: houseRules),
        .target(name: "Platform", dependencies: ["CLinux"], swiftSettings: houseRules),
        .target(name: "SettingsEngine", dependencies: ["SettingsAPI", "SettingsModel"], swiftSettings: houseRules),
        .target(name: "HTTPServer", dependencies: ["HTTPWire", "Platform"], swiftSettings: houseRules),
        .target(
            name: "SettingsStorage",
            dependencies: ["Platform", "SettingsAPI", "SettingsEngine", "SettingsModel"],
            swiftSettings: houseRules),
        .target(
            name: "SettingsCluster",
            dependencies: [
                "HTTPWire", "Platform", "SettingsAPI", "SettingsEngine", "SettingsModel", "SettingsStorage",
            ],
            swiftSettings: houseRules),
        .target(
            name: "SettingsWeb",
            dependencies: [
                "COpenAPI", "CPage", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsEngine",
                "SettingsModel", "SettingsStorage",
            ],
            swiftSettings: houseRules),
        .target(
            name: "SettingsServer",
            dependencies: [
                "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsCluster", "SettingsEngine",
                "SettingsModel", "SettingsStorage", "SettingsWeb",
            ],
            swiftSettings: houseRules),
        .target(
            name: "SettingsHTTP", dependencies: ["COpenSSL", "HTTPWire", "Platform", "SettingsAPI", "SettingsModel"],
            swiftSettings: houseRules),
        .target(
            name: "SettingsClient",
            dependencies: [
                "Platform", "SettingsAPI", "SettingsEngine", "SettingsHTTP", "SettingsKeys", "SettingsModel",
            ],
            swiftSettings: houseRules),
        .target(
            name: "SettingsClientCompatibility", dependencies: ["SettingsAPI", "SettingsClient", "SettingsKeys"],
            swiftSettings: houseRules),
        .target(
            name: "SettingsClientTesting",
            dependencies: ["SettingsAPI", "SettingsClient", "SettingsHTTP", "SettingsKeys"],
            swiftSettings: houseRules),
        .executableTarget(
            name: "settings", dependencies: ["Platform", "SettingsAPI", "SettingsHTTP", "SettingsModel"],
            swiftSettings: houseRules,
            linkerSettings: [.unsafeFlags(smallProgram, .when(configuration: .release))]),
        .executableTarget(
            name: "settingsd", dependencies: ["SettingsServer"], swiftSettings: houseRules,
            linkerSettings: [.unsafeFlags(smallProgram, .when(configuration: .release))]),
        .executableTarget(
            name: "json-benchmark", dependencies: ["SettingsModel"], path: "Tools/JSONBenchmark",
            swiftSettings: houseRules),
        .executableTarget(
            name: "schema-conformance", dependencies: ["SettingsModel"], path: "Tools/SchemaConformance",
            swiftSettings: houseRules),
        .executableTarget(
            name: "watch-load", dependencies: ["CLinux"], path: "Tools/WatchLoad", swiftSettings: houseRules),
        .target(
            name: "ClientCostKeys", dependencies: ["SettingsClient"], path: "Tools/ClientCostKeys",
            swiftSettings: houseRules),
        .executableTarget(
            name: "client-cost",
            dependencies: ["ClientCostKeys", "SettingsClient", "SettingsClientTesting", "SettingsHTTP"],
            path: "Tools/ClientCost",
            swiftSettings: houseRules),
        // Built as a package of somebody else would be, except that warnings are errors; it has its own Package.swift, too.
        .executableTarget(
            name: "music-player", dependencies: ["SettingsClient"], path: "Examples/MusicPlayer/Sources",
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "settings-worker", dependencies: ["SettingsClient"], path: "Tests/SettingsWorker",
            swiftSettings: houseRules),
        .target(
            name: "TestSupport",
            dependencies: [
                "HTTPServer", "SettingsAPI", "SettingsCluster", "SettingsModel", "SettingsServer", "SettingsStorage",
            ],
            path: "Tests/TestSupport",
            swiftSettings: houseRules),
        .target(
            name: "ClientTestSupport",
            dependencies: [
                "HTTPServer", "SettingsEngine", "SettingsHTTP", "SettingsModel", "SettingsServer", "SettingsStorage",
                "SettingsWeb", "TestSupport",
            ],
            path: "Tests/ClientTestSupport", swiftSettings: houseRules),
        .target(
            name: "ExportingKit", dependencies: ["SettingsClient", "SettingsClientTesting"], path: "Tests/ExportingKit",
            swiftSettings: houseRules),
        .executableTarget(
            name: "outbox-writer", dependencies: ["SettingsClientCompatibility"], path: "Tests/OutboxWriter",
            swiftSettings: houseRules),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "SettingsClient", "SettingsClientCompatibility", "SettingsClientTesting", "SettingsKeys",
                "SettingsModel",
                "TestSupport",
            ],
            swiftSettings: houseRules),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsCluster", "SettingsEngine",
                "SettingsModel", "SettingsServer", "SettingsStorage", "SettingsWeb", "TestSupport",
            ],
            exclude: ["Fixtures"], swiftSettings: houseRules),
        .testTarget(name: "HTTPWireTests", dependencies: ["HTTPWire", "TestSupport"], swiftSettings: houseRules),
        .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"], swiftSettings: houseRules),
        .testTarget(
            name: "MainActorAppTests", dependencies: ["SettingsClient", "SettingsClientTesting", "TestSupport"],
            swiftSettings: houseRules + [.defaultIsolation(MainActor.self)]),
        .testTarget(
            name: "SettingsClientTests",
            dependencies: [
                "ClientTestSupport", "ExportingKit", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI",
                "SettingsClient", "SettingsClientCompatibility", "SettingsClientTesting", "SettingsHTTP",
                "SettingsKeys",
                "SettingsModel", "SettingsServer", "TestSupport",
            ],
            swiftSettings: houseRules),
        .testTarget(
            name: "SettingsHTTPTests",
            dependencies: [
                "ClientTestSupport", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsEngine",
                "SettingsHTTP", "SettingsModel", "SettingsServer", "SettingsStorage", "SettingsWeb", "TestSupport",
            ],
            swiftSettings: houseRules),
        .testTarget(
            name: "SettingsEngineTests",
            dependencies: ["SettingsAPI", "SettingsEngine", "SettingsModel", "TestSupport"],
            swiftSettings: houseRules),
        .testTarget(
            name: "SettingsServerTests",
            dependencies: [
                "CLinux", "HTTPServer", "HTTPWire", "Platform", "SettingsAPI", "SettingsCluster", "SettingsEngine",
                "SettingsModel", "SettingsServer", "SettingsStorage", "SettingsWeb", "TestSupport",
            ],
            swiftSettings: houseRules),
        .testTarget(
            name: "SettingsAPITests", dependencies: ["SettingsAPI", "SettingsModel"], swiftSettings: houseRules),
        .testTarget(
            name: "SettingsKeysTests", dependencies: ["SettingsKeys", "SettingsModel", "TestSupport"],
            swiftSettings: houseRules),
        // They run the built programs `settings` and `settingsd`.
        .testTarget(
            name: "SettingsToolTests",
            dependencies: [
                "ClientTestSupport", "Platform", "SettingsClient", "SettingsClientTesting", "SettingsModel",
                "TestSupport",
                "settings",
            ],
            swiftSettings: houseRules),
        .testTarget(
            name: "SettingsModelTests", dependencies: ["SettingsModel", "TestSupport"], swiftSettings: houseRules),
    ],
    swiftLanguageModes: [.v6]
)
