import CLibcryptoShims
import Foundation
import Testing

/// Which libcrypto the tests run on. The linker chooses it when they start, so it need not be the one whose headers
/// they were compiled with.
struct LoadedLibraryTests {
    /// The version that the environment variable `RECEIPT_LIBCRYPTO` demands, such as `3.5`.
    private static let demanded = ProcessInfo.processInfo.environment["RECEIPT_LIBCRYPTO"]

    @Test(.enabled(if: demanded != nil, "RECEIPT_LIBCRYPTO demands no version"))
    func `the loaded libcrypto has the demanded version`() throws {
        let demanded = try #require(Self.demanded)
        let loaded = unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
        #expect(loaded == demanded || loaded.hasPrefix("\(demanded)."))
    }
}
