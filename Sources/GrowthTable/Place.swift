/// A part of an input that an attacker can choose, with the operations on the input.
struct Place {
    let name: String
    let slot: Slot
    let choice: Filling.Choice
    /// The family of the place. Each operation must succeed for at least one place and filling of a family, because an
    /// early refusal measures nothing. `nil` if every input is refused.
    let family: String?
    /// The values of n, each 8 times the one before.
    let sizes: [Int]
    /// The operations on an input with `filling` in this place. They are the same for each filling.
    let prepare: (_ filling: [UInt8]) throws -> [Operation]

    init(
        _ name: String, _ slot: Slot, _ choice: Filling.Choice = .some, family: String? = nil,
        sizes: [Int] = [1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22],
        prepare: @escaping (_ filling: [UInt8]) throws -> [Operation]
    ) {
        self.name = name
        self.slot = slot
        self.choice = choice
        self.family = family
        self.sizes = sizes
        self.prepare = prepare
    }
}
