// An element is a view into bytes: what is kept is its content, copied.
// In this package.
import SpanASN1

final class Kept {
    #if CONTROL
    var content: [UInt8]?
    #else
    // error: the 'get' accessor cannot return a ~Escapable result
    var element: ASN1Element?
    #endif
}
