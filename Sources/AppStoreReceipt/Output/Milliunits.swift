/// Amounts of money in thousandths of the unit of a currency, as Apple signs them.
@_spi(Surfaces) public enum Milliunits {
    /// The amount in units, such as `4.99`: without decimals if there are none, and otherwise with at least two.
    /// Currencies have none, two or three.
    public static func text(_ amount: Int64) -> String {
        let (units, thousandths) = amount.magnitude.quotientAndRemainder(dividingBy: 1000)
        let sign = amount < 0 ? "-" : ""
        guard thousandths > 0 else { return "\(sign)\(units)" }
        let digits = String(1000 + thousandths).dropFirst()
        return "\(sign)\(units).\(thousandths.isMultiple(of: 10) ? digits.dropLast() : digits)"
    }
}
