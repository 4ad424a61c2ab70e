import Testing

/// Forks while other threads verify. `Tests/ForkTrial` is the process that forks.
@Suite struct ForkTests {
    /// The program kills a child that hangs after ten seconds, and counts it.
    @Test(.timeLimit(.minutes(10)))
    func `no lock of this library hangs a child of fork, whatever the threads of its parent do`() throws {
        let (text, status) = try TrialProgram.run("fork-trial")
        print(text)
        #expect(status == 0, "\(text)")
        #expect(text.split(separator: "\n").count == 3, "\(text)")
    }
}
