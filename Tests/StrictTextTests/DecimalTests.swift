import StrictText
import Testing

@Suite struct DecimalTests {
    @Test(arguments: [0, 1, 9, 10, 99, 100, -1, -10, 999_999_999_999_999, 1_000_000_000_000_000, .max, .min])
    func `the digits of an integer are its description`(value: Int64) {
        #expect(String(decimal: value) == value.description)
    }

    @Test func `so are those of integers of every length`() {
        for shift in 0..<64 {
            for value in [Int64.max >> Int64(shift), Int64.min >> Int64(shift)] {
                #expect(String(decimal: value) == value.description)
            }
        }
    }
}
