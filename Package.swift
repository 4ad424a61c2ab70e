// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// `.ci/run` has the code under test optimized where running it takes longer than compiling it: a module at a time, as
/// in release mode, on two threads. Tests are not optimized: they crash the optimizer of Swift 6.3.1.
let optimization: [SwiftSetting] =
    Context.environment["RECEIPT_OPTIMIZED"] == "1"
    ? [.unsafeFlags(["-O", "-wmo", "-num-threads", "2", "-assert-config", "Debug"], .when(configuration: .debug))] : []

/// A library target under `Sources/`, with the settings all of them share.
///
/// - Parameter runsLong: Whether its tests run so long that `.ci/run` optimizes it. The other targets are not optimized
///   for fuzzing either.
func target(_ name: String, _ dependencies: [Target.Dependency], runsLong: Bool = true) -> Target {
    let flags = runsLong ? optimization : isFuzzing ? [.unsafeFlags(["-Onone"])] : []
    return .target(name: name, dependencies: dependencies, swiftSettings: settings + flags)
}

/// The tests of the target `name`, which mirror its sources.
func tests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: [.init(stringLiteral: name), "Sampling", "TestSupport"] + dependencies,
        swiftSettings: settings)
}

/// Whether the fuzz targets are built for libFuzzer (`scripts/fuzz` asks for it) or, as usual, to replay files.
let isFuzzing = Context.environment["RECEIPT_FUZZ"] != nil

