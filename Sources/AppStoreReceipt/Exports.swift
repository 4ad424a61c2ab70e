// The parts of lower modules that a backend uses: with MemberImportVisibility (SE-0444), a file sees the members of a
// type only if it imports their module, or one that exports it.
@_exported public import Instants
@_exported public import SignatureTrust
@_exported public import struct SpanASN1.ASN1DecodingError
