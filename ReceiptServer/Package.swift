// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Tests and their tools talk to sockets: strict memory safety would mark every line of them.
let toolSettings: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault")]

/// A product of the library beside this package.
func library(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-app-store-receipt") }

/// What the library lends to the packages beside it: memory of large bodies, dates, texts from outside, libcrypto, and
/// random numbers from a seed.
let largeMemory = library("_LargeMemory")
let instants = library("_Instants")
let strictText = library("_StrictText")
let libcryptoHandles = library("_LibcryptoHandles")
/// What signs the tokens for the App Store Server API.
let signing = library("AppStoreSigning")
let seededRandom = library("_SeededRandom")
/// How much of its work a long test does.
let sampling = library("_Sampling")

/// `.ci/run` has the code under test optimized where running it takes longer than compiling it: a module at a time, as
/// in release mode, on two threads. Tests are not optimized: they crash the optimizer of Swift 6.3.1.
let optimization: [SwiftSetting] =
    Context.environment["RECEIPT_OPTIMIZED"] == "1"
    ? [.unsafeFlags(["-O", "-wmo", "-num-threads", "2", "-assert-config", "Debug"], .when(configuration: .debug))] : []

/// A library target.
///
/// - Parameter runsLong: Whether its tests run so long that `.ci/run` optimizes it.
func target(_ name: String, _ dependencies: [Target.Dependency], runsLong: Bool = false) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings + (runsLong ? optimization : []))
}

/// The tests of the target `name`.
func tests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: [.init(stringLiteral: name)] + dependencies, swiftSettings: settings)
}

/// Whether the fuzz targets are built for libFuzzer (`scripts/fuzz` asks for it) or, as usual, to replay files.
let isFuzzing = Context.environment["RECEIPT_FUZZ"] != nil

/// A fuzz target.
func fuzz(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["ServerFuzzSupport", library("_FuzzSupport"), library("AppStoreReceipt")]
            + [library("AppStoreReceiptTesting")] + dependencies,
        path: "Tests/Fuzz/" + name.dropFirst("Fuzz".count),
        swiftSettings: settings + (isFuzzing ? [.define("FUZZ")] : []))
}

