// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "music-player",
    dependencies: [
        // In a package of your own, where settingsd is: .package(url: …)
        .package(name: "settingsd", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "music-player", dependencies: [.product(name: "SettingsClient", package: "settingsd")],
            path: "Sources")
    ],
    swiftLanguageModes: [.v6]
)
