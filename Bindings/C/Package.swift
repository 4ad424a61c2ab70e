// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// The folder with static libraries, if the library is to contain the Swift runtime and libcrypto. `Bindings/C/build`
/// makes it.
let staticLibraries = Context.environment["ASR_STATIC_LIBRARIES"]

/// Whether the static libraries contain libcrypto.
let hasOwnLibcrypto = Context.environment["ASR_OWN_LIBCRYPTO"] != nil

/// Whether the system finds the Swift runtime, and the library has no path to this machine's toolchain.
let usesSystemRuntime = Context.environment["ASR_SYSTEM_RUNTIME"] != nil

/// The functions of AddressSanitizer are in the program, and not in a library.
let isSanitized = Context.environment["ASR_SANITIZED"] != nil

/// Whether the fuzz target is built (`scripts/fuzz` asks for it), which contains the library; and for libFuzzer, or to
/// replay files.
let hasFuzzTarget = Context.environment["RECEIPT_FUZZ_C"] != nil
let isFuzzing = Context.environment["RECEIPT_FUZZ"] != nil

let runtimeFlags: [String] =
    (staticLibraries.map { ["-static-stdlib", "-L", $0] } ?? [])
    + (usesSystemRuntime ? ["-no-toolchain-stdlib-rpath"] : [])

let exportFlags: [String] =
    ([
        "--as-needed", "--version-script=\(Context.packageDirectory)/exports.map", "-soname=libappstorereceipt.so.2",
        "-z", "nodelete", "-z", "now",
    ] + (isSanitized ? [] : ["-z", "defs"])).flatMap { ["-Xlinker", $0] }

/// SwiftPM has no settings for these: the soname, the exported symbols, and, where it is asked for, a static Swift
/// runtime in a shared library. Only lld hides the symbols of the static runtime. The Swift runtime cannot be unloaded.
let linkerFlags: [String] = hasFuzzTarget ? [] : runtimeFlags + ["-use-ld=lld"] + exportFlags

let package = Package(
    name: "appstorereceipt",
    platforms: [.macOS(.v26)],
    products: [.library(name: "appstorereceipt", type: .dynamic, targets: ["AppStoreReceiptC"])],
    dependencies: [.package(name: "swift-app-store-receipt", path: "../..")],
    targets: [
        .systemLibrary(name: "CAppStoreReceipt", path: "include"),
        // The parts in C: fork(), the loading of libcrypto, and options with types of C.
        .target(
            name: "CProcess",
            cSettings: [.headerSearchPath("../../include")] + (hasOwnLibcrypto ? [.define("ASR_OWN_LIBCRYPTO")] : [])),
        .target(
            name: "AppStoreReceiptC",
            dependencies: [
                "CAppStoreReceipt", "CProcess", .product(name: "AppStoreReceipt", package: "swift-app-store-receipt"),
                .product(name: "AppStoreSigning", package: "swift-app-store-receipt"),
                .product(name: "_LargeMemory", package: "swift-app-store-receipt"),
            ],
            swiftSettings: settings, linkerSettings: [.unsafeFlags(linkerFlags, .when(platforms: [.linux]))]),
        .executableTarget(
            name: "generate-cases",
            dependencies: [.product(name: "AppStoreReceipt", package: "swift-app-store-receipt")],
            path: "Sources/GenerateCases", swiftSettings: settings),
    ]
        + (hasFuzzTarget
            ? [
                .executableTarget(
                    name: "FuzzC", dependencies: ["CAppStoreReceipt", "AppStoreReceiptC"],
                    cSettings: [.headerSearchPath("../../include")] + (isFuzzing ? [.define("FUZZ")] : []))
            ] : [])
)
