@_spi(Surfaces) import AppStoreReceipt
import CAppStoreReceipt

/// What `asr_options` points to.
final class Options {
    private(set) var settings = VerifierSettings(.granting)
    /// Whether a value could not be read. If ignored, the options could accept more than was meant.
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

extension Library {
    static func optionsNew() -> OpaquePointer? { unsafe OpaquePointer(Unmanaged.passRetained(Options()).toOpaque()) }

    static func optionsFree(_ options: OpaquePointer?) {
        guard let options = unsafe options else { return }
        unsafe Unmanaged<Options>.fromOpaque(UnsafeRawPointer(options)).release()
    }

    static func optionsSet(
        _ options: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafeRawPointer?, _ length: Int
    ) -> asr_status {
        let setting = unsafe setting(named: name)
        let value = unsafe bytes(value, length)
        return unsafe Options.change(options) { settings in
            guard let setting, let value else { return false }
            if setting.row.kind == .certificates { return settings.add(certificates: value, to: setting) }
            // A text for C ends at its first NUL: text after a NUL must not be lost.
            guard !value.contains(0), let text = String(validating: value, as: UTF8.self) else { return false }
            return (try? settings.add(text, to: setting)) != nil
        }
    }

    static func optionsSetNothing(_ options: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> asr_status {
        let setting = unsafe setting(named: name)
        return unsafe Options.change(options) { settings in
            guard let setting else { return false }
            return (try? settings.addNothing(to: setting)) != nil
        }
    }

    static func optionsSetBinding(_ options: OpaquePointer?, _ language: UnsafePointer<CChar>?) -> asr_status {
        let binding = unsafe string(language).flatMap { name in Surface.bindings.first { $0.rawValue == name } }
        return unsafe Options.change(options) { settings in
            guard let binding else { return false }
            settings.surface = binding
            return true
        }
    }

    private static func setting(named name: UnsafePointer<CChar>?) -> VerifierSetting? {
        unsafe string(name).flatMap(VerifierSetting.init(rawValue:))
    }
}
