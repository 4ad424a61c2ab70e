import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText

extension MintCommand {
    /// Mints what each line of a file specifies, and prints a line for each, in the same order.
    func mintLines(of file: FileInput, _ console: inout Console) -> ExitStatus {
        let lines: LineBlocks
        let pool = BlockPool()
        do throws(SystemError) {
            lines = LineBlocks(descriptor: try file.open(), maximumLineByteCount: .max, pool: pool)
        } catch {
            console.report("\(file.name.printable): \(error)")
            return .unusable
        }
        let loaded: TestCertificateAuthority?
        if let authority {
            loaded = .load(authority, &console)
        } else {
            do throws(MintingError) {
                loaded = try TestCertificateAuthority()
            } catch {
                console.report("cannot make an authority: \(error.code.rawValue)")
                return .unusable
            }
        }
        guard let authority = loaded else { return .unusable }
        let results = BatchSequence(lines, concurrency: nil) { [bundleID] block in
            block.map { ($0, Self.mint($0, by: authority, bundleID)) }
        }.makeIterator()
        // The exit handlers of libcrypto do not expect threads that are still running.
        defer { results.end() }
        while console.isOpen, let result = results.next() {
            switch result {
            case .success((let block, let failure)):
                block.withContents { _ = console.write($0.output.bytes.span) }
                if let failure {
                    console.report("\(file.name.printable): line \(failure.number): \(failure.reason)")
                    return .unusable
                }
                pool.give(block)
            case .failure(let error):
                console.report("\(file.name.printable): \(error)")
                return .unusable
            }
        }
        return .passed
    }

    /// Mints what the lines of a block specify, up to the first that cannot be minted, and returns the reason.
    private static func mint(
        _ block: LineBlock, by authority: TestCertificateAuthority, _ bundleID: String?
    ) -> (number: Int, reason: String)? {
        block.withContents { contents in
            for (index, line) in contents.lines.enumerated() {
                let number = contents.firstNumber + index
                let text = Array(contents.bytes[line])
                let specification: Specification
                do throws(ReceiptSpecificationError) {
                    specification = try Specification(json: text, bundleID: bundleID)
                } catch {
                    return (number, error.description(in: text))
                }
                do throws(MintingError) {
                    let bytes = try specification.signed(by: authority)
                    let text = specification.isJWS ? bytes : Array(Base64.encode(bytes.span).utf8)
                    contents.output.append(text.span)
                    contents.output.endLine()
                } catch {
                    return (number, specification.description(of: error))
                }
            }
            return nil
        }
    }
}
