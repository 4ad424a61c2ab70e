/// Where something stands that a stranger has written, and what is done with the whole.
struct Place {
    let name: String
    let slot: Slot
    let choice: Filling.Choice
    /// A name for places of which one at least, with one filling, must get through each operation: what is refused at once measures nothing. `nil`
    /// where all is refused by its nature.
    let family: String?
    /// What is tried as n, each 8 times the one before.
    let sizes: [Int]
    /// The operations on an input that has `filling` there; the same for each filling.
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
