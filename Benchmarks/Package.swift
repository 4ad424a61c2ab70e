// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "swift-app-store-receipt", path: "..")],
    targets: [
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CBaselines", dependencies: ["CLibcrypto"]),
        .target(name: "CGauges"),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "CBaselines", "CGauges", "TypicalReceipts",
                .product(name: "AppStoreReceipt", package: "swift-app-store-receipt"),
                .product(name: "AppStoreReceiptTesting", package: "swift-app-store-receipt"),
            ],
            swiftSettings: settings),
        .target(
            name: "TypicalReceipts",
            dependencies: [
                .product(name: "AppStoreReceipt", package: "swift-app-store-receipt"),
                .product(name: "AppStoreReceiptTesting", package: "swift-app-store-receipt"),
                .product(name: "_SeededRandom", package: "swift-app-store-receipt"),
            ],
            swiftSettings: settings),
        // Apart, since CGauges replaces `malloc`.
        .executableTarget(
            name: "batch-rate",
            dependencies: [
                "TypicalReceipts",
                .product(name: "AppStoreReceipt", package: "swift-app-store-receipt"),
                .product(name: "AppStoreReceiptTesting", package: "swift-app-store-receipt"),
            ],
            swiftSettings: settings),
    ]
)
