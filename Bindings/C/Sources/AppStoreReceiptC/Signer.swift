@_spi(Surfaces) import AppStoreSigning
import CAppStoreReceipt

/// What `asr_signer` points to.
final class Signer: Sendable {
    let signer: AppStoreSigner

    init(_ signer: AppStoreSigner) { self.signer = signer }

    /// The signer of a pointer that ``asr_signer_new`` returned.
    static func at(_ pointer: OpaquePointer?) -> Signer? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<Signer>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }
}

extension Outputs {
    /// - Parameters:
    ///   - status: The status, unless this host is at fault.
    ///   - category: The category, unless this host is at fault.
    fileprivate func refusal(_ error: SigningError, _ status: asr_status, _ category: String) -> asr_status {
        let isHostFault = error.reason == .signingFailed
        fail(error.code.rawValue, isHostFault ? "host" : category)
        let status = isHostFault ? Status.host : status
        return takesJSON ? write(error.json, status) : status
    }
}

extension Library {
    static func signerNew(
        _ settings: UnsafeRawPointer?, _ settingsLength: Int, _ key: UnsafeRawPointer?, _ keyLength: Int,
        _ signer: UnsafeMutablePointer<OpaquePointer?>?, _ outputs: Outputs
    ) -> asr_status {
        unsafe signer?.pointee = nil
        guard let signer = unsafe signer, let json = unsafe bytes(settings, settingsLength),
            let settings = SignerSettings(json), settings.hasOneKey(besides: unsafe key != nil), keyLength >= 0
        else { return outputs.usage() }
        var p8 = unsafe key == nil ? nil : bytes(key, keyLength)
        do throws(SigningError) {
            let made = Signer(try settings.signer(erasing: &p8))
            unsafe signer.pointee = OpaquePointer(Unmanaged.passRetained(made).toOpaque())
            return Status.verified
        } catch {
            return outputs.refusal(error, Status.configuration, "host")
        }
    }

    static func signerFree(_ signer: OpaquePointer?) {
        guard let signer = unsafe signer else { return }
        unsafe Unmanaged<Signer>.fromOpaque(UnsafeRawPointer(signer)).release()
    }

    static func sign(
        _ signer: OpaquePointer?, _ request: UnsafeRawPointer?, _ length: Int, _ outputs: Outputs
    ) -> asr_status {
        guard let signer = unsafe Signer.at(signer), let json = unsafe bytes(request, length),
            let request = SigningRequest(json)
        else { return outputs.usage() }
        do throws(SigningError) {
            return outputs.write(try request.signed(by: signer.signer), Status.verified)
        } catch {
            return outputs.refusal(error, Status.refused, "client")
        }
    }
}
