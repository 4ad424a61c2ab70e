// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "example-backend",
    platforms: [.macOS(.v26)],
    dependencies: [
        .package(name: "swift-app-store-receipt", path: "../../.."),
        // Without traits, the ledger is in SQLite, and the program loads neither libpq nor libcurl.
        .package(path: "../..", traits: []),
    ],
    targets: [
        .systemLibrary(name: "CShopSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "Backend",
            dependencies: [
                "CShopSQLite", .product(name: "AppStoreReceipt", package: "swift-app-store-receipt"),
                .product(name: "PurchaseLedger", package: "ReceiptServer"),
            ]),
    ])
