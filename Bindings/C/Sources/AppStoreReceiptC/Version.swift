import CAppStoreReceipt

extension Library {
    static func version() -> UnsafePointer<CChar>? {
        // A string of the binary itself, which is valid until the process ends. The macro ASR_VERSION is the same, as a
        // test compares.
        let version: StaticString = "0.3.0"
        return unsafe UnsafeRawPointer(version.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    static func abiVersion() -> Int32 { ASR_ABI_VERSION }
}
