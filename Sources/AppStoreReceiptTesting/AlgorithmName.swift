package import SpanASN1

/// An algorithm and its parameters, to write.
///
/// `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY OPTIONAL }` (RFC 5280, 4.1.1.2)
package struct AlgorithmName: Hashable, Sendable {
    /// The identifier of the algorithm.
    package var identifier: ASN1ObjectIdentifier
    /// The encoded parameters; `nil` for none. RSA and digest algorithms have a NULL, and ECDSA has none.
    package var parameters: [UInt8]?

    /// Creates an algorithm; by default its parameters are NULL.
    package init(_ identifier: ASN1ObjectIdentifier, parameters: [UInt8]? = AlgorithmName.null) {
        self.identifier = identifier
        self.parameters = parameters
    }

    /// An encoded NULL.
    package static let null: [UInt8] = [0x05, 0x00]
}

extension ASN1Writer {
    mutating func write(_ algorithm: AlgorithmName) {
        write(.sequence) { writer in
            writer.writeObjectIdentifier(algorithm.identifier)
            if let parameters = algorithm.parameters { writer.write(encoded: parameters.span) }
        }
    }
}
