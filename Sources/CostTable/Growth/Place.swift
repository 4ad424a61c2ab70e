/// Where something stands that a stranger has written, and what is done with the whole.
struct Place {
    let name: String
    let slot: Slot
    let choice: Filling.Choice
    /// The operations on an input that has `filling` there; the same for each filling.
    let prepare: (_ filling: [UInt8]) throws -> [Operation]

    init(
        _ name: String, _ slot: Slot, _ choice: Filling.Choice = .some,
        prepare: @escaping (_ filling: [UInt8]) throws -> [Operation]
    ) {
        self.name = name
        self.slot = slot
        self.choice = choice
        self.prepare = prepare
    }
}
