import StrictText

/// The reason nothing was signed, or a key cannot be used.
///
/// No text of it contains an argument or a part of a key.
public struct SigningError: Error, Hashable, Sendable {
    /// What is wrong.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The key cannot be used.
        case unusableKey(InAppPurchaseKey.Fault)
        /// An argument that Apple would refuse, or that would sign something else.
        case invalidArgument(Argument)
        /// A request of the Advanced Commerce API is not the JSON that Apple documents.
        case invalidRequest
        /// libcrypto on this host could not sign.
        case signingFailed
    }

    /// The stable words for the reasons.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The key's file cannot be read.
        case keyUnreadable = "key-unreadable"
        /// The key's path is not that of a file.
        case keyNoFile = "key-no-file"
        /// The key's file has more than 64 KiB.
        case keyTooLarge = "key-too-large"
        /// Others than the owner of the key's file can read or change it.
        case keyAccessibleToOthers = "key-accessible-to-others"
        /// systemd gives this process no credential of that name.
        case keyNoCredential = "key-no-credential"
        /// The key is not exactly one PEM block.
        case keyNotPEM = "key-not-pem"
        /// The key is encrypted.
        case keyEncrypted = "key-encrypted"
        /// The key is of another kind.
        case keyOtherKind = "key-other-kind"
        /// The PEM block is not a private key in PKCS#8, or is damaged.
        case keyNotPKCS8 = "key-not-pkcs8"
        /// An argument is refused. See ``SigningError/argument``.
        case invalidArgument = "invalid-argument"
        /// A request of the Advanced Commerce API is not the JSON that Apple documents.
        case invalidRequest = "invalid-request"
        /// libcrypto on this host could not sign.
        case signingFailed = "signing-failed"
    }

    /// The arguments that are checked.
    @nonexhaustive
    public enum Argument: String, Sendable, CaseIterable {
        /// The key's id.
        case keyID = "key_id"
        /// The issuer id of the team's keys.
        case issuerID = "issuer_id"
        /// The app's bundle id.
        case bundleID = "bundle_id"
        /// The product's id.
        case productID = "product_id"
        /// The offer's id.
        case offerID = "offer_id"
        /// The id of one of the customer's transactions, or of the app transaction.
        case transactionID = "transaction_id"
        /// It must be a UUID. Pass any other text as an `applicationUsername`.
        case appAccountToken = "app_account_token"
        /// The text that the app passes as `applicationUsername`.
        case applicationUsername = "application_username"
        /// Whether the customer may have an introductory offer.
        case allowIntroductoryOffer = "allow_introductory_offer"
        /// A request of the Advanced Commerce API.
        case request
    }

    /// What is wrong.
    public let reason: Reason
    /// The position of the fault in bytes, in the text of a key or a request; for ``InAppPurchaseKey/Fault/notPKCS8``,
    /// in the decoded block. `nil` if there is none.
    public let offset: Int?

    init(_ reason: Reason, offset: Int? = nil) {
        self.reason = reason
        self.offset = offset
    }

    /// A stable word for the reason, such as `key-encrypted`.
    public var code: Code {
        switch reason {
        case .unusableKey(let fault): fault.code
        case .invalidArgument: .invalidArgument
        case .invalidRequest: .invalidRequest
        case .signingFailed: .signingFailed
        }
    }

    /// The argument that is refused, if one is.
    public var argument: Argument? {
        if case .invalidArgument(let argument) = reason { argument } else { nil }
    }

    /// `{"error":{"code":…,"argument":…,"offset":…,"message":…}}`, with an argument and an offset if there are.
    @_spi(Surfaces)
    public var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.object("error") { writer in
            writer.member("code", code.rawValue)
            writer.member("argument", ifAny: argument?.rawValue)
            if let offset { writer.member("offset", offset) }
            writer.member("message", description)
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension SigningError: CustomStringConvertible {
    public var description: String {
        let text =
            switch reason {
            case .unusableKey(let fault): "The key cannot be used: \(fault.explanation)"
            case .invalidArgument(let argument): "\(argument.rawValue) \(argument.rule)"
            case .invalidRequest:
                "The request must be a JSON object with operation, version and requestInfo, "
                    + "which has a requestReferenceId that is a UUID"
            case .signingFailed: "libcrypto on this host could not sign"
            }
        return offset.map { "\(text) (at byte \($0))" } ?? text
    }
}

extension SigningError.Argument {
    fileprivate var rule: String {
        switch self {
        case .appAccountToken: "must be a UUID; another text is an application_username"
        case .allowIntroductoryOffer: "must be true or false"
        case .request: "must be a text"
        default: "must have 1 to 255 bytes, and no U+2063"
        }
    }
}

extension InAppPurchaseKey {
    /// The kinds of keys and files that are no In-App Purchase keys, by their names.
    @nonexhaustive
    public enum Kind: String, Sendable, CaseIterable {
        /// An RSA key.
        case rsa = "RSA"
        /// An RSA key for RSASSA-PSS only.
        case rsaPSS = "RSA-PSS"
        /// A DSA key.
        case dsa = "DSA"
        /// A Diffie-Hellman key.
        case dh = "DH"
        /// A key for X25519.
        case x25519 = "X25519"
        /// A key for X448.
        case x448 = "X448"
        /// A key for Ed25519.
        case ed25519 = "Ed25519"
        /// A key for Ed448.
        case ed448 = "Ed448"
        /// An EC key on P-192.
        case p192 = "EC on P-192"
        /// An EC key on P-224.
        case p224 = "EC on P-224"
        /// An EC key on P-384.
        case p384 = "EC on P-384"
        /// An EC key on P-521.
        case p521 = "EC on P-521"
        /// An EC key on secp256k1.
        case secp256k1 = "EC on secp256k1"
        /// An EC key on another curve.
        case otherCurve = "EC on another curve"
        /// An EC key on a curve that it does not name, which RFC 5480, 2.1.1 forbids.
        case explicitCurve = "EC with explicit parameters"
        /// A key in PKCS#8 of another algorithm.
        case otherAlgorithm = "another algorithm"
        /// A file of an EC key in the format of SEC 1.
        case sec1 = "EC PRIVATE KEY"
        /// A file of an RSA key in the format of PKCS#1.
        case pkcs1 = "RSA PRIVATE KEY"
        /// A file of a DSA key in OpenSSL's older format.
        case dsaFile = "DSA PRIVATE KEY"
        /// A file of a key in OpenSSH's format.
        case openSSH = "OPENSSH PRIVATE KEY"
        /// A file of a public key.
        case publicKey = "PUBLIC KEY"
        /// A file of a curve's parameters.
        case parameters = "EC PARAMETERS"
        /// A file of a certificate.
        case certificate = "CERTIFICATE"
        /// A file of a request for a certificate.
        case certificateRequest = "CERTIFICATE REQUEST"
        /// A PEM block with another label.
        case otherLabel = "another label"
    }

    /// The reasons a key cannot be used.
    @nonexhaustive
    public enum Fault: Error, Hashable, Sendable {
        /// The file cannot be read, for a reason of the operating system (`errno`).
        case unreadable(Int32)
        /// The path is that of a folder, a pipe or a device.
        case noFile
        /// The file has more than 64 KiB.
        case tooLarge
        /// Others than the file's owner can read or change it.
        case accessibleToOthers
        /// systemd gives this process no credentials, or the name is none that a credential can have.
        case noCredential
        /// The text is not exactly one PEM block (RFC 7468).
        case notPEM
        /// The key is encrypted. Apple's are not.
        case encrypted
        /// The key is of another kind, or the file has another format.
        case otherKind(Kind)
        /// The PEM block is not a private key in PKCS#8 (RFC 5958), or is damaged.
        case notPKCS8

        var code: SigningError.Code {
            switch self {
            case .unreadable: .keyUnreadable
            case .noFile: .keyNoFile
            case .tooLarge: .keyTooLarge
            case .accessibleToOthers: .keyAccessibleToOthers
            case .noCredential: .keyNoCredential
            case .notPEM: .keyNotPEM
            case .encrypted: .keyEncrypted
            case .otherKind: .keyOtherKind
            case .notPKCS8: .keyNotPKCS8
            }
        }

        var explanation: String {
            switch self {
            case .unreadable(let code): "its file cannot be read: \(System.explanation(of: code))"
            case .noFile: "its path is not that of a file"
            case .tooLarge: "its file has more than 64 KiB"
            case .accessibleToOthers: "others than its file's owner can read or change it: chmod 600"
            case .noCredential: "systemd gives this process no credential of that name"
            case .notPEM: "it must be exactly one block of PEM"
            case .encrypted: "it is encrypted; Apple's keys are not"
            case .otherKind(let kind):
                "it is of another kind (\(kind.rawValue)); it must be PKCS#8 with an EC key on P-256"
            case .notPKCS8: "its PEM block is not a private key in PKCS#8, or is damaged"
            }
        }
    }
}
