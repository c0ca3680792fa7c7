// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "music-player",
    dependencies: [
        // In your own package, write .package(url: …) with the address of the repository of settingsd.
        .package(name: "settingsd", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "music-player", dependencies: [.product(name: "SettingsClient", package: "settingsd")],
            path: "Sources")
    ],
    swiftLanguageModes: [.v6]
)
