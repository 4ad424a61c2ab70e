import StrictText

extension String {
    /// Apple writes 0 if there is no identifier.
    var nonZero: String? { hasSameBytes(as: "0") ? nil : self }
}
