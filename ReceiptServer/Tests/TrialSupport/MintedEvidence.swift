package import AppStoreReceipt
package import AppStoreReceiptTesting
package import Foundation

/// Evidence that authorities of the tests have signed, and the files with which a server trusts it.
package struct MintedEvidence {
    package static let bundleID = "com.example.app"

    package let folder: URL
    package let authority: TestCertificateAuthority
    /// Signs JWS.
    package let ellipticAuthority: TestCertificateAuthority
    private let stranger: TestCertificateAuthority

    /// Keys take time, so that all evidence of a process has the same.
    private static let authorities = Result {
        try (TestCertificateAuthority(), TestCertificateAuthority(.ellipticCurve), TestCertificateAuthority())
    }

    package init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "receipt-server-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        (authority, ellipticAuthority, stranger) = try Self.authorities.get()
        try write(authority.trustAnchor.der, to: "root.der")
        try write(ellipticAuthority.trustAnchor.der, to: "elliptic-root.der")
    }

    /// Removes the folder.
    package func remove() { try? FileManager.default.removeItem(at: folder) }

    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(bytes).write(to: file)
        return file.path(percentEncoded: false)
    }

    package func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    /// The options of a server that trusts the authorities.
    package var trustOptions: [String] { ["--root", path("root.der"), "--root", path("elliptic-root.der")] }

    package var trust: AppStoreTrust {
        get throws { try .roots([authority.trustAnchor, ellipticAuthority.trustAnchor]) }
    }

    /// A receipt with this many purchases.
    package func receipt(
        purchaseCount: Int = 1, environment: ReceiptBuilder.ReceiptType = .production, bundleID: String = bundleID,
        isForged: Bool = false
    ) throws -> [UInt8] {
        let purchases = (0..<purchaseCount).map {
            ReceiptBuilder.Purchase.nonConsumable("pro\($0)", transactionID: "\(1000 + $0)")
        }
        return try ReceiptBuilder(bundleID: bundleID, environment: environment, purchases: purchases)
            .signed(by: isForged ? stranger : authority)
    }

    package func transaction(_ change: (inout JWSBuilder) -> Void = { _ in }) throws -> String {
        try Self.transaction(by: ellipticAuthority, change)
    }

    private static func transaction(
        by authority: TestCertificateAuthority, _ change: (inout JWSBuilder) -> Void
    ) throws -> String {
        var builder = JWSBuilder.transaction(bundleID: bundleID, productID: "pro", transactionID: "2000")
        change(&builder)
        return try builder.signed(by: authority)
    }

    /// The transaction of a consumable.
    package func coins(_ id: Int, boughtAt date: Instant? = nil) throws -> String {
        try Self.coins(id, by: ellipticAuthority, boughtAt: date)
    }

    package static func coins(
        _ id: Int, by authority: TestCertificateAuthority, boughtAt date: Instant? = nil
    ) throws -> String {
        try transaction(by: authority) {
            $0.transactionID = "\(id)"
            $0.originalTransactionID = "\(id)"
            $0.productType = .consumable
            if let date { $0.purchaseDate = date }
        }
    }

    /// A request to verifyReceipt.
    package static func body(_ receipt: [UInt8], password: String = "secret") -> String {
        #"{"receipt-data":"\#(Data(receipt).base64EncodedString())","password":"\#(password)"}"#
    }
}
