// A cursor borrows its bytes: it cannot be used after them.
// In this package.
import SpanASN1

func readNull() throws(ASN1DecodingError) -> Int {
    let outer: [UInt8] = [0x05, 0x00]
    #if CONTROL
    var cursor = ASN1Cursor(outer.span)
    #else
    // error: lifetime-dependent variable 'cursor' escapes its scope
    var cursor = ASN1Cursor(outer.span)
    do {
        let inner: [UInt8] = [0x05, 0x00]
        cursor = ASN1Cursor(inner.span)
    }
    #endif
    return try cursor.read().contentCount
}
