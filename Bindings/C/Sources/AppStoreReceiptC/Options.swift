@_spi(Surfaces) import AppStoreReceipt
public import CAppStoreReceipt
import CProcess

/// What `asr_options` points to.
final class Options {
    private(set) var settings = VerifierSettings(.granting)
    /// Whether a value could not be read. Without it, the options could accept more than was meant.
    private(set) var hasUnreadableValue = false

    /// The options of a pointer that ``asr_options_new()`` returned.
    static func at(_ pointer: OpaquePointer?) -> Options? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<Options>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    /// Changes the settings of `pointer`. If that fails, no verifier can be made with them.
    static func change(_ pointer: OpaquePointer?, _ change: (inout VerifierSettings) -> Bool) -> asr_status {
        guard let options = unsafe Options.at(pointer) else { return Status.usage }
        guard change(&options.settings) else {
            options.hasUnreadableValue = true
            return Status.usage
        }
        return Status.verified
    }

    /// Adds a value to a setting, or sets it.
    static func set(_ pointer: OpaquePointer?, _ setting: VerifierSetting?, to value: [UInt8]?) -> asr_status {
        unsafe change(pointer) { settings in
            guard let setting, let value else { return false }
            if setting.row.kind == .certificates { return settings.add(certificates: value, to: setting) }
            // A text for C ends at its first NUL. What would follow must not be lost.
            guard !value.contains(0), let text = String(validating: value, as: UTF8.self) else { return false }
            do throws(SettingFault) {
                try settings.add(text, to: setting)
                return true
            } catch {
                return false
            }
        }
    }
}

extension VerifierSettings {
    fileprivate mutating func add(certificates file: [UInt8], to setting: VerifierSetting) -> Bool {
        guard let certificates = try? CertificateFile(file).certificates else { return false }
        for certificate in certificates {
            if setting == .transactionReceiptIssuers {
                guard let issuer = try? TransactionReceiptIssuer(der: certificate.der) else { return false }
                add(issuer)
            } else {
                add(certificate, to: setting)
            }
        }
        return true
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

@c(asr_options_set) @implementation
public func asr_options_set(
    _ options: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafeRawPointer?, _ length: Int
) -> asr_status {
    process_enter()
    defer { process_leave() }
    return unsafe Options.set(
        options, string(name).flatMap(VerifierSetting.init(rawValue:)), to: bytes(value, length))
}

@c(asr_options_set_nothing) @implementation
public func asr_options_set_nothing(_ options: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> asr_status {
    process_enter()
    defer { process_leave() }
    let setting = unsafe string(name).flatMap(VerifierSetting.init(rawValue:))
    return unsafe Options.change(options) { settings in
        do throws(SettingFault) {
            guard let setting else { return false }
            try settings.addNothing(to: setting)
            return true
        } catch {
            return false
        }
    }
}

@c(asr_options_set_binding) @implementation
public func asr_options_set_binding(_ options: OpaquePointer?, _ language: UnsafePointer<CChar>?) -> asr_status {
    process_enter()
    defer { process_leave() }
    let binding = unsafe string(language).flatMap { name in Surface.bindings.first { $0.rawValue == name } }
    return unsafe Options.change(options) { settings in
        guard let binding else { return false }
        settings.surface = binding
        return true
    }
}