/// A fuzz target, or what all of them share.
func fuzz(_ name: String, _ dependencies: [Target.Dependency], isExecutable: Bool = true) -> Target {
    let settings = settings + [.enableExperimentalFeature("Extern")] + (isFuzzing ? [.define("FUZZ")] : [])
    let path = "Sources/Fuzz/" + name.dropFirst("Fuzz".count)
    return isExecutable
        ? .executableTarget(
            name: name, dependencies: ["FuzzSupport"] + dependencies, path: path, swiftSettings: settings)
        : .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

let package = Package(
    name: "swift-app-store-receipt",
    // The first whose standard library has `InlineArray` and `UTF8Span`.
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "AppStoreReceipt", targets: ["AppStoreReceipt"]),
        .library(name: "AppStoreReceiptFoundation", targets: ["AppStoreReceiptFoundation"]),
        .library(name: "AppStoreReceiptTesting", targets: ["AppStoreReceiptTesting"]),
        .library(name: "AppStoreReceiptTestingFoundation", targets: ["AppStoreReceiptTestingFoundation"]),
        .library(name: "AppStoreSigning", targets: ["AppStoreSigning"]),
        .library(name: "AppStoreSigningFoundation", targets: ["AppStoreSigningFoundation"]),
        .library(name: "CMSTrust", targets: ["CMSTrust"]),
        .library(name: "CMSTrustFoundation", targets: ["CMSTrustFoundation"]),
        .executable(name: "receipt", targets: ["receipt"]),
        // Lent to the packages beside this one, and no API: see Sources/MODULES.md.
        .library(name: "_Instants", targets: ["Instants"]),
        .library(name: "_SpanPKCS7", targets: ["SpanPKCS7"]),
        .library(name: "_LargeMemory", targets: ["LargeMemory"]),
        .library(name: "_StrictText", targets: ["StrictText"]),
        .library(name: "_LibcryptoHandles", targets: ["LibcryptoHandles"]),
        .library(name: "_SeededRandom", targets: ["SeededRandom"]),
        .library(name: "_Sampling", targets: ["Sampling"]),
        .library(name: "_ReceiptReport", targets: ["ReceiptReport"]),
        .library(name: "_FuzzSupport", targets: ["FuzzSupport"]),
    ],
    targets: [
        .systemLibrary(
            name: "CLibcryptoShims", pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        // Memory of large inputs and outputs: what the kernel is asked for it.
        target("LargeMemory", []),
        // Dates, so that who says *now* imports no parser.
        target("Instants", []),
        target("SpanASN1", ["Instants", "LargeMemory"]),
        target("SpanPKCS7", ["Instants", "SpanASN1"]),
        // Base64 with instructions that the compiler may not use without asking the processor.
        .target(name: "CBase64"),
        target("StrictText", ["CBase64", "Instants", "LargeMemory", "SpanASN1"]),
        target("LibcryptoHandles", ["CLibcryptoShims"]),
        target("SeededRandom", []),
        target("SignatureTrust", ["Instants", "SpanPKCS7", "LibcryptoHandles"]),
        target("CMSTrust", ["Instants", "SpanASN1", "SpanPKCS7", "StrictText", "LibcryptoHandles", "SignatureTrust"]),
        target(
            "AppStoreReceipt",
            [
                "Instants", "LargeMemory", "SpanASN1", "SpanPKCS7", "StrictText", "SignatureTrust", "LibcryptoHandles",
            ]),
        // Apart, since whatever imports Foundation makes every program that links it load Foundation.
        target("AppStoreReceiptFoundation", ["AppStoreReceipt"], runsLong: false),
        target("AppStoreReceiptTestingFoundation", ["AppStoreReceiptTesting"], runsLong: false),
        target("AppStoreSigningFoundation", ["AppStoreSigning"], runsLong: false),
        target("CMSTrustFoundation", ["CMSTrust"], runsLong: false),
        // What a developer's server signs. Apart, so that who verifies has nothing of it.
        target("AppStoreSigning", ["Instants", "SpanASN1", "SpanPKCS7", "StrictText", "LibcryptoHandles"]),
        target(
            "AppStoreReceiptTesting",
            [
                "Instants", "SpanASN1", "SpanPKCS7", "StrictText", "SignatureTrust", "AppStoreReceipt",
                "LibcryptoHandles", "SeededRandom",
            ]),
        target(
            "ReceiptReport", ["Instants", "SpanASN1", "SpanPKCS7", "StrictText", "SignatureTrust", "AppStoreReceipt"],
            runsLong: false),
        .executableTarget(
            name: "receipt",
            dependencies: [
                "AppStoreReceipt", "AppStoreReceiptTesting", "AppStoreSigning", "SignatureTrust", "CMSTrust",
                "Instants", "SpanASN1", "SpanPKCS7", "StrictText", "ReceiptReport",
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "generate-vectors",
            dependencies: [
                "Instants", "SpanASN1", "SpanPKCS7", "StrictText", "SignatureTrust", "CMSTrust", "LibcryptoHandles",
                "AppStoreReceipt", "AppStoreReceiptTesting",
            ], path: "TestVectors/Generator", swiftSettings: settings),
        .executableTarget(
            name: "generate-bindings", dependencies: ["AppStoreReceipt", "AppStoreSigning"], path: "Bindings/Generator",
            swiftSettings: settings),
        .executableTarget(
            name: "growth-table",
            dependencies: [
                "SpanASN1", "SpanPKCS7", "StrictText", "SignatureTrust", "CMSTrust", "AppStoreReceipt",
                "AppStoreReceiptTesting", "FuzzSupport",
            ],
            path: "Sources/GrowthTable", swiftSettings: settings),
        fuzz(
            "FuzzSupport",
            [
                "SpanASN1", "SpanPKCS7", "StrictText", "LibcryptoHandles", "SignatureTrust", "SeededRandom",
                "AppStoreReceipt", "AppStoreReceiptTesting",
            ], isExecutable: false),
        fuzz("FuzzASN1", ["SpanASN1"]),
        fuzz("FuzzPKCS7", ["SpanASN1", "SpanPKCS7"]),
        fuzz("FuzzRequest", ["AppStoreReceipt", "AppStoreReceiptTesting", "StrictText"]),
        fuzz("FuzzReceipt", ["AppStoreReceipt", "AppStoreReceiptTesting", "SignatureTrust", "StrictText"]),
        fuzz("FuzzJWS", ["AppStoreReceipt", "AppStoreReceiptTesting", "SignatureTrust", "StrictText"]),
        fuzz("FuzzTransactionReceipt", ["SpanASN1", "AppStoreReceipt", "AppStoreReceiptTesting", "StrictText"]),
        fuzz("FuzzReport", ["AppStoreReceipt", "AppStoreReceiptTesting", "ReceiptReport", "StrictText"]),
        .target(name: "CLibcryptoOracle", dependencies: ["CLibcryptoShims"], path: "Sources/Fuzz/Oracle"),
        fuzz(
            "FuzzDifferential",
            [
                "SpanASN1", "SpanPKCS7", "SignatureTrust", "CMSTrust", "AppStoreReceipt", "AppStoreReceiptTesting",
                "CLibcryptoOracle",
            ]),
        .target(name: "Sampling", path: "Tests/Sampling", swiftSettings: settings),
        .target(
            name: "TestSupport",
            dependencies: ["SpanASN1", "SpanPKCS7", "SignatureTrust", "AppStoreReceipt", "AppStoreReceiptTesting"],
            path: "Tests/TestSupport", swiftSettings: settings),
        // HardeningTests run it as a process of its own.
        .target(name: "CFork", path: "Tests/CFork"),
        .executableTarget(
            name: "fork-trial",
            dependencies: ["AppStoreReceipt", "AppStoreReceiptTesting", "LibcryptoHandles", "TestSupport", "CFork"],
            path: "Tests/ForkTrial", swiftSettings: settings),
        // What we sign and verify, beside Apple's library.
        .executableTarget(
            name: "signing-trial", dependencies: ["AppStoreSigning", "LibcryptoHandles", "SpanPKCS7"],
            path: "Tests/SigningTrial",
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]),
        .target(name: "CFailingAllocator", dependencies: ["CLibcryptoShims"], path: "Tests/CFailingAllocator"),
        .executableTarget(
            name: "out-of-memory-trial",
            dependencies: [
                "AppStoreReceipt", "AppStoreReceiptTesting", "CMSTrust", "SignatureTrust", "SpanASN1", "TestSupport",
                "CFork", "CFailingAllocator",
            ],
            path: "Tests/OutOfMemoryTrial", swiftSettings: settings),
        tests(of: "Instants", ["AppStoreReceiptTesting"]),
        tests(of: "SpanASN1", ["AppStoreReceiptTesting"]),
        tests(of: "SpanPKCS7"),
        tests(of: "StrictText", ["AppStoreReceiptTesting"]),
        tests(of: "LibcryptoHandles", ["CLibcryptoShims", "AppStoreReceiptTesting"]),
        tests(of: "SignatureTrust", ["AppStoreReceiptTesting"]),
        tests(of: "CMSTrust", ["AppStoreReceiptTesting", "SignatureTrust", "StrictText"]),
        tests(of: "AppStoreReceipt", ["AppStoreReceiptTesting", "StrictText"]),
        tests(
            of: "AppStoreReceiptFoundation",
            [
                "AppStoreReceiptTesting", "AppStoreReceiptTestingFoundation", "AppStoreSigning",
                "AppStoreSigningFoundation", "CMSTrust", "CMSTrustFoundation",
            ]),
        // They search the memory of the process, so strict memory safety would mark every line.
        .testTarget(
            name: "AppStoreSigningTests", dependencies: ["AppStoreSigning", "SpanPKCS7", "LibcryptoHandles"],
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]),
        tests(of: "AppStoreReceiptTesting", ["generate-vectors", "StrictText"]),
        tests(
            of: "ReceiptReport",
            ["AppStoreReceipt", "AppStoreReceiptTesting", "SeededRandom", "SignatureTrust", "SpanASN1", "StrictText"]),
        .testTarget(
            name: "CompilationTests", dependencies: ["AppStoreReceipt", "AppStoreSigning", "CMSTrust"],
            exclude: ["Snippets"],
            swiftSettings: settings),
        .testTarget(
            name: "HardeningTests",
            dependencies: [
                "SpanASN1", "SpanPKCS7", "StrictText", "SignatureTrust", "CMSTrust", "AppStoreReceipt",
                "AppStoreReceiptFoundation", "AppStoreReceiptTesting", "FuzzSupport", "Sampling", "TestSupport",
                "fork-trial",
                "out-of-memory-trial",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ReceiptCommandTests",
            dependencies: [
                "receipt", "AppStoreReceipt", "AppStoreReceiptTesting", "Sampling", "SignatureTrust", "SpanASN1",
                "StrictText", "TestSupport",
            ],
            swiftSettings: settings),
    ]
)

/// The test targets to build, if not all: `scripts/test MODULE` names those of the module. `TARGET/FILE` is one file of
/// a target: `scripts/build thread` builds the tests of threads alone.
if let names = Context.environment["RECEIPT_TEST_TARGETS"]?.split(separator: ",") {
    var files: [Substring: [String]] = [:]
    for name in names {
        let parts = name.split(separator: "/", maxSplits: 1)
        files[parts[0], default: []] += parts.dropFirst().map(String.init)
    }
    package.targets.removeAll { $0.type == .test && files[$0.name[...]] == nil }
    for target in package.targets where target.type == .test {
        if let sources = files[target.name[...]], !sources.isEmpty { target.sources = sources }
    }
}
