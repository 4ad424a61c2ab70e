package import LibcryptoHandles

extension LedgerError {
    /// A digest that libcrypto did not compute: the host forbids the algorithm or has no memory.
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
