import AppStoreReceiptTesting

// What is written otherwise than RFC 5652 has it, by those whose messages are in use.
extension CMSVector {
    static let forms: [CMSVector] = [
        accepted(
            "unsigned-attributes-empty", "As GnuPG writes them: no attribute, but the field (RFC 5652, 5.3).",
            { recipe, _ in recipe.builder.signers[0].unsignedAttributes = [] }),
        refused(
            "signed-attributes-empty", .structure, "missing-element", "What is signed is not treated so.",
            { recipe, _ in recipe.tree = { $0[[1, 0, 4, 0, 3]].nodes = [] } }),
        refused(
            "unsigned-attributes-twice", .structure, "trailing-data", "An empty field, and another behind it.",
            { recipe, _ in
                recipe.builder.signers[0].unsignedAttributes = []
                recipe.tree = { $0[[1, 0, 4, 0]].nodes.append(Node(0xA1, nodes: [])) }
            }),
    ]
}
