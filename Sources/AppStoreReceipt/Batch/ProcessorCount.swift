#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The number of active processors of this host; at least 1.
package func processorCount() -> Int {
    #if canImport(Darwin)
    max(sysconf(_SC_NPROCESSORS_ONLN), 1)
    #else
    max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    #endif
}
