import StrictText

/// The environments of the App Store in which evidence is signed.
@nonexhaustive
public enum AppStoreEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `Production`, or `ProductionVPP` for volume purchases.
    case production
    /// `ProductionSandbox`, or `ProductionVPPSandbox` for volume purchases.
    case sandbox
    /// `Xcode`: StoreKit Testing. Its signature authenticates nobody.
    case xcode
    /// `LocalTesting`: local tests of StoreKit 2. Its signature authenticates nobody. Receipts do not have this
    /// environment.
    case localTesting = "local-testing"

    /// Creates the environment of a receipt's type [0]; `nil` for an unknown type.
    public init?(receiptType: String) {
        guard let environment = receiptType.withUTF8Bytes({ Self(receiptType: $0) }) else { return nil }
        self = environment
    }

    init?(receiptType: Span<UInt8>) { self.init(name: receiptType, in: Self.receiptTypes) }

    private static let receiptTypes: [(String, AppStoreEnvironment)] = [
        ("Production", .production), ("ProductionSandbox", .sandbox), ("ProductionVPP", .production),
        ("ProductionVPPSandbox", .sandbox), ("Xcode", .xcode),
    ]

    /// Compares bytes, because an attacker can choose the name.
    init?(name: Span<UInt8>, in names: [(String, AppStoreEnvironment)]) {
        for (known, environment) in names where name.hasSameBytes(as: known) {
            self = environment
            return
        }
        return nil
    }
}

extension AppStoreEnvironment {
    /// Creates the environment of a name in a payload; `nil` for an unknown name.
    package init?(signedName: String) {
        guard let environment = signedName.withUTF8Bytes({ Self(name: $0, in: Self.signedNames) }) else { return nil }
        self = environment
    }

    /// The name in a payload.
    package var signedName: String {
        switch self {
        case .production: "Production"
        case .sandbox: "Sandbox"
        case .xcode: "Xcode"
        case .localTesting: "LocalTesting"
        }
    }

    private static let signedNames = allCases.map { ($0.signedName, $0) }
}

extension AppStoreEnvironment: Codable {}
