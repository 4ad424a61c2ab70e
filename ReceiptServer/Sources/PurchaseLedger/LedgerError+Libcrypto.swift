package import LibcryptoHandles

extension LedgerError {
    /// libcrypto can't compute a digest: the host forbids the algorithm or has no memory.
    package init(_: LibcryptoError) { self.init(.storeFailed, "libcrypto cannot compute a digest") }

    static func onHost<Result>(
        _ body: () throws(LibcryptoError) -> Result
    ) throws(LedgerError) -> Result {
        do throws(LibcryptoError) {
            return try body()
        } catch {
            throw LedgerError(error)
        }
    }
}