let package = Package(
    name: "swift-app-store-receipt-server",
    platforms: [.macOS(.v26)],
    products: [
        .executable(name: "receipt-server", targets: ["receipt-server"]),
        .library(name: "PurchaseLedger", targets: ["PurchaseLedger"]),
        .library(name: "AppStoreServerAPI", targets: ["AppStoreServerAPI"]),
        .library(name: "AppStoreServerTesting", targets: ["AppStoreServerTesting"]),
        .executable(name: "fake-app-store", targets: ["fake-app-store"]),
    ],
    // What a program of yours links for the ledger, if it does not need all of it: `traits: []` leaves SQLite alone.
    traits: [
        .default(enabledTraits: ["PostgreSQL", "Webhook"]),
        .trait(name: "PostgreSQL", description: "Ledgers in PostgreSQL, with libpq."),
        .trait(name: "Webhook", description: "Delivers events to a webhook, with libcurl."),
    ],
    dependencies: [.package(name: "swift-app-store-receipt", path: "..")],
    targets: [
        .systemLibrary(
            name: "CMicrohttpd", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
        // A thread, and a lock with a condition.
        target("ServerThreads", [], runsLong: true),
        // Routes, limits, time limits, metrics, the log and the daemon. It does not know what a receipt is.
        target(
            "HTTPService", ["CMicrohttpd", largeMemory, instants, strictText, "ServerThreads"], runsLong: true),
        // What the library answers, as routes; and the configuration.
        target(
            "ReceiptService", ["HTTPService", "LedgerService", "SupportDesk", strictText, library("AppStoreReceipt")]),
        // A page for staff on a listener of its own: the report, and what the ledger knows.
        target(
            "SupportDesk",
            [
                "HTTPService", "LedgerService", "PurchaseLedger", "Reconciliation", "AppStoreServerAPI", strictText,
                libcryptoHandles, library("AppStoreReceipt"), library("_ReceiptReport"), instants,
            ]),
        // The ledger as routes, with its tokens and its options.
        target(
            "LedgerService",
            [
                "HTTPService", "PurchaseLedger", "AppStoreServerAPI", "Reconciliation", strictText, libcryptoHandles,
                "ServerThreads", signing, library("AppStoreReceipt"), library("_ReceiptReport"), instants,
            ]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .systemLibrary(
            name: "CLibcurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        // What is decided about purchases: a pure function of what is known. It does not know what a database is.
        target("LedgerCore", [strictText, library("AppStoreReceipt")], runsLong: true),
        // Accounts and the purchases they were granted, in SQLite or PostgreSQL. It does not know what HTTP is.
        target(
            "PurchaseLedger",
            [
                "LedgerCore", "CSQLite", .target(name: "CLibpq", condition: .when(traits: ["PostgreSQL"])),
                .target(name: "CLibcurl", condition: .when(traits: ["Webhook"])), "CZlib", instants, strictText,
                libcryptoHandles, "ServerThreads", library("AppStoreReceipt"),
            ], runsLong: true),
        // Asks Apple's App Store Server API.
        target(
            "AppStoreServerAPI",
            ["CLibcurl", strictText, signing, "ServerThreads", library("AppStoreReceipt")]),
        // Asks the App Store what the ledger wants to know, and records what it answers. It does not know what a
        // service is.
        target(
            "Reconciliation",
            ["PurchaseLedger", "AppStoreServerAPI", instants, strictText, "ServerThreads", library("AppStoreReceipt")]),
        // An App Store to ask in tests.
        target(
            "AppStoreServerTesting",
            [
                "AppStoreServerAPI", strictText, libcryptoHandles, signing, seededRandom, "ServerThreads",
                library("AppStoreReceipt"), library("AppStoreReceiptTesting"), library("_SpanPKCS7"),
            ], runsLong: true),
        .executableTarget(
            name: "fake-app-store",
            dependencies: ["AppStoreServerTesting", library("AppStoreReceipt"), library("AppStoreReceiptTesting")],
            swiftSettings: settings),
        .executableTarget(
            name: "receipt-server", dependencies: ["HTTPService", "ReceiptService"], swiftSettings: settings),
        // A client that sends what no client should, a load, and evidence to send.
        .target(
            name: "TrialSupport", dependencies: [library("AppStoreReceipt"), library("AppStoreReceiptTesting")],
            path: "Tests/TrialSupport", swiftSettings: toolSettings),
        .executableTarget(
            name: "server-trial",
            dependencies: [
                "TrialSupport", "LedgerTestSupport", "PurchaseLedger", "Reconciliation", "AppStoreServerAPI",
                "AppStoreServerTesting", "CSQLite", "CLibpq", "receipt-server", signing, library("AppStoreReceipt"),
                library("AppStoreReceiptTesting"),
            ],
            path: "Tests/Trial", exclude: ["slow-sync.c"], swiftSettings: toolSettings),
        // Our client, beside which Apple's is asked.
        .executableTarget(
            name: "client-trial", dependencies: ["AppStoreServerAPI", signing, library("AppStoreReceipt")],
            path: "Tests/ClientTrial", swiftSettings: toolSettings),
        .target(name: "CChildProcess", path: "Tests/CChildProcess"),
        // What SQLite asks of the operating system, shown to a test.
        .target(name: "CWatchedVFS", dependencies: ["CSQLite"], path: "Tests/CWatchedVFS"),
        // A webhook's receiver, a disk that loses its power, and a PostgreSQL server of the tests' own.
        .target(
            name: "LedgerTestSupport", dependencies: ["CChildProcess", "CWatchedVFS"], path: "Tests/LedgerTestSupport",
            swiftSettings: toolSettings),
        // What test authorities sign, random purchases, and a simple model of what the ledger decides about them.
        .target(
            name: "LedgerModels",
            dependencies: [
                "LedgerCore", seededRandom, library("AppStoreReceipt"), library("AppStoreReceiptTesting"),
            ],
            path: "Tests/LedgerModels", swiftSettings: settings + optimization),
        .target(name: "ServerFuzzSupport", path: "Tests/Fuzz/Support", swiftSettings: settings),
        fuzz("FuzzAnswers", ["AppStoreServerAPI", "AppStoreServerTesting", "LedgerTestSupport", strictText]),
        fuzz("FuzzLedger", ["PurchaseLedger"]),
        fuzz(
            "FuzzRoutes",
            [
                "HTTPService", "LedgerService", "ReceiptService", "SupportDesk", "PurchaseLedger", strictText,
                library("_ReceiptReport"),
            ]),
        // Without a database.
        tests(
            of: "LedgerCore",
            ["LedgerModels", strictText, sampling, seededRandom, library("AppStoreReceiptTesting")]),
        tests(
            of: "PurchaseLedger",
            [
                "LedgerCore", "LedgerModels", "Reconciliation", "AppStoreServerAPI", "AppStoreServerTesting",
                "LedgerTestSupport", "TrialSupport", strictText, libcryptoHandles, sampling, seededRandom,
                library("AppStoreReceiptTesting"),
            ]),
        .testTarget(
            name: "AppStoreServerTests",
            dependencies: [
                "AppStoreServerAPI", "AppStoreServerTesting", strictText, signing, sampling, seededRandom,
                "LedgerTestSupport",
                "fake-app-store",
                library("AppStoreReceipt"), library("AppStoreReceiptTesting"),
            ],
            exclude: [
                "compare-with-apple.py", "compare-clients.py", "compare-requests.py", "compare-with-apple",
                "refusals.tsv",
            ],
            swiftSettings: toolSettings),
        .testTarget(
            name: "ReconciliationTests",
            dependencies: [
                "Reconciliation", "PurchaseLedger", "AppStoreServerAPI", "AppStoreServerTesting", "LedgerTestSupport",
                strictText, sampling, seededRandom, library("AppStoreReceipt"), library("AppStoreReceiptTesting"),
            ], swiftSettings: toolSettings),
        tests(of: "HTTPService", [strictText, "TrialSupport"]),
        .testTarget(
            name: "SupportDeskTests",
            dependencies: [
                "SupportDesk", "HTTPService", "LedgerService", "PurchaseLedger", "Reconciliation", "AppStoreServerAPI",
                "AppStoreServerTesting", "TrialSupport", "LedgerTestSupport", "receipt-server", strictText,
                library("_ReceiptReport"), library("AppStoreReceipt"),
                library("AppStoreReceiptTesting"),
            ], swiftSettings: toolSettings),
        .testTarget(
            name: "LedgerServiceTests",
            dependencies: [
                "LedgerService", "HTTPService", "PurchaseLedger", "Reconciliation", "AppStoreServerAPI", signing,
                "AppStoreServerTesting", "TrialSupport", "LedgerTestSupport", "receipt-server", "server-trial",
                "CSQLite", sampling,
            ], swiftSettings: toolSettings),
        .testTarget(
            name: "EndToEndTests", dependencies: ["TrialSupport", "receipt-server", library("AppStoreReceiptTesting")],
            swiftSettings: toolSettings),
        tests(
            of: "ReceiptService",
            ["HTTPService", "LedgerService", strictText, "TrialSupport", library("AppStoreReceiptTesting")]),
    ]
)

/// The test targets to build, if not all: `scripts/test MODULE` names those of the module.
if let names = Context.environment["RECEIPT_TEST_TARGETS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
