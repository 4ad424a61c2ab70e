// Bytes that a cursor reads do not change under it.
// In this package.
import SpanASN1

func readNull(_ bytes: inout [UInt8]) throws(ASN1DecodingError) -> Int {
    var cursor = ASN1Cursor(bytes.span)
    #if CONTROL
    let element = try cursor.read()
    #else
    // error: overlapping accesses to 'bytes'
    bytes.append(0)
    let element = try cursor.read()
    #endif
    return element.contentCount
}
