import AppStoreReceipt
import AppStoreReceiptTesting
import Sampling
import TestSupport
import Testing

/// The decoder takes shortcuts; a second one, in the tests, takes none.
@Suite struct PayloadDecoderModelTests {
    /// What the library makes of a payload: all fields and attributes, or the error.
    private func decode(_ container: [UInt8]) -> Result<PayloadModel, VerificationError> {
        do {
            let receipt = try UnverifiedReceipt(decoding: container)
            let model = PayloadModel(receipt)
            let outer = PayloadModel.unknown(model.attributes[0], model.outer, isPurchase: false)
            #expect(receipt.unknownAttributes == outer)
            for (index, purchase) in receipt.inAppPurchases.enumerated() {
                let unknown = PayloadModel.unknown(
                    model.attributes[index + 1], model.purchases[index], isPurchase: true)
                #expect(purchase.unknownAttributes == unknown)
            }
            return .success(model)
        } catch {
            return .failure(error)
        }
    }

    /// Whether both accepted the payload.
    private func compare(_ payload: [UInt8], _ seed: SeededGenerator, _ round: Int) throws -> Bool {
        let (container, offset) = try PayloadModel.container(payload)
        let expected = PayloadModel.decode(payload, baseOffset: offset).mapError { VerificationError(.payload($0)) }
        let found = decode(container)
        #expect(found == expected, "\(seed), round \(round)")
        if case .success = expected { return true }
        return false
    }

    @Test(.timeLimit(.minutes(10)))
    func `random payloads, right and wrong, are decoded as by the simple decoder`() throws {
        let seed = SeededGenerator()
        print("payloads: \(seed)")
        var generator = PayloadGenerator(random: seed)
        let rounds = Sampling.count("payloads")
        var accepted = 0
        for round in 0..<rounds {
            generator.faultRate = round % 2 == 0 ? 1_000 : 60
            if try compare(generator.payload(), seed, round) { accepted += 1 }
        }
        // Both outcomes must be common for the comparison to mean anything.
        #expect(rounds / 4...rounds * 3 / 4 ~= accepted)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a payload with any byte changed is decoded as by the simple decoder`() throws {
        let seed = SeededGenerator()
        print("mutations: \(seed)")
        var generator = PayloadGenerator(random: seed)
        generator.faultRate = 1_000_000
        for round in 0..<Sampling.count("mutated-payloads") {
            let payload = generator.payload()
            for _ in 0..<60 {
                var mutated = payload
                let index = Int.random(in: 0..<payload.count, using: &generator.random)
                switch Int.random(in: 0..<3, using: &generator.random) {
                case 0: mutated[index] ^= 1 << UInt8.random(in: 0...7, using: &generator.random)
                case 1: mutated[index] &+= 1
                default: mutated.remove(at: index)
                }
                _ = try compare(mutated, seed, round)
            }
        }
    }

    /// Near the end of the payload the decoder cannot read ahead.
    @Test func `the last attribute is decoded like any other, whatever follows`() throws {
        let date = tlv(0x16, Array("2024-02-29T23:59:59Z".utf8))
        let values = [(1704, date), (1701, tlv(0x02, [1])), (1711, tlv(0x02, integer(.max))), (1713, tlv(0x02, [1]))]
        for (type, value) in values + (0...26).map({ (1702, tlv(0x0C, [UInt8](repeating: 0x61, count: $0))) }) {
            let attribute = tlv(0x30, tlv(0x02, integer(type)) + [0x02, 0x01, 0x01] + tlv(0x04, value))
            let record = tlv(0x30, [0x02, 0x01, 0x11, 0x02, 0x01, 0x01] + tlv(0x04, tlv(0x31, attribute)))
            for padding in 0..<40 {
                let last = tlv(
                    0x30, [0x02, 0x01, 0x07, 0x02, 0x01, 0x01] + tlv(0x04, [UInt8](repeating: 0, count: padding)))
                let isAccepted = try compare(
                    tlv(0x31, record + (padding == 0 ? [] : last)), SeededGenerator(seed: 0), padding)
                #expect(isAccepted)
            }
        }
    }

    /// From 256 bytes on a purchase's lengths all have two octets, below not.
    @Test func `purchases of every size around the edges of their lengths are decoded alike`() throws {
        for size in Array(0...20) + Array(90...140) + Array(230...300) + [
            65_500, 65_520, 65_530, 65_535, 65_536, 65_560,
        ] {
            let filler = tlv(
                0x30, [0x02, 0x02, 0x06, 0xAD, 0x02, 0x01, 0x01] + tlv(0x04, [UInt8](repeating: 0, count: size)))
            let quantity = tlv(0x30, [0x02, 0x02, 0x06, 0xA5, 0x02, 0x01, 0x01, 0x04, 0x03, 0x02, 0x01, 0x05])
            let record = tlv(
                0x30, [0x02, 0x01, 0x11, 0x02, 0x01, 0x01] + tlv(0x04, tlv(0x31, filler + quantity)))
            let isAccepted = try compare(tlv(0x31, record + record), SeededGenerator(seed: 0), size)
            #expect(isAccepted)
        }
    }
}
