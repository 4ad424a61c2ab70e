import FuzzSupport
import TestSupport
import Testing

@Suite struct TLVEditorTests {
    // Of BER, the segments of the payload are no elements.
    @Test(arguments: [("large-9k", 1_000), ("large-64k", 8_000), ("large-64k-ber", 400)])
    func `the editor of the fuzz targets reads all of a message, also its certificates and signers`(
        name: String, minimumCount: Int
    ) throws {
        let bytes = try Project.bytes("TestVectors/fuzz/FuzzReceipt/\(name)")
        var editor = TLVEditor(bytes)
        #expect(editor.elements.count > minimumCount)
        // The last element is in the signature, and the certificates are before it.
        let last = try #require(editor.elements.indices.last)
        #expect(editor.elements[last].start > bytes.count - 600)
        let (start, end) = (editor.elements[last].start, editor.elements[last].end)
        editor.replace(last, with: Array(bytes[start..<end]))
        #expect(editor.bytes == bytes)
    }
}
