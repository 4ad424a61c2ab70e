import SpanASN1
import StrictText

/// The JSON has ``Entitlements/Access/code`` as `access`, and its value: `{"access":"active","date":1751362200000}` or
/// `{"access":"consumable","quantity":2}`. Dates are milliseconds since 1970.
extension Entitlements.Access: Codable {
    private enum Key: String, CodingKey { case access, date, quantity }

    /// Decodes access, such as what your server granted last.
    ///
    /// - Throws: `DecodingError` if the code is unknown, or its value is missing.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let code = try values.decode(String.self, forKey: .access)
        func date() throws -> Instant { try values.decode(Instant.self, forKey: .date) }
        func dateIfAny() throws -> Instant? { try values.decodeIfPresent(Instant.self, forKey: .date) }
        switch Self.all.first(where: { $0.code.hasSameBytes(as: code) }) {
        case .active?: self = .active(until: try date())
        case .owned?: self = .owned
        case .consumable?: self = .consumable(quantity: try values.decode(Int.self, forKey: .quantity))
        case .notYet?: self = .notYet(from: try date())
        case .expired?: self = .expired(at: try date())
        case .revoked?: self = .revoked(at: try dateIfAny())
        case .upgraded?: self = .upgraded(at: try dateIfAny())
        case .lengthUnknown?: self = .lengthUnknown
        case .undetermined?: self = .undetermined
        case nil:
            throw DecodingError.dataCorruptedError(
                forKey: .access, in: values, debugDescription: "not the code of an access")
        }
    }

    /// Encodes the code and its value.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(code, forKey: .access)
        if case .consumable(let quantity) = self { try values.encode(quantity, forKey: .quantity) }
        try values.encodeIfPresent(date, forKey: .date)
    }

    /// The date that belongs to the code.
    private var date: Instant? {
        switch self {
        case .active(let date), .notYet(let date), .expired(let date): date
        case .revoked(let date), .upgraded(let date): date
        case .owned, .consumable, .lengthUnknown, .undetermined: nil
        }
    }
}

extension Entitlements.Access: CustomStringConvertible {
    /// The code and its value, such as `active until 2025-07-01T09:30:00Z`.
    public var description: String {
        switch self {
        case .active(let date): "active until \(date)"
        case .consumable(let quantity): "consumable, quantity \(quantity)"
        case .notYet(let date): "not yet, from \(date)"
        case .expired(let date): "expired at \(date)"
        case .revoked(let date?): "revoked at \(date)"
        case .upgraded(let date?): "upgraded at \(date)"
        case .owned, .revoked(nil), .upgraded(nil), .lengthUnknown, .undetermined: code
        }
    }
}
