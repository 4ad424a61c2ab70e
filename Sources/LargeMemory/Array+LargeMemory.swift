#if canImport(Glibc)
import Glibc
#endif

// The kernel gives new memory to a process one page at a time, at the first write to each page of 4 KiB. For tens of megabytes this takes as long as decoding them: filling 40 MB
// took 21 to 26 ms, and 5 to 6 ms with huge pages, which Linux gives on request (`/sys/kernel/mm/transparent_hugepage/enabled` is `madvise` on Debian).

extension [UInt8] {
    /// Reserves room for bytes that will all be written. If it is large, the kernel is asked for huge pages.
    ///
    /// - Parameter count: The number of bytes.
    package mutating func reserveLargeCapacity(_ count: Int) {
        reserveCapacity(count)
        guard capacity >= largeByteCount else { return }
        let capacity = capacity
        unsafe withUnsafeMutableBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe adviseHugePages(start, capacity)
        }
    }

    /// Creates an array whose bytes are arbitrary until they are written.
    ///
    /// It is unsafe because reading a byte that was not written is undefined, and can show what the memory contained before. Zeros would be written only to be overwritten.
    ///
    /// - Parameter count: The number of bytes.
    @unsafe
    package init(unwrittenCount count: Int) {
        unsafe self.init(unsafeUninitializedCapacity: count) { bytes, initializedCount in
            if let start = bytes.baseAddress, count >= largeByteCount { unsafe adviseHugePages(start, count) }
            initializedCount = count
        }
    }
}

/// The smallest size, in bytes, for which it is worth asking. Below it, the allocator usually has memory that was used before.
private let largeByteCount = 4 << 20

/// Asks for huge pages for all whole pages of memory that the caller owns. What the memory contains does not change, and a refusal is no error.
@unsafe
private func adviseHugePages(_ start: UnsafeMutableRawPointer, _ count: Int) {
    #if canImport(Glibc)
    let pageSize = sysconf(CInt(_SC_PAGESIZE))
    let unaligned = Int(bitPattern: start) & (pageSize - 1)
    let skipped = unaligned == 0 ? 0 : pageSize - unaligned
    guard count >= skipped + pageSize else { return }
    _ = unsafe madvise(start + skipped, (count - skipped) & ~(pageSize - 1), MADV_HUGEPAGE)
    #endif
}
