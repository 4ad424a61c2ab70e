import CAppStoreReceipt

@c(asr_version) @implementation
public func asr_version() -> UnsafePointer<CChar>? {
    // A string of the binary itself, which is valid until the process ends. The macro ASR_VERSION is the same, as a test compares.
    let version: StaticString = "0.2.0"
    return unsafe UnsafeRawPointer(version.utf8Start).assumingMemoryBound(to: CChar.self)
}

@c(asr_abi_version) @implementation
public func asr_abi_version() -> Int32 { ASR_ABI_VERSION }
