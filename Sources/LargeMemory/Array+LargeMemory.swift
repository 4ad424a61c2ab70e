#if canImport(Glibc)
import Glibc
#endif

// The kernel gives new memory to a process one page at a time, at the first write to each page of 4 KiB. For tens of
// megabytes this takes as long as decoding them: filling 40 MB took 21 to 26 ms, and 5 to 6 ms with huge pages, which
// Linux gives on request (`/sys/kernel/mm/transparent_hugepage/enabled` is `madvise` on Debian).

extension Array {
    /// Reserves room for elements: with huge pages, if it is large.
    ///
    /// - Parameters:
    ///   - count: The number of elements.
    ///   - likelyCount: The number that will probably be written. Others get no huge pages: each takes 2 MiB even if
    ///     written only in part.
    @inlinable
    package mutating func reserveLargeCapacity(_ count: Int, likelyCount: Int) {
        guard count > capacity, likelyCount >= LargeMemory.minimumByteCount / MemoryLayout<Element>.stride else {
            return reserveCapacity(count)
        }
        // Copy the elements after the request: the kernel does not enlarge a page that was written.
        var larger: [Element] = []
        larger.reserveCapacity(count)
        let byteCount = Swift.min(likelyCount, larger.capacity) * MemoryLayout<Element>.stride
        unsafe larger.withUnsafeMutableBufferPointer { elements in
            guard let start = elements.baseAddress else { return }
            unsafe LargeMemory.advise(start, byteCount)
        }
        larger.append(contentsOf: self)
        self = larger
    }
}

extension [UInt8] {
    /// Creates an array whose bytes are arbitrary until they are written.
    ///
    /// It is unsafe because reading a byte that was not written is undefined, and can show what the memory contained
    /// before. Zeros would be written only to be overwritten.
    ///
    /// - Parameter count: The number of bytes.
    @unsafe
    package init(unwrittenCount count: Int) {
        unsafe self.init(unsafeUninitializedCapacity: count) { bytes, initializedCount in
            if let start = bytes.baseAddress { unsafe LargeMemory.advise(start, count) }
            initializedCount = count
        }
    }
}

/// Memory of large inputs and outputs, for packages that receive and send them.
public enum LargeMemory {
    /// The smallest size, in bytes, that is worth a request. Below it, the allocator usually reuses memory.
    @inlinable public static var minimumByteCount: Int { 4 << 20 }

    /// Appends bytes to an array, whose capacity at least doubles if it has no room.
    public static func append(_ bytes: UnsafeRawBufferPointer, to array: inout [UInt8]) {
        let count = array.count + bytes.count
        if count >= minimumByteCount, count > array.capacity {
            let capacity = Swift.max(count, 2 * array.capacity)
            array.reserveLargeCapacity(capacity, likelyCount: capacity)
        }
        unsafe array.append(contentsOf: bytes)
    }

    /// Requests huge pages for all whole pages of memory that the caller owns, if it is large. The contents of the
    /// memory do not change, and a refusal is ignored.
    @unsafe
    public static func advise(_ start: UnsafeMutableRawPointer, _ count: Int) {
        #if canImport(Glibc)
        guard count >= minimumByteCount else { return }
        let pageSize = sysconf(CInt(_SC_PAGESIZE))
        let unaligned = Int(bitPattern: start) & (pageSize - 1)
        let skipped = unaligned == 0 ? 0 : pageSize - unaligned
        guard count >= skipped + pageSize else { return }
        _ = unsafe madvise(start + skipped, (count - skipped) & ~(pageSize - 1), MADV_HUGEPAGE)
        #endif
    }
}
