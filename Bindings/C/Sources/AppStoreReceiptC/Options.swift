import AppStoreReceipt
public import CAppStoreReceipt
import CProcess

/// What a verifier is made of. Equal configurations share a verifier.
struct Configuration: Hashable, Sendable {
    var bundleIDs: Set<String> = []
    var environments: Set<AppStoreEnvironment> = []
    var appAppleID: String?
    var roots: [TrustAnchor] = []
    var issuers: [TransactionReceiptIssuer] = []
    var isStoreKitTesting = false
    var distrusted: Set<Fingerprint> = []
    var maximumAge: Duration?
    var validationDate = VerificationPolicy.ValidationDate.signing
    var allowsRSA1024 = false
    var clock: Instant?

    var policy: VerificationPolicy {
        var policy = VerificationPolicy(
            bundleIDs: bundleIDs.isEmpty ? nil : bundleIDs, appAppleID: appAppleID, environments: environments)
        policy.maximumAge = maximumAge
        policy.validationDate = validationDate
        policy.allowsRSA1024TransactionReceipts = allowsRSA1024
        policy.distrusted = distrusted
        if let clock { policy.clock = { clock } }
        return policy
    }

    var trust: AppStoreTrust {
        let trust: AppStoreTrust = isStoreKitTesting ? .storeKitTesting(roots) : roots.isEmpty ? .apple : .roots(roots)
        return issuers.isEmpty ? trust : .adding(issuers, to: trust)
    }
}

/// What `asr_options` points to.
final class Options {
    var configuration = Configuration()
    /// Whether a value could not be read. Without it, the options could accept more than was meant.
    private(set) var hasUnreadableValue = false

    /// The options of a pointer that ``asr_options_new()`` returned.
    static func at(_ pointer: OpaquePointer?) -> Options? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<Options>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    /// Changes the configuration of `pointer`, if `value` is a value. Otherwise no verifier can be made with it.
    static func set<Value>(
        _ pointer: OpaquePointer?, to value: Value?, _ change: (inout Configuration, Value) -> Void
    ) -> asr_status {
        guard let options = unsafe Options.at(pointer) else { return Status.usage }
        guard let value else {
            options.hasUnreadableValue = true
            return Status.usage
        }
        change(&options.configuration, value)
        return Status.verified
    }
}

@c(asr_options_new) @implementation
public func asr_options_new() -> OpaquePointer? {
    process_enter()
    defer { process_leave() }
    return unsafe OpaquePointer(Unmanaged.passRetained(Options()).toOpaque())
}

@c(asr_options_free) @implementation
public func asr_options_free(_ options: OpaquePointer?) {
    process_enter()
    defer { process_leave() }
    guard let options = unsafe options else { return }
    unsafe Unmanaged<Options>.fromOpaque(UnsafeRawPointer(options)).release()
}

@c(asr_options_add_bundle_id) @implementation
public func asr_options_add_bundle_id(
    _ options: OpaquePointer?, _ bundle_id: UnsafePointer<CChar>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: string(bundle_id)) { $0.bundleIDs.insert($1) }
}

@c(asr_options_add_environment) @implementation
public func asr_options_add_environment(
    _ options: OpaquePointer?, _ environment: UnsafePointer<CChar>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: string(environment).flatMap(AppStoreEnvironment.init(rawValue:))) {
        $0.environments.insert($1)
    }
}

@c(asr_options_set_app_apple_id) @implementation
public func asr_options_set_app_apple_id(
    _ options: OpaquePointer?, _ app_apple_id: UnsafePointer<CChar>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    // As Apple writes it, since it is compared as a text: "007" is the id of no app.
    let id = unsafe string(app_apple_id).flatMap { Int64($0) }.flatMap { $0 > 0 ? String($0) : nil }
    return unsafe Options.set(options, to: id) { $0.appAppleID = $1 }
}

@c(asr_options_add_roots) @implementation
public func asr_options_add_roots(
    _ options: OpaquePointer?, _ certificates: UnsafeRawPointer?, _ length: Int
) -> asr_status {
    process_enter()
    defer { process_leave() }
    let roots = unsafe bytes(certificates, length).flatMap(CertificateFile.certificates).flatMap { certificates in
        try? certificates.map { try TrustAnchor(der: $0) }
    }
    return unsafe Options.set(options, to: roots) { $0.roots += $1 }
}

@c(asr_options_add_transaction_receipt_issuers) @implementation
public func asr_options_add_transaction_receipt_issuers(
    _ options: OpaquePointer?, _ certificates: UnsafeRawPointer?, _ length: Int
) -> asr_status {
    process_enter()
    defer { process_leave() }
    let issuers = unsafe bytes(certificates, length).flatMap(CertificateFile.certificates).flatMap { certificates in
        try? certificates.map { try TransactionReceiptIssuer(der: $0) }
    }
    return unsafe Options.set(options, to: issuers) { $0.issuers += $1 }
}

@c(asr_options_set_storekit_testing) @implementation
public func asr_options_set_storekit_testing(_ options: OpaquePointer?, _ enabled: Int32) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: enabled != 0) { $0.isStoreKitTesting = $1 }
}

@c(asr_options_add_distrusted) @implementation
public func asr_options_add_distrusted(
    _ options: OpaquePointer?, _ fingerprint: UnsafePointer<CChar>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: string(fingerprint).flatMap(Fingerprint.init(hex:))) {
        $0.distrusted.insert($1)
    }
}

@c(asr_options_set_maximum_age) @implementation
public func asr_options_set_maximum_age(_ options: OpaquePointer?, _ seconds: Int64) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: seconds < 0 ? nil : seconds) { $0.maximumAge = .seconds($1) }
}

@c(asr_options_set_validation_date) @implementation
public func asr_options_set_validation_date(_ options: OpaquePointer?, _ date: Int64) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: date) {
        switch $1 {
        case .min: $0.validationDate = .signing
        case .max: $0.validationDate = .now
        default: $0.validationDate = .date(Instant(millisecondsSince1970: $1))
        }
    }
}

@c(asr_options_set_allows_rsa_1024) @implementation
public func asr_options_set_allows_rsa_1024(_ options: OpaquePointer?, _ allowed: Int32) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: allowed != 0) { $0.allowsRSA1024 = $1 }
}

@c(asr_options_set_clock) @implementation
public func asr_options_set_clock(_ options: OpaquePointer?, _ date: Int64) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(options, to: date == .min ? nil : date) {
        $0.clock = $1 == .max ? nil : Instant(millisecondsSince1970: $1)
    }
}
